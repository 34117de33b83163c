"""A small table of text, which shows itself in a notebook and in a terminal."""

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows of text, shown as an HTML table or as aligned columns.

    Attributes:
        title, note: a line above and one below.
        header: the names of the columns.
        rows: tuples of text.

    Example: `exercises.progress()` is one.
    """

    title: str
    header: tuple
    rows: list
    note: str

    def __repr__(self):
        table = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        return "\n".join([self.title, *lines, self.note])

    def _repr_html_(self):
        def line(cells, tag):
            style = "text-align: left; vertical-align: top"
            cells = (f'<{tag} style="{style}">{html.escape(c)}</{tag}>' for c in cells)
            return f"<tr>{''.join(cells)}</tr>"

        head, body = line(self.header, "th"), "".join(line(row, "td") for row in self.rows)
        table = f'<table style="color: inherit"><thead>{head}</thead><tbody>{body}</tbody></table>'
        title, note = html.escape(self.title), html.escape(self.note)
        return f"<div><strong>{title}</strong>{table}{note}</div>"
