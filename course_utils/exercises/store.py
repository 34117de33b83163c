"""What the learner has solved and guessed, in one small file.

The file is `$COURSE_PROGRESS`, else `.course_progress.jsonl` in `paths.FOLDER`. Each
line adds one thing: `["00", "guess", 2.0]` or `["00", "solved", 3]`. Nothing is ever
written again, so that two notebooks that are open at once lose nothing. The file is
read afresh each time. Where it cannot be written, progress stays in memory until it can.
"""

import json
import os
from pathlib import Path

from course_utils import paths

_unsaved = {}  # path -> lines that could not be written yet
_damaged_files = set()  # files with lines that cannot be read


def path() -> Path:
    """Where progress is kept, a `Path`."""
    default = paths.FOLDER / ".course_progress.jsonl"
    return Path(os.environ.get("COURSE_PROGRESS") or default)


def entry(notebook: str) -> dict:
    """What is known of a notebook: `{"guess": None, "measured": None, "drawn": None,
    "solved": [1, 3]}`.
    """
    file = path()
    try:
        lines = file.read_bytes().splitlines()
    except OSError:  # a failing write tells the learner; reading loses nothing
        lines = []
    record: dict = {"guess": None, "measured": None, "drawn": None, "solved": []}
    damaged = False
    for line in filter(None, lines + _unsaved.get(file, [])):
        try:
            whose, key, value = json.loads(line)
            if key == "solved":
                value = sorted({*record["solved"], int(value)})
        except Exception:  # half a line, or no text at all
            damaged = True
            continue
        if whose == notebook:
            record[key] = value
    if damaged and file not in _damaged_files:
        _damaged_files.add(file)
        print(f"A part of {file} could not be read, so that part is left out.")
    return record


def save(notebook: str, key: str, value: object) -> None:
    """Remember the id of a solved exercise beside those known, or a guess, what was
    measured, or a drawn curve in place of the older one.
    """
    file = path()
    line = json.dumps([notebook, key, value]).encode()
    lines = [*_unsaved.get(file, []), line]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # In one piece, behind all that others wrote. A new line comes first, since the
        # last one may be cut where a disk was full.
        with file.open("ab") as stream:
            stream.write(b"".join(b"\n" + line for line in lines))
        _unsaved.pop(file, None)
    except OSError:
        if file not in _unsaved:
            print(
                f"Progress cannot be saved in {file}, so it is kept until this kernel stops."
            )
        _unsaved[file] = lines


def clear() -> None:
    """Forget everything. Raises OSError where the file cannot be deleted."""
    _unsaved.pop(path(), None)
    path().unlink(missing_ok=True)
