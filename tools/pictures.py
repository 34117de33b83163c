"""The README's picture, and pictures that a browser draws of explorers.

`python -m tools.site --picture` draws the README's of a recorded measurement.
`python -m tools.notebooks --draw` puts a picture of its first state into each explorer
of the solved notebooks, where no script runs, as on GitHub: the table is folded below.
"""

import base64
import hashlib
import html
import io
import json
import re
import sys
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

COURSE = Path(__file__).resolve().parents[1]
# The README's picture, and the record whose numbers it and the README's text have.
FRONT = COURSE / "docs" / "pictures" / "speed.png"
RECORD = COURSE / "data/measurements/amd-epyc-2-cores-avx512-bf16-2026-11-21.json"
# An explorer in an output: what its host shows without a script, and the same with a
# picture.
HOST = re.compile(r"<div data-(\w+)>\n(.*?)\n(?=<script)", re.DOTALL)
DRAWN = re.compile(
    r'<img data-of="(\w+)"[^>]*>\n<details>.*?</summary>\n(.*)\n</details>', re.DOTALL
)
WIDTH = 800  # pixels
MOST = 33_000  # bytes of a picture in an output


def explorers_of(cell):
    """Return the data of each output of a cell that is an explorer."""
    every = [output.get("data", {}) for output in cell.get("outputs", ())]
    return [data for data in every if HOST.match(data.get("text/html", ""))]


def explorers(nb):
    """Yield each explorer's cell and data, of a notebook."""
    for cell in nb.cells:
        for data in explorers_of(cell):
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
    for colors in (128, 64, 48, 32, 24, 16):
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


def front():
    """Return the README's picture: speed and memory of a step, as notebook 00 draws
    them.
    """
    import pandas as pd  # late: the figures load TensorFlow, which no check needs

    from course_utils.figures.base import Picture, name_all, panels
    from course_utils.figures.looks import bar_looks
    from course_utils.figures.series import around_one, beside

    record = json.loads(RECORD.read_text(encoding="utf-8"))
    steps = pd.DataFrame(record["cnn"])
    names = [policy.removeprefix("mixed_") for policy in steps["policy"]]
    # narrow: on a phone its letters stay as large as the text beside it
    figure, (speed, memory) = panels(1, 4.4, 3.8, rows=2)
    rows = range(len(names))
    speed.barh(rows, steps["speedup"] - 1, 0.66, left=1, **bar_looks(names))
    around_one(speed, steps["speedup"])
    memory.barh(rows, steps["peak_mb"], 0.66, **bar_looks(names))
    memory.invert_yaxis()
    times = []
    peaks = []
    for y, (name, step) in enumerate(zip(names, record["cnn"], strict=True)):
        beside(speed, y, "1×" if name == "float32" else f"{step['speedup']:.2f}×")
        beside(memory, y, f"{step['peak_mb']:.0f} MB")
        if name != "float32":
            times.append(f"{name} {step['speedup']:.2f}")
        peaks.append(f"{name} {step['peak_mb']:.0f}")
    for ax in (speed, memory):
        name_all(ax.yaxis, names, fontsize=11)
    look = {"fontsize": 11, "loc": "left"}
    speed.set_title("Speed of a training step, against float32", pad=18, **look)
    memory.set_title("Memory: peak of a step, in MB", **look)
    words = f"Times as fast as float32: {', '.join(times)}."
    return Picture(figure, f"{words} Peak of memory in MB: {', '.join(peaks)}.")


def write():
    """Draw the README's picture."""
    FRONT.write_bytes(front().png())
