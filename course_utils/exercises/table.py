"""A table of texts, as a notebook and a terminal show it."""

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Tuples of text under a header, between a title and a note: HTML or aligned
    columns.

    Example: `exercises.progress()` is one.
    """

    title: str
    header: tuple
    rows: list
    note: str

    def __repr__(self):
        # late: it loads NumPy and gfloat
        from course_utils.explorers.fragment import plain_table

        return f"{plain_table(self.title, [self.header, *self.rows])}\n{self.note}"

    def _repr_html_(self):
        def line(cells, tag):
            style = "text-align: left; vertical-align: top"
            cells = (f'<{tag} style="{style}">{html.escape(c)}</{tag}>' for c in cells)
            return f"<tr>{''.join(cells)}</tr>"

        head = line(self.header, "th")
        body = "".join(line(row, "td") for row in self.rows)
        table = f'<table style="color: inherit"><thead>{head}</thead><tbody>{body}</tbody></table>'
        title = html.escape(self.title)
        note = html.escape(self.note)
        return f"<div><strong>{title}</strong>{table}{note}</div>"
