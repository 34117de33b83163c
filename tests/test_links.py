"""Links between the course's files lead somewhere, to a heading or a cell if they name one.

The site's own are tests/browser/test_site.py's; addresses on the Internet are asked by
nobody, since a test needs no network.
"""

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest

from tools import toys
from tools.canonical_form import COURSE, read

LINK = re.compile(r'\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"')
# Of tools/, whose pages lie elsewhere when they are made, and of the site, which makes some.
MADE = {f"docs/{name}.md" for name in toys.TITLES}


def documents():
    """Tracked pages and notebooks; where there is no Git, those that are there."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "notebooks/*.ipynb"],
        cwd=COURSE, capture_output=True, text=True, check=False,
    ).stdout.split("\n")  # fmt: skip
    found = list(filter(None, listed))
    if not found:
        found = [
            str(path.relative_to(COURSE))
            for folder, kind in (
                (".", "*.md"),
                ("docs", "*.md"),
                ("notebooks", "*.ipynb"),
            )
            for path in (COURSE / folder).glob(kind)
        ]
    return [Path(name) for name in found if not name.startswith("tools/")]


def texts_of(path):
    """The Markdown of a page, or of a notebook's cells."""
    if path.suffix == ".ipynb":
        cells = read(COURSE / path).cells
        return [cell.source for cell in cells if cell.cell_type == "markdown"]
    return [(COURSE / path).read_text(encoding="utf-8")]


def anchors(path):
    """What may stand behind the # of a link to this file."""
    text = "\n".join(texts_of(path))
    found = set(re.findall(r'id="([^"]+)"', text))
    if path.suffix == ".ipynb":
        found |= {f"cell-id={cell.id}" for cell in read(COURSE / path).cells}
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        # GitHub's and Sphinx's names, and JupyterLab's
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading).strip().lower()
        found |= {
            re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"),
            heading.replace(" ", "-"),
        }
    return found


def dead(path, text):
    """Links of a text in this file that lead nowhere."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    for found in LINK.findall(text):
        link = "".join(found)
        if re.match(r"https?:|mailto:|data:", link) or "{" in link:
            continue
        name, _, anchor = link.partition("#")
        place = path.parent / unquote(name) if name else path
        target = Path(os.path.normpath(place))
        if target.as_posix() in MADE:
            continue
        if not (COURSE / target).exists():
            yield link
        elif anchor and target.suffix in (".md", ".ipynb"):
            if unquote(anchor).split("&")[0] not in anchors(target):
                yield link


@pytest.mark.parametrize("path", documents(), ids=str)
def test_no_link_is_dead(path):
    assert [link for text in texts_of(path) for link in dead(path, text)] == []


def test_a_dead_link_would_be_found():
    page = Path("docs/teach.md")
    text = "[a](gone.md) [b](hub.md#nowhere) [c](#two-surveys) [d](#three-surveys)"
    text += " [e](../notebooks/01_floats.ipynb#cell-id=floatlab)"
    text += " [f](../notebooks/01_floats.ipynb#cell-id=gone)"
    assert list(dead(page, text)) == [
        "gone.md",
        "hub.md#nowhere",
        "#three-surveys",
        "../notebooks/01_floats.ipynb#cell-id=gone",
    ]
