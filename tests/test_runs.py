"""The matrix, made by hand: which parts a leg runs, and what it says of them."""

import subprocess

import pytest

from tools import runs


@pytest.fixture
def commands(monkeypatch):
    """The commands that a leg runs, none of which is run: the notebooks fail."""
    commands = []

    def run(command, **options):
        commands.append(" ".join(map(str, command)))
        return subprocess.CompletedProcess(command, int("--nbval-lax" in command))

    monkeypatch.setattr(runs.subprocess, "run", run)
    return commands


def test_each_leg_names_what_failed_and_goes_on(commands, capsys):
    assert runs.matrix("3.13") == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line[:2] == "=="]
    names = [line.split(": failed: notebooks,")[0] for line in lines]
    kinds = ("newest", "oldest", "oneDNN off", "TPU")
    assert names == [f"== Python 3.13, {kind}" for kind in kinds]
    assert sum("not slow" in command for command in commands) == 3
    assert "keras==3.13.*" in commands[4] and "colab-tpu" in commands[-3]
