"""The code of mixed precision in five libraries, side by side: the table in data/migration.json.

    from course_utils import migration

    migration.table()                    # from tf.keras to Keras 3
    migration.table("Keras 3", "JAX")    # columns of your choice

`tests/tools/run_migration.py` runs every line of it, and writes the file.
"""

import html
import json
import textwrap
from pathlib import Path

from course_utils.table import Table

DATA = Path(__file__).resolve().parent.parent / "data" / "migration.json"
DEFAULT = ("TF 2.4–2.15", "Keras 3")
WIDTH = 50  # of a line in characters: two columns of them fit a notebook


class CodeTable(Table):
    """A table whose cells are lines of code: line breaks and indents are kept.

    In a terminal, where columns of code do not fit, each row is a list of its cells.
    """

    def __repr__(self):
        lines = [self.title]
        for name, *cells in self.rows:
            lines += ["", name]
            for column, code in zip(self.header[1:], cells, strict=True):
                lines += [f"  {column}", textwrap.indent(code, "      ")]
        return "\n".join([*lines, "", self.note])

    def _repr_html_(self):
        # The cells carry their style, for JupyterLab's sets tables to the right and joins lines.
        style = "text-align: left; vertical-align: top"
        code = f"{style}; white-space: pre; font: 0.9em monospace"

        def cell(tag, style, text):
            return f'<{tag} style="{style}">{html.escape(text)}</{tag}>'

        head = "".join(cell("th", style, column) for column in self.header)
        body = "".join(
            f"<tr>{cell('td', style, name)}{''.join(cell('td', code, c) for c in cells)}</tr>"
            for name, *cells in self.rows
        )
        title, note = html.escape(self.title), html.escape(self.note)
        return (
            f'<div style="overflow-x: auto"><strong>{title}</strong>'
            f'<table style="color: inherit"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table>{note}</div>"
        )


def table(*columns: str) -> CodeTable:
    """What one does with mixed precision, a row each, and the code for it, a column per library.

    Args:
        columns: of "TF 2.3", "TF 2.4–2.15", "Keras 3", "PyTorch" and "JAX"; without any,
            TF 2.4–2.15 and Keras 3. Two fit the width of a notebook.

    Returns:
        A `course_utils.table.Table` of text. Remarks stand below the code as comments, and so
        does a mark where the code was read in the documentation and not run.

    Raises:
        ValueError: there is no such column; the message names those that there are.

    Example: `migration.table("Keras 3", "PyTorch")`
    """
    data = json.loads(DATA.read_text(encoding="utf-8"))
    for column in columns:
        if column not in data["columns"]:
            names = ", ".join(data["columns"])
            raise ValueError(f"There is no column {column!r}: choose of {names}.")
    columns = tuple(dict.fromkeys(columns)) or DEFAULT
    rows = [
        (row["row"], *(_shown(row["cells"][column]) for column in columns)) for row in data["rows"]
    ]
    said = " ".join(_said(data, column) for column in columns)
    others = ", ".join(repr(name) for name in data["columns"] if name not in columns)
    more = f" Other columns: migration.table({others})." if others else ""
    return CodeTable("One task, several libraries", ("task", *columns), rows, said + more)


def _shown(cell):
    remarks = [cell["note"]] if cell["note"] else []
    if cell["checked"] != "run":
        remarks.append("Documented, not run here.")
    lines = (line for remark in remarks for line in textwrap.wrap(remark, WIDTH - 2))
    return "\n".join([cell["code"], *(f"# {line}" for line in lines)])


def _said(data, column):
    runs = {row["cells"][column]["with"] for row in data["rows"]}
    return f"{column} ({data['columns'][column]}): run with {'; '.join(sorted(runs))}."
