"""The README's pictures: explorers as a browser draws them, and stored figures.

`python -m tools.site --pictures SITE` writes them into docs/pictures.
"""

import base64
import io
import sys
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


def save(name, picture):
    """Write a picture with 128 colors at most."""
    picture.quantize(128).save(OUT / f"{name}.png", optimize=True)


def write(site):
    """Write all of them, of what this folder's pages and the solved notebooks show."""
    from playwright.sync_api import sync_playwright

    sys.path.append(str(COURSE / "tests" / "browser"))
    from harness import FLAGS, find_chromium

    OUT.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=FLAGS
        )
        page = browser.new_page(
            viewport={"width": 1200, "height": 2400}, device_scale_factor=2
        )
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
