"""A Python beside the one that runs the tests: with its packages, without the course."""

import sysconfig
import venv
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """A folder with links to all packages but the course's own."""
    folder = tmp_path_factory.mktemp("packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "mixed_precision_measured" not in path.name:
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture
def own_python(packages, tmp_path):
    """The path of a Python of its own, and the variables with which it has packages."""
    venv.create(tmp_path / "own", with_pip=False)
    return tmp_path / "own/bin/python", {"PYTHONPATH": str(packages)}
