"""The template of the notebooks as rules: each returns what a notebook breaks, as
sentences.
"""

import re
from urllib.parse import unquote

from tools.canonical import code_cells, named, read
from tools.clock import GLANCE

LARGEST = 700_000  # bytes of a notebook
PARTS = ("At a glance", "What you'll do", "What you'll learn", "What you'll need")
PARTS += ("## Common mistakes", "## Recap", "## Further reading")
LINK = re.compile(r"\]\(([^)\s]+)")
UNWANTED = {
    "the word 'simply'": r"\bsimply\b",
    "the word 'just'": r"\bjust\b",
    "the word 'obviously'": r"\bobviously\b",
    "an exclamation mark": r"!",
    "a claim's id": r"\bC\d\d\b",
    "a finding's code": r"\bMP\d{3}\b",
}


def markdown(nb):
    return [cell for cell in nb.cells if cell.cell_type == "markdown"]


def without_code(source):
    """Return markdown without fenced and inline code."""
    source = re.sub(r"^```.*?^```[^\n]*$", "", source, flags=re.S | re.M)
    return re.sub(r"(`+).+?\1", "", source, flags=re.S)


def prose(source):
    """Return the words that a reader sees: no code, formulas, tags or addresses."""
    source = re.sub(r"\$[^$\n]+\$|</?\w[^>]*>", "", without_code(source))
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", source)


def structure(nb):
    """One title, the parts that every notebook has, numbered sections, and minutes."""
    text = "\n".join(without_code(cell.source) for cell in markdown(nb)).replace(
        "’", "'"
    )
    found = [f"There is no '{part}'." for part in PARTS if part not in text]
    if (
        not nb.cells[0].source.startswith("# ")
        or len(re.findall("^# ", text, re.M)) != 1
    ):
        found.append("The first cell begins with the only level-1 heading.")
    numbers = [int(number) for number in re.findall(r"^## +(\d+)\.", text, re.M)]
    if not numbers or numbers != list(range(1, len(numbers) + 1)):
        found.append(f"The sections '## 1. …' have the numbers {numbers}.")
    further = False
    for cell in nb.cells:
        headings = [cell.id] if cell.id in ("summary", "hand-in") else []
        if cell.cell_type == "markdown":
            headings = re.findall(r"^## +(.+)", without_code(cell.source), re.M)
        for heading in headings:
            if further and "Going further" not in heading:
                found.append(f"{heading!r} stands behind 'Going further'.")
            further = further or "Going further" in heading
    if not re.search(f"At a glance.*{GLANCE.pattern}", text):
        found.append("'At a glance' says no minutes like **15 minutes**.")
    return found


def links(nb, folder):
    """Local links resolve from the notebook's folder, to a cell if it has one; others
    are https.
    """
    found = []
    for cell in markdown(nb):
        source = without_code(cell.source)
        for target in LINK.findall(source):
            file, _, id = unquote(target).partition("#cell-id=")
            file = re.split("[#?]", file)[0]
            if file and not re.match(r"[a-z][a-z0-9+.-]*:", target):
                path = folder / file
                cited = f'"id": "{id}"'
                if not path.exists() or (
                    id and cited not in path.read_text(encoding="utf-8")
                ):
                    found.append(f"cell {cell.id!r}: {target} does not exist.")
        if "http://" in source:
            found.append(f"cell {cell.id!r}: an http link where https is wanted.")
    return found


def wording(path):
    """Return words that a reader is better spared: notes to the author, no faults."""
    found = []
    for cell in markdown(read(path)):
        text = prose(cell.source)
        for name, pattern in UNWANTED.items():
            match = re.search(
                rf".{{0,20}}{pattern}", text, flags=re.I if "word" in name else 0
            )
            if match:
                found.append(f"cell {cell.id!r}: {name} in '{match[0].strip()}'.")
    return [f"note: {named(path)}: {each}" for each in found]


def alternative_text(nb):
    bare = [
        cell.id for cell in markdown(nb) if re.search(r"!\[\s*\]|<img", cell.source)
    ]
    return [f"cell {id!r}: a picture without ![alternative text]." for id in bare]


def stored_errors(nb):
    """A cell that shows an error catches it and prints the message."""
    kinds = [
        (cell.id, output.output_type)
        for cell in code_cells(nb)
        for output in cell.outputs
    ]
    return [f"cell {id!r}: a stored error." for id, kind in kinds if kind == "error"]


HIDING = r"simplefilter\(.ignore|action=.ignore|filterwarnings\("
LEFT_OVER = r"\btqdm\.(auto|notebook)\b"  # its bars are widgets that a page has lost


def cells_that_hide(nb):
    """Learners see every warning about their models, and no widget is left of a bar."""
    rules = {"it hides warnings": HIDING, "it uses tqdm's widgets": LEFT_OVER}
    return [
        f"cell {cell.id!r}: {fault}."
        for cell in code_cells(nb)
        for fault, pattern in rules.items()
        if re.search(pattern, cell.source)
    ]


def faults(path):
    """Return one sentence per departure of this file from the template."""
    nb = read(path)
    found = links(nb, path.parent) + stored_errors(nb) + cells_that_hide(nb)
    if path.stat().st_size > LARGEST:
        found.append(f"it is larger than {LARGEST:,} bytes.")
    if path.parent.name != "solved":  # whose text is that of the blank notebook
        found += structure(nb) + alternative_text(nb)
    return [f"{named(path)}: {fault}" for fault in found]
