"""The class board: what a class handed in, side by side, on one page of the
instructor's, and as a table for a learning platform.
"""

import re
from collections import Counter

import pandas as pd

from course_utils import exercises
from course_utils.errors import shorten
from course_utils.exercises import answers
from course_utils.figures import boards as figures
from course_utils.report import page

PICTURES = 9  # quantities, those that most have guessed
QUESTIONS = 8  # questions of one report
CARD = ("quantity", "unit", "guess", "measured")
COLUMNS = ("file", "name", "device", "notebook", "solved", "of", *CARD)


def html(reports: dict, left_out: dict) -> str:
    """The page of reports {name: data} and of what was left out, {name: why}."""
    sheets = {name: exercises.load(name).questions for name in exercises.available()}
    lines = []
    counts = Counter()
    questions = {}
    for name, report in reports.items():
        for notebook, progress in report["progress"].items():
            for key in ("solved", "of"):
                for exercise in set(progress[key]):
                    counts[key, notebook, exercise] += 1
        for question in _questions(report["words"]):
            questions.setdefault(question, []).append(name)
        lines.append(
            {
                "name": name,
                "who": shorten(report["name"], 40),
                "title": shorten(report["title"], 80),
                # its GPU, where it has one
                "device": shorten(report["device"].split(" · ")[-1], 80, end=40),
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
    guesses = quantities["guess"].count().nlargest(PICTURES)
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
    texts = ["quantity", "unit"]
    numbers = ["guess", "measured"]
    cards[texts] = cards[texts].map(shorten, length=40)
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
    text = shorten(value, 100, end=20)
    # A spreadsheet would run a text that begins so.
    if value.startswith(("=", "+", "-", "@", "\t")):
        return f"'{text}"
    return text


def _questions(words):
    """The sentences that end in "?", the first of a long list."""
    sentences = map(str.strip, re.split(r"(?<=[.!?])\s|\n", words))
    questions = (shorten(each, 300) for each in sentences if each.endswith("?"))
    return list(dict.fromkeys(questions))[:QUESTIONS]
