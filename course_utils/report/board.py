"""The class board: what a class handed in, side by side, on one page of the
instructor's, and as a table for a learning platform.
"""

import glob
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pandas as pd

from course_utils import exercises
from course_utils.exercises import answers
from course_utils.exercises import hand_ins as data
from course_utils.figures import boards as figures
from course_utils.figures.boards import short
from course_utils.report import page, write

DRAWN = 9  # quantities, those that most have guessed
ASKED = 8  # questions of one report
CARD = ("quantity", "unit", "guess", "measured")
COLUMNS = ("file", "name", "device", "notebook", "solved", "of", *CARD)


def run(paths: list[str], out: Path, csv: Path | None = None) -> int:
    """Reads reports, writes the board, says what was left out: 0, or 1 if there is no
    board.
    """
    reports, left_out = read(paths, out)
    for name, why in left_out.items():
        print(f"Left out {name}: {why}.", file=sys.stderr)
    try:
        if not reports:
            raise ValueError(
                "There is no hand-in and no lab report in what was given, so no board was made."
            )
        write(html(reports, left_out), out, "class board")
        if csv:
            table = rows(reports).to_csv(index=False, lineterminator="\n")
            write(table, csv, "table of a class", ",".join(COLUMNS))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{out} shows {len(reports)} of {len(reports) + len(left_out)} files.")
    return 0


def read(paths: list[str], out: Path) -> tuple[dict, dict]:
    """The reports in files and folders, {name: data}, and what was left out, {name:
    why}.
    """
    files = {file.absolute(): None for text in paths for file in _files(text)}
    files.pop(out.absolute(), None)
    try:
        start = os.path.commonpath([file.parent for file in files]) if files else ""
    except ValueError:  # two drives of Windows
        start = ""
    reports, left_out, known = {}, {}, {}
    for file in files:
        name = data.plain(os.path.relpath(file, start) if start else str(file))
        name = name.removesuffix(".html").removesuffix(".json")
        while name in reports or name in left_out:
            name += "*"
        try:
            found = data.read(file)
            if (first := known.setdefault(str(found), name)) != name:
                raise data.NoReport(f"it is the same as {first}")
            reports[name] = found
        except data.NoReport as error:
            left_out[name] = str(error)
    return reports, left_out


def _files(text):
    path = Path(text)
    if path.is_dir():
        found = (file for end in ("html", "json") for file in path.rglob(f"*.{end}"))
        return sorted(file for file in found if not file.is_dir())
    # Windows leaves the stars to us.
    return [path] if path.exists() else map(Path, sorted(glob.glob(text)) or [text])


def html(reports: dict, left_out: dict) -> str:
    """The page of reports {name: data} and of what was left out, {name: why}."""
    cards = []
    lines = []
    solved = Counter()
    handed_in = Counter()
    questions = {}
    for name, report in reports.items():
        for row in report["card"]:
            numbers = (answers.number(row.get(key)) for key in ("guess", "measured"))
            cards.append((name, short(row["quantity"]), short(row["unit"]), *numbers))
        for question in _questions(report["words"]):
            questions.setdefault(question, []).append(name)
        done = _solved(report["progress"])
        solved.update(done)
        # its GPU, where it has one
        device = short(report["device"].split(" · ")[-1], 80, end=40)
        settings = (str(report["settings"].get("policy") or ""), report["versions"])
        whose = short(report["name"], 40)
        title = short(report["title"], 80)
        lines.append((name, whose, title, device, *settings, len(done)))
        handed_in.update(report["progress"].keys())
    table = pd.DataFrame(
        lines,
        columns=["name", "who", "title", "device", "policy", "versions", "solved"],
    )
    cards = pd.DataFrame(
        cards, columns=["name", "quantity", "unit", "guess", "measured"]
    )
    # a report has one voice
    cards = cards.drop_duplicates(["name", "quantity", "unit"])
    fast = (cards["unit"] == "×") & cards["quantity"].str.contains("speed", case=False)
    table["speedup"] = table["name"].map(
        cards[fast].groupby("name")["measured"].first()
    )
    quantities = cards.groupby(["quantity", "unit"], sort=False)
    guessed = quantities["guess"].count().nlargest(DRAWN)
    return page(
        "board.html",
        [figures.speed_by_device(table)] * bool(table["speedup"].count())
        + [
            figures.guesses(one, *key)
            for key, one in quantities
            if guessed.get(key, 0) > 0
        ],
        title="Class board",
        table=table,
        versions=Counter(
            each.get("tensorflow", "unknown") for each in table["versions"]
        ),
        sheets={name: exercises.load(name).questions for name in exercises.available()},
        solved=solved,
        handed_in=handed_in,
        questions=sorted(questions.items(), key=lambda each: -len(each[1])),
        left_out=left_out,
    )


def rows(reports: dict) -> pd.DataFrame:
    """One row for each notebook and quantity that was handed in: `COLUMNS`."""
    found = []
    for file, report in reports.items():
        who = {"file": file, "name": report["name"], "device": report["device"]}
        for notebook, progress in report["progress"].items():
            solved = {"solved": len(progress["solved"]), "of": progress["of"]}
            found.append(who | {"notebook": notebook} | solved)
        for row in report["card"]:
            found.append(who | {key: row[key] for key in CARD})
    return pd.DataFrame(found, columns=COLUMNS).map(_harmless)


def _harmless(value):
    if not isinstance(value, str):
        return value
    # A spreadsheet would run a text that begins so.
    quote = "'" * value.startswith(("=", "+", "-", "@", "\t"))
    return quote + short(value, 100, end=20)


def _solved(progress):
    """The exercises of this course that a report says are solved, as (notebook,
    number).
    """
    done = {name: set(each["solved"]) for name, each in progress.items()}
    return {
        (name, number)
        for name in exercises.available()
        for number, question in exercises.load(name).questions.items()
        if question.exercise.id in done.get(name, ())
    }


def _questions(words):
    """The sentences that end in "?", the first of a long list."""
    sentences = map(str.strip, re.split(r"(?<=[.!?])\s|\n", words))
    asked = (short(sentence, 300) for sentence in sentences if sentence.endswith("?"))
    return list(dict.fromkeys(asked))[:ASKED]
