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
    """Return the README's picture: time and memory of a step, float32 being 1."""
    import pandas as pd  # late: the figures load TensorFlow, which no check needs

    from course_utils.figures.base import INK, Picture, canvas, legend
    from course_utils.figures.looks import bar_look

    record = json.loads(RECORD.read_text(encoding="utf-8"))
    steps = pd.DataFrame(record["cnn"]).set_index("policy")
    of = {"time of\na step": "step_ms", "peak of\nmemory": "peak_mb"}
    table = pd.DataFrame({name: steps[key] for name, key in of.items()})
    table /= table.loc["float32"]
    # narrow: on a phone its letters stay as large as the text beside it
    figure, ax = canvas(4.4, 3.4)
    for number, (policy, row) in enumerate(table.iterrows()):
        at = [place + 0.26 * (number - 1) for place in range(len(row))]
        ax.barh(at, row, 0.26, label=policy, **bar_look(policy))
    ax.set_yticks(range(len(of)), of)
    ax.invert_yaxis()
    for bars in ax.containers:
        ax.bar_label(bars, fmt="{:.2f}×", padding=4, fontsize=11, color=INK)
    ax.set_xlim(0, 1.2 * table.to_numpy().max())
    ax.set_title("A training step, against float32", size=12)
    legend(ax, fontsize=10, loc="lower right")
    said = [
        f"{name}: " + ", ".join(f"{dtype} {row[dtype]:.2f}" for dtype in row.index[1:])
        for name, row in table.T.iterrows()
    ]
    words = ". ".join(said).replace("\n", " ").replace("mixed_", "")
    return Picture(figure, f"Against float32, {words}.")


def write():
    """Draw the README's picture."""
    FRONT.write_bytes(front().png())
