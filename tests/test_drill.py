"""The overflow drill: what it passes, and what it finds."""

import itertools
import os
import signal
import subprocess
import sys
import time

import pytest
from test_processes import posix

from course_utils import __main__, paths
from course_utils.distributed import drill

HELPERS = paths.FOLDER / "tests/helpers"
WAITS = "nobody waits for more than 3 s"
FINITE = "all weights are finite"
COPIES = "all copies of the weights are equal"
SCALES = "all loss scales are equal"
SKIP = "all skip the infinite batch"


@pytest.fixture
def script(tmp_path):
    """Writes a file for the drill; `loop` is a call in it that makes its function."""

    def write(loop):
        head = f"import sys; sys.path.insert(0, {str(HELPERS)!r})\nimport drilled\n"
        path = tmp_path / "train.py"
        path.write_text(f"{head}drill = drilled.{loop}\n", encoding="utf-8")
        return path

    return write


def missed(notes, culprit=1):
    """The sentences that do not hold."""
    verdict = drill.judge(notes, culprit, 3)
    return {sentence for sentence, holds in verdict.items() if not holds}


def played(path, processes, culprit=1):
    arguments = path, culprit, processes, 3
    return drill.play(drill.__file__, arguments, processes)[0]


# The judge


def made(**changes):
    """The notes of a right training whose replica 1 overflows; `changes` in the last
    step of replica 0.
    """
    notes = []
    for step, rank in itertools.product(range(drill.STEPS), range(2)):
        bad = step == drill.WHEN
        note = {"step": step, "replica": rank, "overflow": bad and rank == 1}
        note |= {"taken": not bad, "finite": True, "weights": 1.5, "scale": 8.0}
        notes.append(note)
    notes[-2] |= changes
    return notes


def test_the_notes_of_a_right_training_pass():
    assert missed(made()) == set()
    assert SKIP not in drill.judge(made(), -1, 3)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"finite": False}, FINITE),
        ({"weights": 1.25}, COPIES),
        ({"scale": 4.0}, SCALES),
        ({"weights": float("nan")}, COPIES),
    ],
)
def test_each_fault_has_its_sentence(changes, sentence):
    assert missed(made(**changes)) == {sentence}


def test_a_step_that_nobody_or_one_alone_skips_is_found():
    for ranks in ((0,), (1,), (0, 1)):
        notes = made()
        for note in notes:
            note["taken"] |= note["replica"] in ranks
        assert missed(notes) == {SKIP}


def test_a_training_that_stops_does_not_pass():
    assert WAITS in missed(made()[:-1]) and WAITS in missed([])


# Two devices in one process


def test_keras_own_loses_all_weights_on_two_devices(script):
    notes = played(script("loop(drilled.KerasOwn, drilled.two)"), 1)
    assert missed(notes) == {FINITE, SKIP}
    overflowed = [(n["step"], n["replica"]) for n in notes if n["overflow"]]
    assert overflowed == [(drill.WHEN, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("culprit", [0, 1])
def test_the_course_s_optimizer_passes_on_two_devices(script, culprit):
    notes = played(script("loop(drilled.Safe, drilled.two)"), 1, culprit)
    assert missed(notes, culprit) == set()
    scales = [note["scale"] for note in notes if note["replica"] == 0]
    assert scales[drill.WHEN] == scales[0] / 2


# Two processes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "sentences"),
    [
        ("KerasOwn", {WAITS, COPIES, SCALES, SKIP}),
        ("KerasOwn, drilled.apart", {COPIES, SCALES, SKIP}),
        ("Lone", {COPIES, SCALES, SKIP}),
        ("Late", {WAITS, COPIES, SCALES, SKIP}),
        ("Deaf", {SKIP}),
        ("Torn", {COPIES}),
    ],
)
def test_a_hang_a_split_brain_and_other_faults_are_found_on_two_processes(
    script, loop, sentences, capsys
):
    start = time.monotonic()
    notes = played(script(f"loop(drilled.{loop})"), 2)
    assert missed(notes) == sentences
    assert time.monotonic() - start < drill.START
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_the_command_passes_the_course_s_optimizer_and_draws_it(
    script, tmp_path, capsys
):
    path = str(script("loop(drilled.Safe)"))
    picture = tmp_path / "lanes.png"
    assert __main__.main(["drill", path, "--output", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "NO" not in printed and "train.py passes the overflow drill" in printed
    assert printed.count("yes all skip the infinite batch") == 2
    for rank in range(2):
        assert f"replica {rank} overflows in step 2, is skipped" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_command_fails_keras_s_own(script, capsys):
    path = str(script("loop(drilled.KerasOwn, drilled.two)"))
    assert __main__.main(["drill", path, "--devices"]) == 1
    printed = capsys.readouterr().out
    assert printed.count("NO all weights are finite") == 1
    assert "train.py fails the overflow drill" in printed


# What cannot be drilled


def test_a_file_that_is_not_there_is_named(capsys):
    with pytest.raises(SystemExit) as ending:
        __main__.main(["drill", "nowhere.py"])
    assert ending.value.code == 2
    assert "can't open 'nowhere.py'" in capsys.readouterr().err


NO_DRILL = "module 'train' has no attribute 'drill'"
NO_MODEL = "not enough values to unpack (expected 5, got 2)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", NO_DRILL),
        pytest.param("drill = lambda: (1, 2)", NO_MODEL, marks=pytest.mark.slow),
        pytest.param("def drill(:", "SyntaxError: ", marks=pytest.mark.slow),
    ],
)
def test_a_file_that_is_no_loop_is_told_in_one_sentence(text, told, tmp_path, capsys):
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    assert drill.run(path, 1, 3) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1
    assert error.startswith("Worker 0 of 1 ended with exit code 1 (")


@posix
@pytest.mark.slow
def test_an_interrupt_ends_the_drill_and_leaves_nobody(script, tmp_path):
    path = script("loop(drilled.Safe)")
    with path.open("a", encoding="utf-8") as stream:
        stream.write("import os, pathlib, time\n")
        note = f"pathlib.Path({str(tmp_path)!r}, str(os.getpid()) + '.pid').touch()"
        stream.write(f"{note}\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "course_utils", "drill", str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=paths.FOLDER
    ) as process:
        deadline = time.monotonic() + 120
        while len(list(tmp_path.glob("*.pid"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in errors
    pids = [int(each.stem) for each in tmp_path.glob("*.pid")]
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
