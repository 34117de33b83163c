"""The harness itself, on a small notebook: what the tests of the course's notebooks rely on."""

import pytest
from canonical import METADATA
from look import SLICE, slices
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image

pytestmark = pytest.mark.browser

PICTURE = "from IPython.display import HTML\nHTML('<img src=\"https://example.com/x.png\">')"


def test_a_notebook_is_run_watched_and_drawn(lab, tmp_path):
    sources = {"here": "import os; print(os.getcwd())", "long": "print('line\\n' * 200)"}
    sources |= {"away": PICTURE, "bad": "1 / 0"}
    cells = [new_code_cell(source, id=id) for id, source in sources.items()]
    lab.write("notebooks/small.ipynb", new_notebook(cells=cells, metadata=METADATA))
    lab.open("notebooks/small.ipynb")
    assert lab.run("here") == str(lab.server.root / "notebooks")  # not the checkout
    assert lab.outside == []
    with pytest.raises(AssertionError, match="bad: ZeroDivisionError: division by zero"):
        lab.run_all()
    lab.page.wait_for_timeout(500)
    assert set(lab.outside) == {"https://example.com/x.png"}
    for theme, shade in {"light": (200, 256), "dark": (0, 70)}.items():
        lab.set_theme(theme)
        pictures = [Image.open(path).convert("L") for path in slices(lab, tmp_path, theme)]
        assert pictures[0].getpixel((2, 2)) in range(*shade)
        heights = [picture.height for picture in pictures]
        assert max(heights) <= SLICE and sum(heights) > 3000
