"""The site's pages of one explorer each, whose address keeps what they show.

`make site` writes them. Each is one file that asks nobody for anything: the explorer as the
notebooks have it, some text, and a script beside this file that keeps the address.
"""

import base64
import hashlib
import json
import re
from pathlib import Path

import nbformat
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from course_utils import records
from course_utils.explorers import FloatLab, ScaleScope, fragment
from course_utils.explorers.scalescope import parameters
from tools import pictures

COURSE = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent
BUILT = FOLDER / "built"  # by tools.explorers
# The pages, and their names in the site's navigation.
TITLES = {
    "float": "FloatLab, a page to link to",
    "bathtub": "The bathtub, a page to link to",
    "cliff": "The softmax cliff, a page to link to",
}
# The cell of a notebook that shows the same explorer.
CELLS = {"floatlab": "float", "scope": "bathtub", "softmax-cliff": "cliff"}
CLIFF = COURSE / "notebooks/solved/03_policy.ipynb"
# The rows with which FloatLab opens, here and in notebook 01; its menu has the others.
ROWS = ("float32", "bfloat16", "float16")
SIGMOIDS = ("false-alarm", "miss")
# A link in a document to a cell, with a state: the notebook where no site was made.
TO_STATE = re.compile(
    r"\[([^\]]+)\]\(\.\./notebooks/solved/\w+\.ipynb#cell-id=([\w-]+)&([^)\s]+)\)"
)
TO_CELL = re.compile(r'href="notebooks/(\w+)\.html#cell-([\w-]+)"')


def page(name: str) -> str:
    """Return a page as HTML."""
    hosts, explorer = PARTS[name]()
    scripts = [explorer, _script(name)]
    if name == "cliff":
        scripts.insert(0, _script("sigmoids"))
    templates = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    return templates.get_template(f"{name}.html").render(
        hosts=hosts, scripts=scripts, hashes=list(map(_hash, scripts))
    )


def with_states(text: str) -> str:
    """Return a document's Markdown with the links to these pages that it has for a site."""
    return TO_STATE.sub(
        lambda match: f'<a href="{CELLS[match[2]]}.html#{match[3]}">{match[1]}</a>',
        text,
    )


def linked() -> set[tuple[str, str]]:
    """Return the cells that the pages link to, {(notebook, cell)}."""
    texts = [(FOLDER / f"{name}.html").read_text(encoding="utf-8") for name in TITLES]
    return {match for text in texts for match in TO_CELL.findall(text)}


def _float():
    return _apart("floatlab", FloatLab("65520", ROWS))


def _bathtub():
    return _apart("scalescope", ScaleScope(records.gradients(of="weights")[85]))


def _cliff():
    """The softmax's explorer as notebook 03 stored it, and two for a sigmoid, whose data
    the page's script fills in.
    """
    (text,) = (
        data["text/html"]
        for cell, data in pictures.explorers(nbformat.read(CLIFF, 4))
        if cell.id == "softmax-cliff"
    )
    hosts, explorer = _split("softmaxcliff", pictures.undrawn(text))
    formats = [parameters(name) for name in ("bfloat16", "float16")]
    for output in SIGMOIDS:
        known = json.dumps(
            {"output": output, "formats": formats}, separators=(",", ":")
        )
        script = f'<script type="application/json">{known}</script>'
        hosts.append(f'<div class="away" data-softmaxcliff>{script}</div>')
    return hosts, explorer


PARTS = {"float": _float, "bathtub": _bathtub, "cliff": _cliff}


def _apart(name, explorer):
    return _split(name, explorer._repr_mimebundle_()["text/html"])


def _split(name, html):
    """Return the hosts of an explorer's HTML, and its code as it is today."""
    code = re.sub(r"^<script>|</script>\s*$", "", fragment.script(name))
    return [html[: html.rindex("\n<script>")]], code


def _script(name):
    return (BUILT / f"{name}.js").read_text(encoding="utf-8")


def _hash(script):
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
