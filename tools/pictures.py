"""Pictures that a browser draws of explorers: the README's, with stored figures, and
those of stored outputs.

`python -m tools.site --pictures SITE` writes the README's into docs/pictures.
`python -m tools.notebooks --draw` puts a picture of its first state into each explorer
of the solved notebooks, where no script runs, as on GitHub: the table is folded below.
"""

import base64
import hashlib
import html
import io
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import nbformat
from PIL import Image

COURSE = Path(__file__).resolve().parents[1]
OUT = COURSE / "docs" / "pictures"
# The cell that shows what a picture of the README does. A README can link headings
# only; the cell may stand screens below.
PICTURED = {
    "00_start_here": "guess-beside-measured",
    "01_floats": "floatlab",
    "02_loss_scaling": "scope",
    "07_devices": "cured",
}
# Of an explorer the part from its top that says enough: pixels.
EXPLORERS = {"floatlab": ("01_floats", 655), "scalescope": ("02_loss_scaling", 545)}
FIGURES = {"speed": "00_start_here", "hang": "07_devices"}
# An explorer in an output: what its host shows without a script, and the same with a
# picture.
HOST = re.compile(r"<div data-(\w+)>\n(.*?)\n(?=<script)", re.DOTALL)
DRAWN = re.compile(
    r'<img data-of="(\w+)"[^>]*>\n<details>.*?</summary>\n(.*)\n</details>', re.DOTALL
)
WIDTH = 800  # pixels
MOST = 30_000  # bytes of a picture in an output


def save(name, picture):
    """Write a picture with 128 colors at most."""
    picture.quantize(128).save(OUT / f"{name}.png", optimize=True)


def explorers(nb):
    """Yield the data of each output of a notebook that is an explorer."""
    for cell in nb.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if HOST.match(data.get("text/html", "")):
                yield cell, data


def undrawn(text):
    """Return an explorer's HTML without its picture."""
    name, shown = HOST.match(text).groups()
    if known := DRAWN.fullmatch(shown):
        text = text.replace(shown, known[2], 1)
    return text


def is_fresh(text):
    """Is there a picture in this HTML, of the explorer as it is now?"""
    known = DRAWN.fullmatch(HOST.match(text)[2])
    return known is not None and known[1] == _digest(undrawn(text))


def carry(old, new):
    """Give the explorers of a notebook the pictures that an older run has of the same
    ones.
    """
    known = {
        undrawn(data["text/html"]): data["text/html"] for _, data in explorers(old)
    }
    for _, data in explorers(new):
        data["text/html"] = known.get(data["text/html"], data["text/html"])


def draw(notebooks):
    """Draw the explorers of these notebooks that have no fresh picture."""
    with browser() as page:
        page.set_viewport_size({"width": WIDTH, "height": 1200})
        for nb in notebooks:
            for _, data in explorers(nb):
                if not is_fresh(data["text/html"]):
                    data["text/html"] = _drawn(page, undrawn(data["text/html"]))


def _drawn(page, text):
    name, shown = HOST.match(text).groups()
    page.set_content(f'<!doctype html><body style="margin: 0; padding: 10px">{text}')
    host = page.locator(f"[data-{name}]").element_handle()
    page.wait_for_function("host => host.shadowRoot", arg=host)
    data = base64.b64encode(_small(page.locator("body").screenshot())).decode()
    title = re.search("<caption[^>]*>(.*?)</caption>", shown, re.DOTALL)
    said = html.escape(html.unescape(title[1]) if title else name)
    picture = (
        f'<img data-of="{_digest(text)}" width="{WIDTH}" alt="{said}" '
        f'src="data:image/png;base64,{data}">\n'
        f"<details><summary>The same as a table</summary>\n{shown}\n</details>"
    )
    return text.replace(shown, picture, 1)


def _small(png):
    """Return a picture with as many colors as its bytes allow."""
    whole = Image.open(io.BytesIO(png)).convert("RGB")
    for colors in (128, 64, 48, 32, 24):
        file = io.BytesIO()
        # which keeps colors of small areas
        method = Image.Quantize.MAXCOVERAGE
        few = whole.quantize(colors, method, dither=Image.Dither.NONE)
        few.save(file, "PNG", optimize=True)
        if len(file.getvalue()) <= MOST:
            return file.getvalue()
    raise ValueError(f"The explorer's picture has more than {MOST:,} bytes.")


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@contextmanager
def browser(**options):
    """Give a page of Chromium."""
    from playwright.sync_api import sync_playwright

    sys.path.append(str(COURSE / "tests" / "browser"))
    from harness import FLAGS, find_chromium

    with sync_playwright() as playwright:
        path = find_chromium()
        if path is None:
            raise SystemExit(
                "Pictures need Chromium: install it, or name it in CHROMIUM."
            )
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium.new_page(**options)
        chromium.close()


def write(site):
    """Write all of them, of what this folder's pages and the solved notebooks show."""
    OUT.mkdir(exist_ok=True)
    size = {"width": 1200, "height": 2400}
    with browser(viewport=size, device_scale_factor=2) as page:
        for name, (notebook, height) in EXPLORERS.items():
            page.goto((Path(site).resolve() / f"notebooks/{notebook}.html").as_uri())
            box = page.locator(f"[data-{name}]").first.bounding_box()
            box["height"] = height
            shot = page.screenshot(clip=box, full_page=True)
            save(name, Image.open(io.BytesIO(shot)).convert("RGB"))
    for name, notebook in FIGURES.items():
        nb = nbformat.read(COURSE / f"notebooks/solved/{notebook}.ipynb", 4)
        cell = next(cell for cell in nb.cells if cell.id == PICTURED[notebook])
        shown = (output.get("data", {}) for output in cell.outputs)
        data = next(each["image/png"] for each in shown if "image/png" in each)
        save(name, Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"))
