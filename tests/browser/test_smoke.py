"""The harness itself, on a small notebook: what the tests of the course's notebooks rely on."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.browser

PICTURE = "from IPython.display import HTML\nHTML('<img src=\"https://example.com/x.png\">')"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def test_run_all_names_the_cell_that_raises_and_other_hosts_are_noticed(lab):
    sources = {"here": "import os; print(os.getcwd())", "away": PICTURE, "bad": "1 / 0"}
    cells = [new_code_cell(source, id=id) for id, source in sources.items()]
    lab.write("notebooks/small.ipynb", new_notebook(cells=cells, metadata={"kernelspec": KERNEL}))
    lab.open("notebooks/small.ipynb")
    assert lab.run("here") == str(lab.server.root / "notebooks")  # not the checkout
    assert lab.outside == []
    with pytest.raises(AssertionError, match="bad: ZeroDivisionError: division by zero"):
        lab.run_all()
    lab.page.wait_for_timeout(500)
    assert set(lab.outside) == {"https://example.com/x.png"}
