"""What the learner has solved and guessed, in one small JSON file.

The file is `$COURSE_PROGRESS`, else `.course_progress.json` in the course folder:
`{"00": {"guess": 2.0, "solved": [1, 3]}}`. It is read afresh each time, so that two open
notebooks agree. Where it cannot be written, progress stays in memory until it can.
"""

import json
import math
import os
import tempfile
from itertools import count
from pathlib import Path

_unsaved = {}  # path -> state that could not be written yet
_told = set()  # paths whose trouble the learner has been told


def path():
    """Where progress is kept, a `Path`.

    Example: `path().name` is `'.course_progress.json'` unless COURSE_PROGRESS says otherwise.
    """
    default = Path(__file__).resolve().parents[2] / ".course_progress.json"
    return Path(os.environ.get("COURSE_PROGRESS") or default)


def entry(notebook):
    """What is known of one notebook, as `{"guess": float | None, "solved": [int, ...]}`.

    Example: `entry("00")["solved"]` is `[]` before the first exercise is solved.
    """
    try:
        state = _load(path())
    except OSError:
        state = {}  # a failing write tells the learner; reading alone loses nothing
    state = _merged(state, _unsaved.get(path(), {}))
    return {"guess": None, "solved": [], **state.get(notebook, {})}


def mark_solved(notebook, number):
    """Remember that exercise `number` of `notebook` is solved.

    Example: `mark_solved("00", 1)`
    """
    _save({notebook: {"solved": [number]}})


def record_guess(notebook, guess):
    """Remember the learner's prediction; a later one replaces it.

    Example: `record_guess("00", 2.0)`
    """
    _save({notebook: {"guess": float(guess)}})


def clear():
    """Forget everything. Raises OSError where the file cannot be deleted.

    Example: `clear(); entry("00")["guess"]` is `None`.
    """
    _unsaved.pop(path(), None)
    path().unlink(missing_ok=True)


def _save(change):
    file = path()
    change = _merged(_unsaved.get(file, {}), change)
    try:
        _write(file, _merged(_load(file), change))
        _unsaved.pop(file, None)
    except OSError:
        _unsaved[file] = change
        if file not in _told:
            _told.add(file)
            print(f"Progress cannot be saved in {file}, so it is kept until this kernel stops.")


def _load(file):
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        state = json.loads(text)
    except (ValueError, RecursionError):  # ValueError covers bad JSON and bad UTF-8
        state = None
    if not _valid(state):
        _set_aside(file)
        return {}
    return state


def _valid(state):
    return isinstance(state, dict) and all(
        isinstance(known, dict)
        and _valid_guess(known.get("guess"))
        and _valid_solved(known.get("solved", []))
        for known in state.values()
    )


def _valid_guess(guess):
    try:
        return guess is None or (type(guess) in (int, float) and math.isfinite(guess))
    except OverflowError:
        return False


def _valid_solved(solved):
    return isinstance(solved, list) and all(type(number) is int for number in solved)


def _set_aside(file):
    names = (file.with_name(f"{file.name}.corrupt{n or ''}") for n in count())
    copy = next(name for name in names if not name.exists())
    os.replace(file, copy)
    print(f"The progress file could not be read: it is now {copy}, and progress starts anew.")


def _merged(state, change):
    result = {notebook: dict(known) for notebook, known in state.items()}
    for notebook, new in change.items():
        known = result.setdefault(notebook, {})
        if "guess" in new:
            known["guess"] = new["guess"]
        if "solved" in new:
            known["solved"] = sorted({*known.get("solved", []), *new["solved"]})
    return result


def _write(file, state):
    # A reader sees the old file or the new one, never half of one.
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".tmp", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(state, stream, indent=2)
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise
