"""The template of the notebooks as rules: each returns what a notebook breaks, as sentences."""

import re
from urllib.parse import unquote

from canonical import code_cells, named, read
from clock import GLANCE

LARGEST = 700_000  # bytes of a notebook
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


def headings(nb):
    """Return (level, heading, the text below it, cell) of every heading."""
    found = []
    for cell in markdown(nb):
        pieces = re.split(r"^(#+) +(.+?) *$", without_code(cell.source), flags=re.M)[1:]
        for marks, heading, text in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
            found.append((len(marks), heading, text, cell))
    return found


def title(nb):
    first = nb.cells[0]
    cells = [cell for level, _, _, cell in headings(nb) if level == 1]
    if len(cells) != 1 or cells[0] is not first or not first.source.startswith("# "):
        return ["The first cell begins with the only level-1 heading."]
    return []


def parts(nb):
    """The parts that every notebook has."""
    text = "\n".join(cell.source for cell in markdown(nb)).replace("’", "'")
    wanted = ["At a glance", "What you'll do", "What you'll learn", "What you'll need"]
    missing = [f"There is no '{part}'." for part in wanted if part not in text]
    names = [heading for _, heading, _, _ in headings(nb)]
    for part in ("Common mistakes", "Recap", "Further reading"):
        if not any(part in name for name in names):
            missing.append(f"There is no section '{part}'.")
    return missing


def sections(nb):
    """Numbered sections, each with the clock that --fix writes below its heading."""
    names = [heading for level, heading, _, _ in headings(nb) if level == 2]
    numbered = [name for name in names if re.match(r"\d+\.", name)]
    found = [
        f"Section '{name}' should be number {number}."
        for number, name in enumerate(numbered, start=1)
        if not name.startswith(f"{number}. ")
    ]
    glance = next((c.source for c in markdown(nb) if "At a glance" in c.source), "")
    if not GLANCE.search(glance):
        found.append("'At a glance' says no minutes like **15 minutes**.")
    return found if numbered else ["There is no section '## 1. …'."]


def links(nb, folder):
    """Local links resolve from the notebook's folder, other links are https."""
    found = []
    for cell in markdown(nb):
        source = without_code(cell.source)
        for target in LINK.findall(source):
            file = unquote(target.split("#")[0].split("?")[0])
            local = not re.match(r"[a-z][a-z0-9+.-]*:", target)
            if local and file and not (folder / file).exists():
                found.append(f"cell {cell.id!r}: {target} does not exist.")
        if "http://" in source:
            found.append(f"cell {cell.id!r}: an http link where https is wanted.")
    return found


def wording(nb):
    found = []
    for cell in markdown(nb):
        text = prose(cell.source)
        for name, pattern in UNWANTED.items():
            match = re.search(rf".{{0,20}}{pattern}", text, flags=re.I if "word" in name else 0)
            if match:
                found.append(f"cell {cell.id!r}: {name} in '{match[0].strip()}'.")
    return found


def alternative_text(nb):
    bare = [cell.id for cell in markdown(nb) if re.search(r"!\[\s*\]|<img", cell.source)]
    return [f"cell {id!r}: a picture without ![alternative text]." for id in bare]


def stored_errors(nb):
    """A cell that shows an error catches it and prints the message."""
    kinds = [(cell.id, output.output_type) for cell in code_cells(nb) for output in cell.outputs]
    return [f"cell {id!r}: a stored error." for id, kind in kinds if kind == "error"]


def faults(path):
    """Return one sentence per departure of this file from the template."""
    nb = read(path)
    found = links(nb, path.parent) + stored_errors(nb)
    if path.stat().st_size > LARGEST:
        found.append(f"it is larger than {LARGEST:,} bytes.")
    if path.parent.name != "solved":  # whose text is that of the blank notebook
        found += title(nb) + parts(nb) + sections(nb) + wording(nb) + alternative_text(nb)
    return [f"{named(path)}: {fault}" for fault in found]
