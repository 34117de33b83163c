"""What shows of an explorer without JavaScript: its numbers as a table, and as aligned text.

An untrusted notebook keeps tables and literal inline styles, and drops style elements, variables
and attributes of one's own.
"""

from html import escape

CAPTION = "text-align:left;padding:3px 8px"
CELL = "text-align:left;padding:3px 8px;border:1px solid #888888"


def html_table(title: str, heads: list[str], rows: list[list[str]]) -> str:
    """A table as HTML; `title` and `heads` are text, a row is a head in HTML and its `cell`s."""
    head = "".join(f'<th scope="col" style="{CELL}">{escape(text)}</th>' for text in heads)
    body = "\n".join(
        f'<tr><th scope="row" style="{CELL}">{first}</th>{"".join(cells)}</tr>'
        for first, *cells in rows
    )
    return (
        f'<table style="border-collapse:collapse">\n<caption style="{CAPTION}">{escape(title)}'
        f"</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def cell(content: str, style: str = CELL, span: int = 1) -> str:
    """A cell of HTML, over so many columns."""
    over = f' colspan="{span}"' if span > 1 else ""
    return f'<td{over} style="{style}">{content}</td>'


def plain_table(title: str, lines: list[list[str]]) -> str:
    """Lines of cells, aligned below a title."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([title, *texts])
