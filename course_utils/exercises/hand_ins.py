"""What a learner hands in, in one form: gathered from a run, and read back from a file
with mistrust.

`q.hand_in("Ana")` writes it as JSON, and notebook 10's lab report, a page, holds it too.
`hand_in.schema.json` beside this file describes the form.
"""

import datetime
import hashlib
import json
import platform
import re
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_utils import __version__, hardware, paths
from course_utils.exercises import answers, store

if TYPE_CHECKING:
    from course_utils.exercises import Sheet

LARGEST = 1_000_000  # bytes of a file; a usual one has some 100,000
KIND = "Mixed Precision, Measured: hand-in"  # how a file of JSON begins
# A page holds the data between these, and there writes "<" in another way.
BEGIN, END = '<script type="application/json" id="lab-report">', "</script>"
SCHEMA = Path(__file__).with_name("hand_in.schema.json")


class NoReport(ValueError):
    """What was to be handed in is not; the message says why in a few words."""


def gather(
    title: str,
    sheets: "list[Sheet]",
    card: list[dict],
    name: object = "",
    **more: object,
) -> dict:
    """What is handed in; NoReport names what has another form than the schema wants.

    `sheets` are those whose guesses and solved exercises are told; `more` is what a lab
    report has besides.
    """
    versions = {"course": __version__, "Python": platform.python_version()}
    for package in ("tensorflow", "keras", "numpy"):
        if module := sys.modules.get(package):
            versions[package] = module.__version__
    content = {
        "title": title,
        "name": name,
        "date": str(datetime.date.today()),
        "device": str(hardware.detect()),
        "versions": versions,
        "card": card,
        "progress": {sheet.notebook: _progress(sheet) for sheet in sheets},
        "settings": {},
        "curves": {},
        "table": {"columns": [], "rows": []},
        "findings": [],
        "words": "",
    }
    return checked(content | more)


def save(sheets: "list[Sheet]", name: object = "") -> Path:
    """Write what is handed in of these sheets into the working folder; returns its path.

    Their own older file of the same notebooks gives way: another learner's has another
    checksum at its end. ValueError says what to do where something else has its name,
    or nothing can be written.
    """
    notebooks = [sheet.notebook for sheet in sheets]
    card = [row for sheet in sheets for row in sheet.card()]
    title = f"{name or 'No name'}: {', '.join(notebooks)}"
    content = gather(title, sheets, card, name)
    learner = f"{content['name']} {platform.node()} {store.path()}"
    checksum = hashlib.sha256(learner.encode()).hexdigest()[:8]
    words = [word[:20] for word in re.findall(r"\w+", content["name"])[:6]]
    path = Path("-".join(["hand-in", *words, *notebooks, checksum]) + ".json")
    text = json.dumps({"kind": KIND, **content}, ensure_ascii=False, indent=1)
    cure = "change the working folder with `%cd`, then run the cell again"
    return write(text + "\n", path, "hand-in", KIND, cure).absolute()


def _progress(sheet):
    guess = "" if sheet.guess is None else sheet.prediction.show(sheet.guess)
    solved = [sheet[number].exercise.id for number in sheet.solved]
    ids = [each.exercise.id for each in sheet.questions.values()]
    return {"guess": guess, "solved": solved, "of": ids}


def write(
    text: str, path: Path, kind: str, mark: str, cure: str = "choose another name"
) -> Path:
    """Write a file where there is none, or one of its own kind, which has this mark at
    its beginning; else ValueError, which says what to do.
    """
    try:
        if path.exists() and mark.encode() not in path.read_bytes()[:800]:
            raise ValueError(f"{path} exists and is no {kind}: {cure}.")
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        why = f"{path} cannot be written ({error.strerror}): {cure}."
        raise ValueError(why) from None
    # Colab's machine forgets the file, so the browser takes it.
    if "google.colab" in sys.modules:
        from google.colab import files

        files.download(str(path))
    return path


def read(path: Path) -> dict:
    """What a file hands in, JSON or a lab report's page; NoReport says why it is nothing,
    whatever it is.
    """
    try:
        if not path.is_file():
            if path.exists():
                raise NoReport("it is no ordinary file")
            raise NoReport("there is no such file")
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


def checked(value: object) -> dict:
    """What is handed in, in plain values; NoReport if it has not the schema's form."""
    # Without it jsonschema leaves out a check of web addresses, whose grammar takes
    # seconds to load; a hand-in has none.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    import jsonschema  # late, as all that only a hand-in needs

    report: Any = plain(value)
    try:
        jsonschema.validate(report, paths.read(SCHEMA))
    except jsonschema.ValidationError as error:
        # What is wrong stands at the end, behind what may be anybody's long text.
        why = f"at {error.json_path[:60]}, {error.message[-50:]}"
        raise NoReport(f"it has another form: {why}") from None
    return report


def plain(value: object) -> dict | list | float | str | None:
    """A value of dictionaries, lists, finite floats, texts without control characters,
    and None.

    >>> plain({"loss": float("nan"), "scale": 8, "words": "a\\x00b", "guess": ...})
    {'loss': 'nan', 'scale': 8.0, 'words': 'ab', 'guess': None}
    """
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's
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
