"""The notebooks as pages: the first one run, and all of them as they are stored, with
outputs. Others are run in a page by test_panels.py.

That a second Run All raises nothing is held without a browser, by `make pins`.
"""

from pathlib import Path

import pytest

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


@pytest.mark.timeout(900)
def test_run_all_in_a_page(lab):
    """No error, no console error, nothing asked of another host, and no widget that is
    gone tomorrow.
    """
    lab.open("notebooks/00_start_here.ipynb")
    lab.run_all(timeout=700)
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


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_notebook_shows_its_outputs(name, lab):
    """As a reader meets it who runs nothing: pictures, their words, answers, no
    request.
    """
    lab.open(f"notebooks/solved/{name}.ipynb")
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
