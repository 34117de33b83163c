"""What every run of pytest needs, nbval's and that of the examples in docstrings
included.
"""

import os
import sysconfig
import tempfile
import venv
from collections import Counter
from pathlib import Path

import pytest

pytest_plugins = ["kernels"]
folder = tempfile.TemporaryDirectory(prefix="course-tests-")
# no history, no startup files
os.environ["IPYTHONDIR"] = os.path.join(folder.name, "ipython")
# tests start processes of their own
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")


@pytest.fixture(autouse=True)
def progress_file(tmp_path, monkeypatch):
    """Keep the learner's own progress file out of the tests and of the examples in
    docstrings.
    """
    path = tmp_path / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    return path


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """A folder with links to all packages but the course's own, its linter among them."""
    folder = tmp_path_factory.mktemp("packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "mixed_precision_" not in path.name:
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture
def own_python(packages, tmp_path):
    """The path of a Python of its own, and the variables with which it has packages."""
    venv.create(tmp_path / "own", with_pip=False)
    return tmp_path / "own/bin/python", {"PYTHONPATH": str(packages)}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if item.path.suffix == ".ipynb":
        # Before nbval starts the kernel: the notebook must not see what others solved,
        # nor add to what the learner did.
        os.environ["COURSE_PROGRESS"] = os.path.join(
            folder.name, f"{item.path.stem}.json"
        )
    if item.get_closest_marker("mnist") and not os.environ.get("COURSE_MNIST"):
        pytest.skip(
            "they need a file with the real MNIST digits. Name one in COURSE_MNIST."
        )


def pytest_terminal_summary(terminalreporter, config):
    """Say what was left out in one line for each reason, and keep it for the end of
    `make test`.
    """
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in skipped
    )
    text = ""
    for reason, count in reasons.most_common():
        text += f"{count} {'test' if count == 1 else 'tests'} left out: {reason}\n"
    terminalreporter.write(text)
    if report_file := config.getoption("xmlpath", None):
        Path(report_file).with_suffix(".left-out").write_text(text, encoding="utf-8")
