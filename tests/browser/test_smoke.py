"""The harness itself, on a small notebook: what the tests of the course's notebooks rely on."""

import nbformat
import pytest
from look import look
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from PIL import Image

pytestmark = pytest.mark.browser

FIGURE = """\
import matplotlib.pyplot as plt
plt.plot([1, 2, 3])
plt.show()"""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(**sources):
    cells = [new_markdown_cell("# A small notebook", id="title")]
    cells += [new_code_cell(source, id=id) for id, source in sources.items()]
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


@pytest.fixture
def opened(lab):
    """A function that opens a notebook made of these code cells."""

    def open_cells(theme="light", **sources):
        lab.write("notebooks/small.ipynb", notebook(**sources))
        lab.open("notebooks/small.ipynb", theme)
        return lab

    return open_cells


def test_run_all_shows_every_output(opened):
    lab = opened(
        first="print(6 * 7)",
        second="import os; os.environ['COURSE_PROGRESS']",
        here="print(os.getcwd())",
    )
    lab.run_all()
    assert lab.text("first") == "42"
    assert lab.outputs("first") == [{"output_type": "stream", "name": "stdout", "text": "42\n"}]
    assert str(lab.server.progress) in lab.text("second")
    assert lab.text("title") == "A small notebook"
    assert lab.run("here") == str(lab.server.root / "notebooks")  # not the checkout
    assert lab.errors == []


def test_run_all_names_the_cell_that_raises(opened):
    lab = opened(good="1", bad="1 / 0", after="2")
    with pytest.raises(AssertionError, match="bad: ZeroDivisionError: division by zero"):
        lab.run_all()


def test_requests_to_other_hosts_are_noticed(opened):
    picture = "from IPython.display import HTML\nHTML('<img src=\"https://example.com/x.png\">')"
    lab = opened(home="1", away=picture)
    lab.run("home")
    assert lab.outside == []
    lab.run("away")
    lab.page.wait_for_timeout(500)
    assert set(lab.outside) == {"https://example.com/x.png"}


def test_the_dark_theme_darkens_the_page(opened, tmp_path):
    def corner(theme):
        lab.set_theme(theme)
        lab.screenshot(tmp_path / "page.png")
        return sum(Image.open(tmp_path / "page.png").convert("RGB").getpixel((2, 2)))

    lab = opened(theme="dark", one="1")
    assert corner("dark") < 200 < 600 < corner("light")


def test_look_saves_slices_and_figures_in_both_themes(jupyterlab, tmp_path):
    cells = notebook(figure=FIGURE, long="print('line\\n' * 200)")
    (jupyterlab.root / "notebooks/tall.ipynb").write_text(nbformat.writes(cells))
    paths = look(jupyterlab, "notebooks/tall.ipynb", tmp_path, ["light", "dark"], run=True)
    names = [path.name for path in paths]
    assert {"tall-light-01.png", "tall-light-03.png", "tall-dark-figure-1.png"} <= set(names)
    heights = [Image.open(path).size[1] for path in paths if "figure" not in path.name]
    assert max(heights) <= 1600 and sum(heights) > 2 * 3000
