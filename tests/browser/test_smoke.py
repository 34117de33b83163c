"""The harness itself, on a small notebook: what the tests of the course's notebooks rely on."""

import nbformat
import pytest
from look import look
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


def test_look_saves_slices_in_both_themes(jupyterlab, tmp_path):
    cells = notebook(long="print('line\\n' * 200)")
    (jupyterlab.root / "notebooks/tall.ipynb").write_text(nbformat.writes(cells))
    paths = look(jupyterlab, "notebooks/tall.ipynb", tmp_path, ["light", "dark"], run=True)
    pictures = {path.stem: Image.open(path).convert("L") for path in paths}
    assert {"tall-light-01", "tall-light-03", "tall-dark-01"} <= set(pictures)
    heights = [picture.size[1] for picture in pictures.values()]
    assert max(heights) <= 1600 and sum(heights) > 2 * 3000
    corner = {name: picture.getpixel((2, 2)) for name, picture in pictures.items()}
    assert corner["tall-dark-01"] < 70 < 200 < corner["tall-light-01"]
