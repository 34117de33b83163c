"""A class on one machine: what a learner does goes to the learner's own folder, though
all share one installed course.
"""

import os
import shutil
import subprocess
import sys

from course_utils import paths
from tools.canonical_form import COURSE

WHERE = """
from course_utils import paths, records
from course_utils.exercises import store
print(paths.PACKAGE.parent, paths.FOLDER, store.path().parent, records.OWN.parents[2])
"""


def where(folder):
    """Where the package, the course, progress and measurements lie, of a kernel there."""
    env = {**os.environ, "PYTHONPATH": str(COURSE)}
    env.pop("COURSE_PROGRESS", None)
    return subprocess.run(
        [sys.executable, "-c", WHERE],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
    ).stdout.split()


def test_what_a_learner_does_goes_to_the_learner_s_own_copy(tmp_path):
    """A kernel starts in the folder of its notebook."""
    mine = tmp_path / "mine"
    (mine / "course_utils").mkdir(parents=True)
    (mine / "notebooks").mkdir()
    shutil.copy(paths.PACKAGE / "paths.py", mine / "course_utils")
    assert where(mine / "notebooks") == [str(COURSE), *[str(mine)] * 3]


def test_elsewhere_it_goes_to_the_package_s_course(tmp_path):
    assert where(tmp_path) == [str(COURSE)] * 4
