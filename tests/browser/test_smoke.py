"""The harness itself, on a small notebook: what the tests of the course's notebooks
rely on.
"""

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tools.canonical import METADATA

pytestmark = pytest.mark.browser

PICTURE = (
    "from IPython.display import HTML\nHTML('<img src=\"https://example.com/x.png\">')"
)


def test_a_notebook_is_run_and_watched(lab):
    sources = {"here": "import os; print(os.getcwd())", "away": PICTURE, "bad": "1 / 0"}
    cells = [new_code_cell(source, id=id) for id, source in sources.items()]
    lab.write("notebooks/small.ipynb", new_notebook(cells=cells, metadata=METADATA))
    lab.open("notebooks/small.ipynb")
    assert lab.run("here") == str(lab.server.root / "notebooks")  # not the checkout
    assert lab.outside == []
    with pytest.raises(
        AssertionError, match="bad: ZeroDivisionError: division by zero"
    ):
        lab.run_all()
    lab.page.wait_for_timeout(500)
    assert set(lab.outside) == {"https://example.com/x.png"}
