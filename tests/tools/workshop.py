"""The workshop of 90 minutes: notebooks/workshop_90.ipynb, made from the notebooks' own cells.

    python tests/tools/workshop.py      print its account, part by part

`notebooks.py --fix` writes it, and `--check` names it once a cell it takes has changed. What a
notebook calls `q`, the workshop calls `q00`, `q01`, ...: its exercises are checked, and remembered,
as in their own notebooks, whichever part ran last.
"""

import copy
import re

import clock
import nbformat
import template
from canonical import COURSE, EXERCISE_TAG, canonical, cell_faults, read, tags_of, text_of
from nbformat.v4 import new_code_cell, new_markdown_cell

NAME, MINUTES, SHORT = "workshop_90.ipynb", 90, 2  # SHORT: the parts that stand for themselves
# Heading, notebook, and the ids of its cells; how many minutes that takes, the clock tells.
PARTS = [
    ("Setup", "00", "setup-text setup load-exercises predict-text prediction"),
    (
        "Time a product",
        "00",
        "machine-text matmul-text matmul-by-hand matmul-sizes-text matmul-sizes matmul-see",
    ),
    (
        "Train under three policies",
        "00",
        "policy-text data build-model three-fits three-fits-see guess-beside-measured compare-see "
        "exercises-text task-1 exercise-1",
    ),
    (
        "Guess a sum, and look into a float",
        "01",
        "predict-text load-exercises prediction fields-text halve three-fields by-hand by-hand-see "
        "decode",
    ),
    (
        "Flip bits",
        "01",
        "convert-text bit-strips encode-see converter floatlab-text floatlab floatlab-try",
    ),
    (
        "Split 16 bits",
        "01",
        "compare-text spacing spacing-see table table-see own-text own own-see",
    ),
    (
        "Watch updates vanish",
        "01",
        "vanish-text vanish-lead vanish vanish-see sgd sgd-see long-sum long-sum-figure "
        "long-sum-see task-6 exercise-6",
    ),
    (
        "Guess a share, and train in 16 bits alone",
        "02",
        "predict-text load-exercises prediction master-text step step-see network five-text train "
        "train-five five-see",
    ),
    ("Look at the gradients", "02", "see-text late late-see weigh weigh-see scope scope-see"),
    (
        "Scale the loss",
        "02",
        "scale-text volts twin bathtub bathtub-see train-volts volts-see task-1 exercise-1",
    ),
    (
        "See the cure break a softmax",
        "03",
        "output-text gradients softmax-cliff-text softmax-cliff softmax-cliff-see",
    ),
    (
        "Guess the memory, and train the CNN",
        "04",
        "predict-text load-exercises prediction data look pipeline-text pipeline model-text model "
        "build-model train-text panel panel-result panel-see",
    ),
    (
        "Compare time, memory and accuracy",
        "04",
        "compare-text compare compare-figure compare-see task-1 exercise-1",
    ),
]
TITLE = """\
# Measure mixed precision in 90 minutes

After this workshop you can say what two 16-bit formats lose, why loss scaling saves float16, and \
what a policy gains on the machine in front of you."""
GLANCE = """\
**At a glance** · **{minutes} minutes** of work, and {left} for questions · level: you have called \
Keras `fit` · hardware: any · in one runtime, from top to bottom · made from the notebooks 00 to \
04, which say more

| minute | part | from |
|---|---|---|
{rows}

Only {short} minutes? Stop after section {parts}: you have guessed, and measured the answer."""
RECAP = """\
## Recap

- A 16-bit format is a choice: bfloat16 has float32's range in coarse steps, float16 finer steps \
and a short range.
- Small updates vanish in 16 bits. So the weights stay in float32.
- Small gradients vanish in float16. So the loss is scaled, up to the cliff where the largest \
overflows.
- The output stays in float32: the scale that saves the gradients breaks a 16-bit softmax.
- Whether it is faster, and smaller, you measure: turns, medians, equal steps.

Your guesses and solved exercises, which the notebooks know too:"""
FURTHER = """\
Print the [decision card](../data/decision_card.html): formats, the scale, the output and ten \
symptoms on one page.

Go on with [01 · Floats](01_floats.ipynb), [02 · Loss scaling](02_loss_scaling.ipynb), \
[03 · Policies](03_policy.ipynb) or [04 · The CNN, three ways](04_mnist_cnn.ipynb). \
[00 · Start here](00_start_here.ipynb) has the map."""


