"""What a learner hands in, in one form: gathered from a run, and read back from a file
with mistrust.

`q.hand_in("Ana")` writes it as JSON, and notebook 10's lab report, a page, holds it too.
"""

import datetime
import hashlib
import json
import platform
import re
import sys
import unicodedata
from pathlib import Path

from course_utils import __version__, hardware

from . import answers, store

LARGEST = 1_000_000  # bytes of a file; a usual one has some 100,000
MOST = 1000  # items of a list or a dictionary in it
KIND = "Mixed Precision, Measured: hand-in"  # how a file of JSON begins
# A page holds the data between these, and there writes "<" in another way.
BEGIN, END = '<script type="application/json" id="lab-report">', "</script>"
CELL = float | str | None
SHAPE: dict = {
    **dict.fromkeys(("title", "name", "date", "device", "words"), str),
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
    """What was to be handed in is not; the message says why in a few words."""


def gather(title, sheets, card, name="", **more) -> dict:
    """What is handed in, in the form of `SHAPE`; NoReport names what has another form.

    `sheets` are those whose guesses and solved exercises are told; `more` is what a lab
    report has besides.
    """
    loaded = {name: sys.modules.get(name) for name in ("tensorflow", "keras", "numpy")}
    versions = {name: module.__version__ for name, module in loaded.items() if module}
    found = {
        "title": title,
        "name": name,
        "date": str(datetime.date.today()),
        "device": str(hardware.detect()),
        "versions": {
            "course": __version__,
            "Python": platform.python_version(),
            **versions,
        },
        "card": [dict.fromkeys(SHAPE["card"][0]) | row for row in card],
        "progress": {sheet.notebook: _progress(sheet) for sheet in sheets},
        "settings": {},
        "curves": {},
        "table": {"columns": [], "rows": []},
        "findings": [],
        "words": "",
    }
    return checked(found | more)


def of(sheets, name="") -> dict:
    """What is handed in of these sheets, under a name or none."""
    card = [row for sheet in sheets for row in sheet.card()]
    titles = ", ".join(sheet.notebook for sheet in sheets)
    return gather(f"{name or 'No name'}: {titles}", sheets, card, name)


def save(sheets, name="") -> tuple[Path, dict]:
    """Writes what is handed in into the working folder: its path, and the data.

    Their own older file of the same notebooks gives way: another learner's has another
    checksum at its end. ValueError says what to do where something else has its name,
    or nothing can be written.
    """
    found = of(sheets, name)
    learner = f"{found['name']} {platform.node()} {store.path()}"
    checksum = hashlib.sha256(learner.encode()).hexdigest()[:8]
    words = [*re.findall(r"\w+", found["name"])[:6], *(s.notebook for s in sheets)]
    words.append(checksum)
    path = Path("-".join(["hand-in", *(word[:20] for word in words)]) + ".json")
    try:
        if path.exists() and KIND.encode() not in path.read_bytes()[:80]:
            raise ValueError(
                f"{path} exists and was not handed in: move it away, then run the cell again."
            )
        text = json.dumps({"kind": KIND, **found}, ensure_ascii=False, indent=1)
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written ({error.strerror}): change the working folder with "
            "`%cd`, then run the cell again."
        ) from None
    return path.absolute(), found


def _progress(sheet):
    guess = "" if sheet.guess is None else sheet.prediction.shown(sheet.guess)
    solved = [sheet[number].exercise.id for number in sheet.solved]
    return {"guess": guess, "solved": solved, "of": len(sheet.questions)}


def read(path: Path) -> dict:
    """What a file hands in, JSON or a lab report's page; NoReport says why it is nothing,
    whatever it is.
    """
    try:
        if not path.is_file():
            missing = not path.exists()
            raise NoReport(
                "there is no such file" if missing else "it is no ordinary file"
            )
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise NoReport(f"it cannot be read ({error.strerror})") from None
    if len(content) > LARGEST:
        raise NoReport(f"it is larger than {LARGEST / 1e6:g} MB")
    _, *inside = content.split(BEGIN.encode())
    if KIND.encode() in content[:80]:
        text = content
    elif len(inside) == 1:
        text = inside[0].split(END.encode())[0]
    else:
        raise NoReport("it is neither a hand-in nor a lab report")
    try:
        return checked(json.loads(text))
    except NoReport:
        raise
    except (ValueError, RecursionError):
        raise NoReport("its data are damaged: the file was cut or changed") from None


def checked(value) -> dict:
    """The same in plain values; NoReport if they have not the form of `SHAPE`."""
    value = plain(value)
    if where := _misfit(value, SHAPE, "what is handed in"):
        raise NoReport(f"{where} is missing or of another form")
    return value


def plain(value):
    """A value of dictionaries, lists, finite floats, texts without control characters,
    and None.

    >>> plain({"loss": float("nan"), "scale": 8, "words": "a\\x00b", "guess": ...})
    {'loss': 'nan', 'scale': 8.0, 'words': 'ab', 'guess': None}
    """
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's
    if isinstance(value, (dict, list, tuple)) and len(value) > MOST:
        raise NoReport(
            f"a part of it has {len(value):,} items, at most {MOST:,} can be"
        )
    if isinstance(value, dict):
        return {plain(str(key)): plain(each) for key, each in value.items()}
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
