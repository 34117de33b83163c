"""The canonical form of a notebook: what `tools.notebooks --check` demands and `--fix`
writes.
"""

import copy
import re
import warnings

import nbformat

from course_utils import exercises
from course_utils.explorers import fragment
from tools import publishing
from tools.publishing import COURSE  # noqa: F401 (which the tests take from here)

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CPUS = {"07": 2}  # notebooks that split the CPU into several devices
NO_SLIDES = ("setup-text", "setup", "load-exercises", "trouble")
VIEW = "application/vnd.jupyter.widget-view+json"
# What JupyterLab and nbformat give a new cell: eight or more hexadecimal digits.
RANDOM_ID = re.compile(r"[0-9a-f]{8,}(-[0-9a-f]+)*")
EXERCISE_TAG = re.compile(r"(task|exercise)-(\d+)|predict|prediction")
# The line that ends *At a glance*, and the last cell of every notebook; `--fix` adds
# them.
COMING_BACK = """\
**Coming back?** Click the cell where you stopped, then *Run, Run All Above Selected Cell* (on \
Colab *Runtime, Run before*). Do the same where a cell raises `NameError` after a restart of the \
kernel. Your guess and the exercises that you solved are remembered; on Colab and Binder, until \
the runtime is deleted."""
TROUBLE = """\
<details><summary>If something goes wrong</summary>

If a cell raises `NameError`, look whether the name is misspelled, is a text without quotes, needs \
an `import`, or comes from a cell above that has not run to its end since the kernel started. In \
the last case click your cell, then *Run, Run All Above Selected Cell* (on Colab *Runtime, Run \
before*), and run it again.

If there is no module named `course_utils`, run `make lab` in the course's folder, or `pip install \
-r requirements.txt` there, and choose the kernel of that Python; on Colab run the file's first \
cell.

For anything else run the setup cell, then `from course_utils import check; check.run()` in a new \
cell: it lists what is missing and what to do. Then restart the kernel and run all cells.

If a notebook is damaged, `!git stash push -- .` in a new cell puts all notebooks back and sets \
yours aside; `!git stash pop`, before one of them is saved again, brings yours back. If `push` \
finds nothing the first time, a hub has kept your changes as commits: `!git checkout origin/HEAD \
-- .` puts the course's notebooks there, and `!git checkout HEAD -- .` yours. Then choose *File, \
Reload Notebook from Disk*. On Colab, and where the course came without Git, open or unpack it \
again instead. \
`exercises.reset()` forgets all answers.

</details>"""
# An explorer as a cell puts it out: its host with what is shown, then the script of its
# kind.
EXPLORER = re.compile(r"(<div data-(\w+)>\n.*?</div>\n)(<script>\n.*)", re.DOTALL)
LOCAL_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#|[^/)]+\.ipynb[)#])")

INVALID = (ValueError, LookupError, AttributeError, TypeError, nbformat.ValidationError)


def read(path):
    """Return a notebook as it stands in its file; ValueError says why it is none."""
    if not path.is_file():
        raise ValueError("there is no such file.")
    try:
        nb = nbformat.v4.reads(path.read_text(encoding="utf-8"))
        with warnings.catch_warnings():
            # it invents missing ids, in the copy, and says so
            warnings.simplefilter("ignore")
            nbformat.validate(copy.deepcopy(nb) | {"nbformat_minor": 5})
    except INVALID as error:
        raise ValueError(
            f"not a notebook of format 4: {str(error).splitlines()[0]}"
        ) from error
    return nb


def text_of(nb):
    return nbformat.v4.writes(nb) + "\n"


def tags_of(cell):
    return sorted(set(cell.metadata.get("tags", [])))


def code_cells(nb):
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def named(path):
    """Return what a fault calls this file."""
    return f"solved/{path.name}" if path.parent.name == "solved" else path.name


