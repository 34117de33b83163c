"""What every run of pytest needs, nbval's included. The tests' own fixtures are in tests/."""

import os
import tempfile

import pytest

folder = tempfile.TemporaryDirectory(prefix="course-tests-")
os.environ["IPYTHONDIR"] = os.path.join(folder.name, "ipython")  # no history, no startup files
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")  # tests start processes of their own


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if item.path.suffix == ".ipynb":
        # Before nbval starts the kernel: the notebook must not see what others solved, nor add to
        # what the learner did.
        os.environ["COURSE_PROGRESS"] = os.path.join(folder.name, f"{item.path.stem}.json")
    if item.get_closest_marker("mnist") and not os.environ.get("COURSE_MNIST"):
        pytest.skip("COURSE_MNIST names no file with the real MNIST digits")