def made(folder=COURSE / "notebooks"):
    """Return the workshop as a notebook, and its account; None where its sources are not."""
    wanted = {notebook for _, notebook, _ in PARTS}
    paths = {p.name[:2]: p for p in folder.glob("[0-9]*.ipynb") if p.name[:2] in wanted}
    if set(paths) != wanted:
        return None
    given = {number: cells_of(path) for number, path in paths.items()}
    stored = {
        number: cells_of(path.parent / "solved" / path.name) for number, path in paths.items()
    }
    sections, cells, waited = {}, [], {}
    for number, (_, notebook, ids) in enumerate(PARTS):
        text = "\n".join(given[notebook][id].source for id in ids.split())
        for old in re.findall(r"^## (\d+)\. ", text, re.M):
            sections.setdefault((notebook, old), number)
    for number, (heading, notebook, ids) in enumerate(PARTS):
        heading = f"## {number}. {heading}" if number else f"## {heading}"
        for place, id in enumerate(ids.split()):
            cell = copy.deepcopy(given[notebook][id])
            cell.id = "setup" if id == "setup" else f"{id}-{notebook}"
            cell.metadata["from"] = paths[notebook].name
            cell.source = moved(cell, notebook, sections, heading if place == 0 else "")
            waited[cell.id] = stored[notebook].get(id, cell)
            cells.append(cell)
    cells += [
        new_markdown_cell(RECAP, id="recap"),
        new_code_cell("exercises.progress()", id="progress"),
        new_markdown_cell(FURTHER, id="further"),
        new_markdown_cell(id="trouble"),
    ]
    cells.insert(0, new_markdown_cell(TITLE, id="title"))
    for first in (True, False):  # the timetable is read too, and its minutes are no words
        account = clock.Account("workshop", clock.sections(cells, waited, NAME))
        cells[1 : 1 if first else 2] = [new_markdown_cell(glance(account), id="at-a-glance")]
    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = clock.wound(cell.source, account)
        kept = [tag for tag in tags_of(cell) if not EXERCISE_TAG.fullmatch(tag)]
        cell.metadata = {"tags": kept}
    return canonical(nbformat.v4.new_notebook(cells=cells), NAME), account


def cells_of(path):
    return {cell.id: cell for cell in read(path).cells}


def moved(cell, notebook, sections, heading):
    """Return a cell's text as it reads in the workshop, under this heading if it is a first one."""
    source = re.sub(r"\bq(?=[\[.]| = |$)", f"q{notebook}", cell.source, flags=re.M)
    if cell.cell_type == "code":
        return source

    def refer(match):
        here = sections.get((notebook, match[2]))
        return f"{match[1]} {here}" if here else f"{match[0]} of notebook {notebook}"

    source = re.sub(r"(?<!\d\d, )\b([Ss]ection) (\d+)", refer, clock.CLOCK.sub("", source))
    own = re.compile(r"^## (?:\d+\. )?(.+)$", re.M)
    if heading:
        return own.sub(heading, source) if own.search(source) else f"{heading}\n\n{source}"
    return own.sub(r"### \1", source)


def glance(account):
    """Return the timetable: in which minute each part begins."""
    begins, rows, starts = 0.0, [], []
    for section, (_, notebook, _) in zip(account.sections, [*PARTS, ("", "", "")], strict=True):
        starts.append(round(begins))
        begins += section.minutes
        rows.append(f"| {starts[-1]} to {round(begins)} | {section.heading} | {notebook} |")
    rows[-1] = f"| {starts[-1]} to {MINUTES} | {section.heading}, and your questions | |"
    left = {"left": MINUTES - account.core, "short": starts[SHORT + 1], "parts": SHORT}
    return GLANCE.format(minutes=account.core, rows="\n".join(rows), **left)


def faults(folder):
    """Return one sentence if the workshop of this folder is stale, or per fault that it has."""
    new, path = made(folder), folder / NAME
    if new is None:
        return []
    if not path.exists() or path.read_text(encoding="utf-8") != text_of(new[0]):
        return [f"{NAME}: it does not follow from the notebooks, run --fix."]
    found = cell_faults(new[0]) + template.links(new[0], folder) + template.wording(new[0])
    return [f"{NAME}: {fault}" for fault in found]


if __name__ == "__main__":
    clock.print_account(made()[1])
