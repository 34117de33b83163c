"""Start anew: `python -m course_utils reset` forgets progress and puts notebooks back."""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from course_utils import paths
from course_utils.exercises import store


class NoGit(Exception):
    """Git has no copy of the notebooks; the message says why."""


def run(notebooks: bool = False, sure: bool = False) -> int:
    """Asks, copies what will change to backups/, and changes it; 1 if something was
    left undone.

    `notebooks` puts back every notebook that Git has, in notebooks/ and
    notebooks/solved/.
    """
    try:
        changed = _changed() if notebooks else []
    except NoGit as error:
        print(
            f"The notebooks cannot be put back, because Git has no copy of them ({error}): unpack "
            "the course again into a new folder, or run `reset` without --notebooks.",
            file=sys.stderr,
        )
        return 1
    progress = [store.path()] if store.path().exists() else []
    if not progress + changed:
        print("There is nothing to put back.")
        return 0
    for path in progress:
        print(f"{path}: all guesses and solved exercises go")
    for path in changed:
        print(f"{path}: is put back")
    folder = paths.FOLDER / "backups"
    try:
        if (
            not sure
            and input(f"Copies go to {folder}. Go on? [y/N] ").strip().lower() != "y"
        ):
            raise EOFError
        folder.mkdir(exist_ok=True)
        backup = Path(
            tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=folder)
        )
    except EOFError:  # or there is nobody to ask
        print("Nothing was changed: answer y, or give --yes.")
        return 1
    except OSError as error:
        print(
            f"Nothing was changed, because {folder} cannot be written to: {error.strerror}."
        )
        return 1
    try:
        # all, before the first is changed
        for path in filter(Path.exists, progress + changed):
            copy = backup / path.name
            if path.is_relative_to(paths.FOLDER):
                copy = backup / path.relative_to(paths.FOLDER)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        given = [
            _git("show", f"HEAD:./{path.relative_to(paths.FOLDER).as_posix()}")
            for path in changed
        ]
        if progress:
            store.clear()
        for path, text in zip(changed, given, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
    except (OSError, NoGit) as error:
        why = (
            f"{error.filename}: {error.strerror}"
            if isinstance(error, OSError)
            else error
        )
        print(f"It stopped before the end ({why}). Copies of what was there: {backup}")
        return 1
    print(f"Done. As it was: {backup}")
    return 0


def _changed():
    """The notebooks that are not as Git has them; says which are not of the course."""
    if not _git("ls-files", "notebooks"):
        raise NoGit(f"it does not keep {paths.FOLDER / 'notebooks'}")
    others = _git("ls-files", "-z", "--others", "--exclude-standard", "notebooks")
    # staged ones too; one that was moved is missing where it was, and new where it is
    against = "diff -z --name-only --relative --no-renames HEAD".split()
    added = _git(*against, "--diff-filter=A", "--", "notebooks")
    for path in _paths(others + added):
        print(f"{path}: left alone, because it is your own.")
    return _paths(_git(*against, "--diff-filter=a", "--", "notebooks"))


def _paths(names):
    """The paths of what Git lists with a zero byte behind each name."""
    return [paths.FOLDER / name for name in names.decode().split("\0") if name]


def _git(*arguments):
    """What Git prints, bytes; NoGit in Git's own words."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=paths.FOLDER, capture_output=True
        )
    except OSError:
        raise NoGit("the command git was not found") from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines() or [
            "it says nothing"
        ]
        raise NoGit(words[0].removeprefix("fatal: "))
    return done.stdout
