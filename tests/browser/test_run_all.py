"""The notebooks as pages: the first one run, as the README begins, and all of them as
they are stored, with outputs. Others are run in a page by test_panels.py.

That a second Run All raises nothing is held without a browser, by `make pins`.
"""

import json
import re
from pathlib import Path

import pytest
from harness import NOTEBOOK, browsing
from playwright.sync_api import sync_playwright

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("solved/*.ipynb"))
# What the page shows of each output: pictures that did not load, errors, words.
SHOWN = """
const areas = [...panel.content.node.querySelectorAll('.jp-OutputArea-output')];
const images = areas.flatMap(a => [...a.querySelectorAll('img')]);
return {text: areas.map(a => a.innerText).join('\\n'), images: images.length,
        broken: images.filter(i => !i.complete || i.naturalWidth === 0).length,
        errors: cells.flatMap(c => c.model.outputs?.toJSON() ?? [])
          .filter(o => o.output_type === 'error').length};
"""
# Which cells are in the page: all of them, or those in sight.
WINDOWING = """
panel.content.notebookConfig = {...panel.content.notebookConfig, windowingMode: argument};
"""


def measure_as_the_readme_says(lab):
    """Do what it says for a first measurement, word for word; return the cell's id."""
    readme = (NOTEBOOKS.parent / "README.md").read_text(encoding="utf-8")
    section, menu, item, key = re.search(
        r"scroll the last code cell of section (\d) to the top and click in it\. "
        r"Choose \*(\w+), (.+?)\*, and press (.+?)\. ",
        readme,
    ).groups()
    text = (NOTEBOOKS / "00_start_here.ipynb").read_text(encoding="utf-8")
    number = ""
    for cell in json.loads(text)["cells"]:
        if heading := re.match(r"## (\d?)", "".join(cell["source"])):
            number = heading[1]
        elif cell["cell_type"] == "code" and number == section:
            measuring = cell["id"]
    for _ in range(20):  # the cells above are laid out as they come in sight
        lab.js("find(argument).node.scrollIntoView()", measuring)
        lab.page.wait_for_timeout(300)
        top = "find(argument).node.getBoundingClientRect().top"
        if (
            lab.js(
                f"return {top} - panel.content.node.getBoundingClientRect().top",
                measuring,
            )
            < 20
        ):
            break
    lab.page.locator(f'[data-cell-id="{measuring}"] .cm-line').first.click()
    lab.page.locator(".lm-MenuBar-item", has_text=menu).click()
    lab.page.get_by_text(item, exact=True).click()
    lab.page.keyboard.press(key.replace("Ctrl", "Control"))
    lab.wait_for(700, measuring)
    return measuring


@pytest.mark.timeout(900)
def test_run_all_in_a_page(lab):
    """No error, no console error, nothing asked of another host, and no widget that is
    gone tomorrow. The README's first measurement ends with the bars on the screen.
    """
    lab.open("notebooks/00_start_here.ipynb")
    lab.page.set_viewport_size({"width": 1280, "height": 800})
    lab.js(WINDOWING, "contentVisibility")  # as it is before anybody sets it
    measuring = measure_as_the_readme_says(lab)
    for _ in range(20):  # on a busy machine the page is laid out late
        picture = lab.output(measuring).locator("img").bounding_box()
        window = lab.page.locator(NOTEBOOK).bounding_box()
        bars_end = picture["y"] + picture["height"] / 2  # below them stand the losses
        if bars_end <= window["y"] + window["height"]:
            break
        lab.page.wait_for_timeout(1000)
    assert window["y"] <= picture["y"]
    assert bars_end <= window["y"] + window["height"]
    lab.js(WINDOWING, "none")
    seen = lab.text(measuring)
    assert "batch" in seen and "guess" not in seen
    lab.js(
        "panel.content.activeCellIndex = cells.indexOf(find(argument)) + 1", measuring
    )
    lab.js("app.commands.execute('notebook:run-all-below');")
    lab.wait_for(700)
    assert lab.errors == []
    assert set(lab.outside) == set()
    assert "No guess yet" in lab.text("prediction")
    assert "Not attempted yet" in lab.text("exercise-1")
    lab.come_back()
    assert "Not attempted yet" in lab.text("exercise-1")
    assert not lab.page.get_by_text("Error displaying widget").count()
    # and a request would have been seen
    lab.js("await fetch('https://example.com').catch(() => null)")
    assert lab.outside == ["https://example.com/"]


@pytest.fixture(scope="module")
def reader(jupyterlab):
    """A window for all notebooks, one after the other."""
    with sync_playwright() as playwright, browsing(playwright, jupyterlab) as lab:
        lab.open("notebooks/00_start_here.ipynb")
        yield lab


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_notebook_shows_its_outputs(name, reader):
    """As a reader meets it who runs nothing: pictures, their words, answers, no
    request.
    """
    lab = reader
    lab.turn_to(f"notebooks/solved/{name}.ipynb")
    shown = lab.js(SHOWN)
    assert lab.errors == []
    assert set(lab.outside) == set()
    stored = (NOTEBOOKS / f"solved/{name}.ipynb").read_text(encoding="utf-8")
    assert (shown["errors"], shown["broken"]) == (0, 0)
    kinds = ('"image/png": "', "data:image/svg+xml;base64", "<img data-of=")
    assert shown["images"] == sum(map(stored.count, kinds))
    assert "Correct." in shown["text"] or "check(" not in stored
    assert (
        name[:2] != "01" or "You guessed 10,000 for ten thousand ones" in shown["text"]
    )
