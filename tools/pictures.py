"""Write the README's pictures, of what the site shows: `python -m tools.pictures SITE`.

Two explorers as a browser draws them, and two figures that the solved notebooks store.
"""

import base64
import io
import sys
from pathlib import Path

import nbformat
from PIL import Image
from playwright.sync_api import sync_playwright

COURSE = Path(__file__).resolve().parents[1]
sys.path.append(str(COURSE / "tests" / "browser"))

from harness import FLAGS, find_chromium  # noqa: E402

from tools.site import PICTURED  # noqa: E402

OUT = COURSE / "docs" / "pictures"
# Of an explorer the part from its top that says enough: pixels.
EXPLORERS = {"floatlab": ("01_floats", 655), "scalescope": ("02_loss_scaling", 545)}
FIGURES = {"speed": "00_start_here", "hang": "07_devices"}


def save(name, picture):
    """Write a picture with 128 colors at most."""
    picture.quantize(128).save(OUT / f"{name}.png", optimize=True)


def main():
    """Write all of them."""
    OUT.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=FLAGS
        )
        page = browser.new_page(
            viewport={"width": 1200, "height": 2400}, device_scale_factor=2
        )
        for name, (notebook, height) in EXPLORERS.items():
            page.goto(
                (Path(sys.argv[1]).resolve() / f"notebooks/{notebook}.html").as_uri()
            )
            box = page.locator(f"[data-{name}]").first.bounding_box() | {
                "height": height
            }
            shot = page.screenshot(clip=box, full_page=True)
            save(name, Image.open(io.BytesIO(shot)).convert("RGB"))
    for name, notebook in FIGURES.items():
        nb = nbformat.read(COURSE / f"notebooks/solved/{notebook}.ipynb", 4)
        cell = next(cell for cell in nb.cells if cell.id == PICTURED[notebook])
        data = next(
            o.data["image/png"]
            for o in cell.outputs
            if "image/png" in o.get("data", {})
        )
        save(name, Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"))


if __name__ == "__main__":
    sys.exit(main())
