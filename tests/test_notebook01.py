"""What notebook 01 promises of itself."""

import pytest

from course_utils import formats
from tools.canonical import COURSE, code_cells, read, tags_of

NOTEBOOK = read(COURSE / "notebooks/01_floats.ipynb")
CORE = {"float32", "bfloat16", "float16"}


@pytest.mark.parametrize(
    "name", sorted(set(formats.FORMATS) - CORE) + ["stochastic", "saturate"]
)
def test_the_core_needs_three_formats_and_one_rounding(name):
    """The table and nothing else shows the others before the sections called going
    further.
    """
    for cell in code_cells(NOTEBOOK):
        if name in cell.source:
            assert "going-further" in tags_of(cell), cell.id
