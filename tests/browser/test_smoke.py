"""The harness itself, on a small notebook: what the tests of the course's notebooks rely on."""

import pytest
from look import slices
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image

pytestmark = pytest.mark.browser

PICTURE = "from IPython.display import HTML\nHTML('<img src=\"https://example.com/x.png\">')"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(**sources):
    cells = [new_code_cell(source, id=id) for id, source in sources.items()]
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def test_run_all_names_the_cell_that_raises_and_other_hosts_are_noticed(lab):
    here = "import os; print(os.getcwd())"
    lab.write("notebooks/small.ipynb", notebook(here=here, away=PICTURE, bad="1 / 0", after="2"))
    lab.open("notebooks/small.ipynb")
    assert lab.run("here") == str(lab.server.root / "notebooks")  # not the checkout
    assert lab.outside == []
    with pytest.raises(AssertionError, match="bad: ZeroDivisionError: division by zero"):
        lab.run_all()
    lab.page.wait_for_timeout(500)
    assert set(lab.outside) == {"https://example.com/x.png"}


def test_slices_reach_from_top_to_bottom_and_are_dark_in_the_dark_theme(lab, tmp_path):
    lab.write("notebooks/tall.ipynb", notebook(long="print('line\\n' * 200)"))
    lab.open("notebooks/tall.ipynb")
    lab.run_all()
    corner = {}
    for theme in ("light", "dark"):
        lab.set_theme(theme)
        pictures = [Image.open(path).convert("L") for path in slices(lab, tmp_path, theme)]
        heights = [picture.size[1] for picture in pictures]
        assert max(heights) <= 1600 and sum(heights) > 3000
        corner[theme] = pictures[0].getpixel((2, 2))
    assert corner["dark"] < 70 < 200 < corner["light"]
