"""The class board: what a class handed in, side by side, on one page of the
instructor's, and as a table for a learning platform.
"""

import glob
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
from course_utils.report import MARK, page

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
        data.write(html(reports, left_out), out, "class board", f"{MARK}class board")
        if csv:
            table = rows(reports).to_csv(index=False, lineterminator="\n")
            data.write(table, csv, "table of a class", ",".join(COLUMNS))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{out} shows {len(reports)} of {len(reports) + len(left_out)} files.")
    return 0


def read(paths: list[str], out: Path) -> tuple[dict, dict]:
    """The reports in files and folders, {name: data}, and what was left out, {name:
    why}.
    """
    files = {file.absolute(): file for text in paths for file in _files(text)}
    files.pop(out.absolute(), None)
    reports: dict = {}
    left_out: dict = {}
    for file in files.values():
        name = str(data.plain(str(file)))
        while name in reports or name in left_out:
            name += "*"
        try:
            report = data.read(file)
            twins = [other for other, each in reports.items() if each == report]
            if twins:
                raise data.NoReport(f"it is the same as {twins[0]}")
            reports[name] = report
        except data.NoReport as error:
            left_out[name] = str(error)
    return reports, left_out


def _files(text):
    path = Path(text)
    if path.is_dir():
        pages = [*path.rglob("*.html"), *path.rglob("*.json")]
        return sorted(file for file in pages if not file.is_dir())
    # Windows leaves the stars to us.
    return [path] if path.exists() else map(Path, sorted(glob.glob(text)) or [text])


def html(reports: dict, left_out: dict) -> str:
    """The page of reports {name: data} and of what was left out, {name: why}."""
    sheets = {name: exercises.load(name).questions for name in exercises.available()}
    lines = []
    counts = Counter()
    questions = {}
    for name, report in reports.items():
        counts.update(
            (key, notebook, each)
            for notebook, progress in report["progress"].items()
            for key in ("solved", "of")
            for each in {*progress[key]}
        )
        for question in _questions(report["words"]):
            questions.setdefault(question, []).append(name)
        lines.append(
            {
                "name": name,
                "who": short(report["name"], 40),
                "title": short(report["title"], 80),
                # its GPU, where it has one
                "device": short(report["device"].split(" · ")[-1], 80, end=40),
                "policy": str(report["settings"].get("policy") or ""),
                "solved": sum(
                    len(each["solved"]) for each in report["progress"].values()
                ),
            }
        )
    table = pd.DataFrame(lines)
    cards = _cards(reports)
    fast = (cards["unit"] == "×") & cards["quantity"].str.contains("speed", case=False)
    speedups = cards[fast].groupby("name")["measured"].first()
    table["speedup"] = table["name"].map(speedups)
    pictures = [figures.speed_by_device(table)] if table["speedup"].count() else []
    quantities = cards.groupby(["quantity", "unit"])
    guesses = quantities["guess"].count().nlargest(DRAWN)
    for quantity in guesses[guesses > 0].index:
        pictures.append(figures.guesses(quantities.get_group(quantity), *quantity))
    return page(
        "board.html",
        pictures,
        title="Class board",
        table=table,
        versions=Counter(
            report["versions"].get("tensorflow", "unknown")
            for report in reports.values()
        ),
        sheets=sheets,
        counts=counts,
        questions=sorted(questions.items(), key=lambda each: -len(each[1])),
        left_out=left_out,
    )


def _cards(reports):
    """What was guessed and measured, as numbers, one row for each quantity of a
    report.
    """
    rows = [
        {"name": name} | row for name, each in reports.items() for row in each["card"]
    ]
    cards = pd.DataFrame(rows, columns=["name", *CARD])
    texts, numbers = ["quantity", "unit"], ["guess", "measured"]
    cards[texts] = cards[texts].map(short)
    cards[numbers] = cards[numbers].map(answers.number).astype(float)
    # a report has one voice
    return cards.drop_duplicates(["name", *texts])


def rows(reports: dict) -> pd.DataFrame:
    """One row for each notebook and quantity that was handed in: `COLUMNS`."""
    table = []
    for file, report in reports.items():
        who = {"file": file, "name": report["name"], "device": report["device"]}
        for notebook, progress in report["progress"].items():
            solved = {"solved": len(progress["solved"]), "of": len(progress["of"])}
            table.append(who | {"notebook": notebook} | solved)
        for row in report["card"]:
            table.append(who | {key: row[key] for key in CARD})
    return pd.DataFrame(table, columns=COLUMNS).map(_harmless)


def _harmless(value):
    if not isinstance(value, str):
        return value
    # A spreadsheet would run a text that begins so.
    quote = "'" * value.startswith(("=", "+", "-", "@", "\t"))
    return quote + short(value, 100, end=20)


def _questions(words):
    """The sentences that end in "?", the first of a long list."""
    sentences = map(str.strip, re.split(r"(?<=[.!?])\s|\n", words))
    asked = (short(sentence, 300) for sentence in sentences if sentence.endswith("?"))
    return list(dict.fromkeys(asked))[:ASKED]
