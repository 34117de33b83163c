"""What a lab report holds: gathered from a run, and read back from a file with
mistrust.
"""

import datetime
import json
import platform
import sys
import unicodedata
from pathlib import Path

from course_utils import __version__, exercises, hardware
from course_utils.exercises import answers

LARGEST = 10_000_000  # bytes of a file; a usual one has some 100,000
# The page holds the data between these, and there writes "<" in another way.
BEGIN, END = '<script type="application/json" id="lab-report">', "</script>"
CELL = float | str | None
SHAPE: dict = {
    **dict.fromkeys(("title", "date", "device", "words"), str),
    "versions": {str: str},
    "settings": {str: CELL},
    "card": [
        {
            "quantity": str,
            "unit": str,
            "guess": CELL,
            "predicted": CELL,
            "measured": CELL,
        }
    ],
    "curves": {str: {str: [CELL]}},  # a loss may be "nan"
    "table": {"columns": [str], "rows": [[CELL]]},
    "findings": [dict.fromkeys(("severity", "layer", "message", "fix"), str)],
    "progress": {str: {"guess": str, "solved": [float], "of": float}},
}


class NoReport(ValueError):
    """What was to be a lab report is none; the message says why in a few words."""


def gather(title, settings, card, curves, table, findings, words) -> dict:
    """The data of a `LabReport`, in the form of `SHAPE`; NoReport names what has
    another form.
    """
    if any(table.index.names) or hasattr(table.index, "str"):  # more than a count
        table = table.reset_index()
    loaded = {name: sys.modules.get(name) for name in ("tensorflow", "keras", "numpy")}
    versions = {name: module.__version__ for name, module in loaded.items() if module}
    found = {
        "title": title,
        "date": str(datetime.date.today()),
        "device": str(hardware.detect()),
        "versions": {
            "course": __version__,
            "Python": platform.python_version(),
            **versions,
        },
        "settings": settings,
        "card": [dict.fromkeys(SHAPE["card"][0]) | row for row in card],
        "curves": curves,
        "table": {"columns": list(map(str, table.columns)), "rows": table.values},
        "findings": [
            {k: getattr(each, k) for k in SHAPE["findings"][0]} for each in findings
        ],
        "progress": {
            name: _progress(exercises.load(name)) for name in exercises.available()
        },
        "words": "" if words is ... else words,
    }
    return checked(found)


def _progress(sheet):
    guess = "" if sheet.guess is None else sheet.prediction.shown(sheet.guess)
    solved = [sheet[number].exercise.id for number in sheet.solved]
    return {"guess": guess, "solved": solved, "of": len(sheet.exercises)}


def read(path: Path) -> dict:
    """The data of a lab report's file; NoReport says why there are none, whatever it
    is.
    """
    try:
        if not path.is_file():
            raise NoReport("there is no such file")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise NoReport(f"it cannot be read ({error.strerror})") from None
    if len(content) > LARGEST:
        raise NoReport(f"it is larger than {LARGEST / 1e6:g} MB")
    _, *inside = content.split(BEGIN.encode())
    if len(inside) != 1:
        raise NoReport("it is no lab report")
    try:
        return checked(json.loads(inside[0].split(END.encode())[0]))
    except NoReport:
        raise
    except (ValueError, RecursionError):
        raise NoReport("its data are damaged: the file was cut or changed") from None


def checked(value) -> dict:
    """The same in plain values; NoReport if they have not the form of `SHAPE`."""
    value = plain(value)
    if where := _misfit(value, SHAPE, "the report"):
        raise NoReport(f"{where} is missing or of another form")
    return value


def plain(value):
    """A value of dictionaries, lists, finite floats, texts without control characters,
    and None.

    >>> plain({"loss": float("nan"), "scale": 8, "words": "a\\x00b", "guess": ...})
    {'loss': 'nan', 'scale': 8.0, 'words': 'ab', 'guess': None}
    """
    if isinstance(value, dict):
        return {plain(str(key)): plain(each) for key, each in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if value is None or value is ...:
        return None
    if (number := answers.number(value)) is not None:
        return number
    # Format characters can turn a line round; these two join letters in some scripts.
    keep = "\n\u200c\u200d"
    return "".join(
        c for c in str(value) if c in keep or unicodedata.category(c)[0] != "C"
    )


def _misfit(value, shape, where):
    """The first place where a value has not the form of a shape, in words, or None."""
    if isinstance(shape, dict) and isinstance(value, dict):
        keys = value if str in shape else shape
        parts = (
            (value.get(k), shape.get(str) or shape[k], f"{k[:30]!r} of {where}")
            for k in keys
        )
    elif isinstance(shape, list) and isinstance(value, list):
        parts = ((each, shape[0], f"an item of {where}") for each in value)
    else:
        return (
            where
            if isinstance(shape, (dict, list)) or not isinstance(value, shape)
            else None
        )
    return next(filter(None, (_misfit(*part) for part in parts)), None)
