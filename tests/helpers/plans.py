"""The plans of notebook 10 as its solved copy has measured them."""

import re

import pandas as pd

from tools.canonical_form import COURSE, read


def solved():
    """Its solved copy."""
    return read(COURSE / "notebooks" / "solved" / "10_capstone.ipynb")


def recorded() -> pd.DataFrame:
    """The table below its section 5: a row for each plan, with bits, MB and times."""
    (again,) = (cell for cell in solved().cells if cell.id == "again")
    (text,) = (
        output.data["text/plain"]
        for output in again.outputs
        if output.output_type == "execute_result"
    )
    head, *lines = text.splitlines()
    columns = re.split(r"\s{2,}", head.strip())
    rows = [line.rsplit(maxsplit=len(columns)) for line in lines if line.strip()]
    numbers = [[float(value) for value in values] for _, *values in rows]
    return pd.DataFrame(numbers, [name.strip() for name, *_ in rows], columns)
