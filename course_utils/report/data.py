"""What a lab report holds: gathered from a run, and read back from a file with mistrust."""

import contextlib
import datetime
import importlib.metadata
import json
import math
import numbers
import platform
import sys
import unicodedata
from pathlib import Path

from course_utils import __version__, exercises, hardware
from course_utils.exercises import answers

LARGEST = 3_000_000  # bytes of a file; a usual one has some 100,000
DEEPEST = "it is nested too deeply"
# The page writes the data between these, in which no "<" stands.
BEGIN, END = '<script type="application/json" id="lab-report">', "</script>"
SCALAR = (str, int, float)
CELL = (*SCALAR, type(None))
FINDING = dict.fromkeys(("severity", "layer", "message", "fix"), str)
SHAPE = {
    **dict.fromkeys(("kind", "title", "date", "device", "words"), str),
    "versions": {str: str},
    "settings": {str: SCALAR},
    "card": [{"quantity": str, "unit": str, "guess": CELL, "predicted": CELL, "measured": CELL}],
    "curves": {str: {str: [(int, float, type(None))]}},
    "table": {"columns": [str], "rows": [[CELL]]},
    "findings": [FINDING],
    "progress": {str: {"guess": str, "solved": [int], "of": int}},
}
KIND = "lab report 1"  # of the course; raise the number where SHAPE loses or changes a field
NAMES = {str: "text", int: "a number", float: "a number", type(None): "nothing"}


class NoReport(ValueError):
    """A file that is no lab report, or a damaged one; the message says why in a few words."""


def gather(title, settings, card, curves, table, findings, words) -> dict:
    """The data of `LabReport`, of the types of `SHAPE`; NoReport names a field of another form."""
    # What a loss that is no number any more would be drawn as: a gap.
    drawn = {
        name: {line: [answers.number(v) for v in values] for line, values in lines.items()}
        for name, lines in curves.items()
    }
    named = table.index.name is not None
    cells = table.reset_index() if named else table
    found = {
        "kind": KIND,
        "title": title,
        "date": datetime.date.today().isoformat(),
        "device": str(hardware.detect()),
        "versions": {"course": __version__, "Python": platform.python_version()} | _versions(),
        "settings": settings,
        "card": [{key: row.get(key) for key in SHAPE["card"][0]} for row in card],
        "curves": drawn,
        "table": {"columns": list(map(str, cells.columns)), "rows": cells.values.tolist()},
        "findings": [{key: getattr(each, key) for key in FINDING} for each in findings],
        "progress": _progress(),
        "words": "" if words is ... else words,
    }
    return checked(plain(found))


def read(path: Path) -> dict:
    """The data of a lab report's file; NoReport says why there are none, whatever is in it."""
    try:
        if path.stat().st_size > LARGEST:
            raise NoReport(f"it is larger than {LARGEST / 1e6:g} MB")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NoReport(f"it cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise NoReport("it is no text in UTF-8") from None
    parts = text.split(BEGIN)
    if len(parts) != 2:
        raise NoReport("it is no lab report" if len(parts) == 1 else "it holds several reports")
    inside, end, _ = parts[1].partition(END)
    try:
        found = json.loads(inside, parse_constant=_refuse) if end else None
        return checked(plain(found))
    except NoReport:
        raise
    except RecursionError:
        raise NoReport(DEEPEST) from None
    except ValueError:
        raise NoReport("its data are damaged: the file was cut or changed") from None


def plain(value):
    """A value as JSON has them, its texts without control characters.

    >>> plain({"loss": float("nan"), "scale": 8, "words": "a\\x00b", "guess": ...})
    {'loss': 'nan', 'scale': 8, 'words': 'ab', 'guess': None}
    """
    if value is None or value is ...:
        return None
    if isinstance(value, dict):
        return {plain(str(key)): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    number = answers.number(value, finite=False)
    if number is not None and math.isfinite(number):
        return number
    text = value if isinstance(value, str) else str(number if number is not None else value)
    # Format characters can turn a line round; these two join letters in some scripts.
    return "".join(c for c in text if c in "\n\u200c\u200d" or unicodedata.category(c)[0] != "C")


def checked(value, shape=None, where="the report"):
    """The same value if it has a shape (default: `SHAPE`), else NoReport with the first misfit."""
    if shape is None:
        if type(value) is not dict or value.get("kind") != KIND:
            raise NoReport("its data are no lab report of this version of the course")
        shape = SHAPE
    if isinstance(shape, dict):
        if type(value) is not dict:
            raise NoReport(f"{where} is no dictionary")
        for key in value if str in shape else shape:
            if key not in value:
                raise NoReport(f"{where} lacks {key!r}")
            checked(value[key], shape.get(str, shape.get(key)), f"{key[:30]!r} of {where}")
    elif isinstance(shape, list):
        if type(value) is not list:
            raise NoReport(f"{where} is no list")
        for each in value:
            checked(each, shape[0], f"an item of {where}")
    elif type(value) not in (types := shape if isinstance(shape, tuple) else (shape,)):
        wanted = " or ".join(dict.fromkeys(NAMES[each] for each in types))
        raise NoReport(f"{where} is not {wanted}")
    return value


def _refuse(constant):
    raise ValueError(constant)  # NaN and its like, which no report writes


def _versions():
    found = {}
    for shown, name in (("TensorFlow", "tensorflow"), ("Keras", "keras"), ("NumPy", "numpy")):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            loaded = getattr(sys.modules.get(name), "__version__", None)  # tensorflow-tpu's too
            found[shown] = loaded or importlib.metadata.version(name)
    return found


def _progress():
    found = {}
    for name in exercises.available():
        sheet = exercises.load(name)
        guess = "" if sheet.guess is None else sheet.prediction.shown(sheet.guess)
        ids = [sheet[number].exercise.id for number in sheet.solved]
        found[name] = {"guess": guess, "solved": ids, "of": len(sheet.exercises)}
    return found
