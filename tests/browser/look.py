"""Save pictures of a notebook as JupyterLab shows it, to be looked at.

    python tests/browser/look.py notebooks/00_start_here.ipynb DIR

Writes NAME-THEME-01.png, -02.png, … from top to bottom, in the light and in the dark
theme. A blank notebook is run first.
"""

import sys
import tempfile
from pathlib import Path

# the tests have it by their settings
sys.path.append(str(Path(__file__).resolve().parents[2]))

from harness import NOTEBOOK, SIZE, browsing  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from server import COURSE, running  # noqa: E402

SLICE = 1600  # pixels


def slices(lab, folder, stem):
    """Save the notebook in pictures of at most SLICE pixels height; return their paths."""
    notebook = lab.page.locator(NOTEBOOK)
    paths = []
    frame = SIZE["height"] - notebook.evaluate("n => n.clientHeight")
    lab.page.set_viewport_size(SIZE | {"height": SLICE + frame})
    lab.page.wait_for_timeout(500)
    total, step = notebook.evaluate("n => [n.scrollHeight, n.clientHeight]")
    for top in range(0, total, step):
        reached = notebook.evaluate("(n, top) => (n.scrollTop = top, n.scrollTop)", top)
        lab.page.wait_for_timeout(200)
        paths.append(folder / f"{stem}-{len(paths) + 1:02}.png")
        box = notebook.bounding_box()
        # the last slice cannot scroll as far: leave out what was seen
        seen = top - reached
        box["y"], box["height"] = box["y"] + seen, box["height"] - seen
        lab.page.screenshot(path=paths[-1], clip=box)
    lab.page.set_viewport_size(SIZE)
    return paths


def main():
    notebook, out = (Path(name).resolve() for name in sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        running(Path(scratch)) as server,
        sync_playwright() as playwright,
        browsing(playwright, server) as lab,
    ):
        lab.open(notebook.relative_to(COURSE))
        if notebook.parent.name != "solved":
            lab.run_all(timeout=1200)
        for theme in ("light", "dark"):
            lab.set_theme(theme)
            print(*slices(lab, out, f"{notebook.stem}-{theme}"), sep="\n")
        print(*lab.errors, *lab.outside, sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
