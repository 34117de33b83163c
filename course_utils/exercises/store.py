"""What the learner has solved and guessed, in one small JSON file.

The file is `$COURSE_PROGRESS`, else `.course_progress.json` in `paths.FOLDER`: `{"00":
{"guess": 2.0, "solved": [1, 3]}}`. It is read afresh each time, so that two open
notebooks agree, and a lock lets one of them write at a time. Where it cannot be
written, progress stays in memory until it can.
"""

import contextlib
import json
import os
import time
from pathlib import Path

from course_utils import paths

from .answers import number

# seconds; a write takes milliseconds, so the kernel that made an older lock is dead
STALE = 5
_unsaved = {}  # path -> state that could not be written yet


def path():
    """Where progress is kept, a `Path`."""
    default = paths.FOLDER / ".course_progress.json"
    return Path(os.environ.get("COURSE_PROGRESS") or default)


def entry(notebook):
    """What is known of a notebook: `{"guess": None, "drawn": None, "solved": [1, 3]}`."""
    state = {}
    # a failing write tells the learner; reading loses nothing
    with contextlib.suppress(OSError):
        state = _load(path())
    state = _merged(state, _unsaved.get(path(), {}))
    nothing = {"guess": None, "measured": None, "drawn": None, "solved": []}
    return nothing | state.get(notebook, {})


def save(notebook, **change):
    """Remember `solved=[ids]` beside those known; `guess=…`, `measured=…` or
    `drawn=[ints]` in its place.
    """
    file = path()
    change = _merged(_unsaved.get(file, {}), {notebook: change})
    try:
        with _locked(file):
            # a reader sees the old file or the new one
            new = file.with_name(f"{file.name}.tmp")
            new.write_text(
                json.dumps(_merged(_load(file), change), indent=2), encoding="utf-8"
            )
            os.replace(new, file)
        _unsaved.pop(file, None)
    except OSError:
        if file not in _unsaved:
            print(
                f"Progress cannot be saved in {file}, so it is kept until this kernel stops."
            )
        _unsaved[file] = change


def clear():
    """Forget everything. Raises OSError where the file cannot be deleted."""
    _unsaved.pop(path(), None)
    path().unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(file):
    # A file that only one kernel can make works on every system. Raises OSError.
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = file.with_name(f"{file.name}.lock")
    patience = time.monotonic() + 2 * STALE
    while time.monotonic() < patience:
        try:
            lock.touch(exist_ok=False)
            break
        except PermissionError:  # Windows says so of a lock that is being deleted
            if not os.access(file.parent, os.W_OK):
                raise
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):  # just given free
                if time.time() - lock.stat().st_mtime > STALE:
                    lock.unlink()
        time.sleep(0.005)
    else:
        raise TimeoutError
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _load(file):
    try:
        state = json.loads(file.read_bytes())
        if all(map(_valid, state.values())):
            return state
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError, AttributeError, TypeError):
        pass  # no JSON, or of another form
    copy = file.with_name(f"{file.name}.{time.time_ns()}.corrupt")
    os.replace(file, copy)
    print(
        f"The progress file could not be read: it is now {copy}, and progress starts anew."
    )
    return {}


def _valid(known):
    whole = [*(known.get("drawn") or []), *known.get("solved", [])]
    values = (_is_value(known.get(key)) for key in ("guess", "measured"))
    return all(values) and all(type(n) is int for n in whole)


def _is_value(value):
    """Whether it is nothing, a finite number, or several numbers or texts by name."""
    if isinstance(value, dict):
        parts = value.values()
        return all(isinstance(part, str) or number(part) is not None for part in parts)
    return value is None or number(value) is not None


def _merged(state, change):
    result = dict(state)
    for notebook, new in change.items():
        known = {**state.get(notebook, {}), **new}
        if "solved" in new:
            known["solved"] = sorted(
                {*new["solved"], *state.get(notebook, {}).get("solved", [])}
            )
        result[notebook] = known
    return result