def opening_source(cell, name):
    """Return the text of a cell that every notebook has, as title, setup and help, or
    None.

    What ends *At a glance* may stand in the title's cell too.
    """
    if cell.get("id") == "trouble":
        return TROUBLE
    if cell.get("id") == "setup":
        return publishing.setup_cell(cpus=CPUS.get(name[:2]))
    source = cell.source
    if cell.cell_type == "markdown" and "At a glance" in source:
        above = re.sub(r"\n+\*\*Coming back\?\*\*.*", "", source)
        source = f"{above.rstrip()}\n\n{COMING_BACK}"
    if cell.cell_type == "markdown" and source.startswith("# "):
        source = publishing.with_badge(source, name, *publishing.published())
    return source if source != cell.source else None


def solution_of(cell, name):
    """Return the code that solves an exercise's cell or makes its guess, else None."""
    match = next(filter(None, map(EXERCISE_TAG.fullmatch, tags_of(cell))), None)
    if not match or match[0] == "predict" or match[1] == "task":
        return None
    sheet = exercises.load(name[:2])
    if match[0] == "prediction":
        return sheet.prediction.solution
    question = sheet.questions.get(int(match[2]))
    return question.cell if question else None


def without_trailing_space(source):
    return "\n".join(line.rstrip() for line in source.split("\n")).strip("\n")


def clean_outputs(nb):
    """Drop from stored outputs what differs from run to run, and join texts that
    follow.

    An explorer gets today's script: a change of its code is no reason to run the
    notebook again.
    """
    for cell in code_cells(nb):
        kept = []
        for output in cell.outputs:
            if explorer := EXPLORER.fullmatch(
                output.get("data", {}).get("text/html", "")
            ):
                output.data["text/html"] = explorer[1] + fragment.script(explorer[2])
            # Without a kernel a progress bar or panel is a line of stale text.
            if output.get("name") == "stderr" or VIEW in output.get("data", {}):
                continue
            if (
                kept
                and output.get("name")
                and output.get("name") == kept[-1].get("name")
            ):
                kept[-1].text += output.text
            else:
                kept.append(output)
        cell.outputs = kept


def slides(nb):
    """Return for each cell what it is among slides, as metadata: the core makes one
    talk.

    A heading begins a slide, and below it each further text one; code goes with the
    text above.
    """
    found, further, before = [], False, None
    for cell in nb.cells:
        code = cell.cell_type == "code"
        heading = not code and re.match("##? (.+)", cell.source)
        if heading:
            further = "Going further" in heading[1]
        kind = "subslide"
        if further or cell.get("id") in NO_SLIDES:
            kind = "skip"
        elif heading:
            kind = "slide"
        elif code and before == "markdown":
            kind = None
        found.append({"slide_type": kind} if kind else None)
        before = cell.cell_type
    return found


def canonical(nb, name, solved=False):
    """Return a copy of a blank or solved notebook in canonical form.

    Exercises of a solved notebook are left alone: their outputs belong to their source.
    """
    nb = copy.deepcopy(nb)
    nb.nbformat, nb.nbformat_minor = 4, 5
    nb.metadata = nbformat.from_dict(METADATA)
    for cell in nb.cells:
        source = opening_source(cell, name)
        cell.source = without_trailing_space(cell.source if source is None else source)
        if cell.cell_type == "code" and not solved:
            cell.outputs, cell.execution_count = [], None
    # of the text that is written above
    for cell, slide in zip(nb.cells, slides(nb), strict=True):
        tags = tags_of(cell)
        kept = {"slideshow": slide, "tags": tags}
        if solved:
            # of waiting; and what the blank notebook has in the place of the solution
            kept["seconds"] = cell.metadata.get("seconds")
            kept["stub"] = cell.metadata.get("stub")
        cell.metadata = nbformat.from_dict(
            {key: value for key, value in kept.items() if value}
        )
    if solved:
        clean_outputs(nb)
    return nb


def solution_form(blank, name):
    """Return the blank notebook with solutions in place of the stubs, ready to be run.

    It lies one folder deeper, so local links gain a "../", except those to the next
    notebook. A solved cell keeps its stub as metadata, which tells a blank notebook from
    one that somebody answered.
    """
    nb = canonical(blank, name)
    for cell in nb.cells:
        source = solution_of(cell, name)
        if source is not None:
            cell.metadata["stub"] = cell.source
            cell.source = without_trailing_space(source)
        if cell.cell_type == "markdown":
            cell.source = LOCAL_LINK.sub(r"\1../", cell.source)
    return nb
