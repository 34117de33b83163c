"""An explorer as one self-contained piece of HTML, which asks nothing of the network.

The host element holds a static table, which is all that an untrusted notebook shows (it
keeps tables and literal inline styles, and drops style elements, variables and
attributes of one's own), and the data as JSON. One script, after the host, finds its
hosts by their attribute and builds the interactive part in a shadow root. It uses no
ids, and the same arguments give the same text.
"""

import json
from html import escape
from pathlib import Path

CAPTION = "text-align:left;padding:3px 8px"
CELL = "text-align:left;padding:3px 8px;border:1px solid #888888"
# What tools.explorers makes of the modules and styles beside this file.
BUILT = Path(__file__).parent / "built"


def bundle(
    name: str, title: str, heads: list[str], rows: list[list[str]], data: dict
) -> dict:
    """An explorer as a notebook shows it, if its static table is one of texts; see
    `assemble`.
    """
    cells = [
        [escape(first), *(cell(escape(text)) for text in texts)]
        for first, *texts in rows
    ]
    html = assemble(name, html_table(title, heads, cells), data)
    return {"text/html": html, "text/plain": plain_table(title, [heads, *rows])}


def assemble(name: str, static: str, data: dict) -> str:
    """Put an explorer together, as HTML.

    Args:
        name: of the module in this folder; the hosts carry the attribute `data-<name>`.
        static: HTML to show before the script runs, and where none may run. It is not escaped.
        data: what the script reads from the host's JSON.
    """
    return (
        f'<div data-{name}>\n{static}\n<script type="application/json">{_json(data)}</script>\n'
        f"</div>\n{script(name)}"
    )


def script(name: str) -> str:
    """The script that makes an explorer of each of its hosts, as HTML: the same for all
    of them.
    """
    return (BUILT / f"{name}.html").read_text(encoding="utf-8")


def html_table(title: str, heads: list[str], rows: list[list[str]]) -> str:
    """A table as HTML; `title` and `heads` are text, a row is a head in HTML and its
    `cell`s.
    """
    head = "".join(
        f'<th scope="col" style="{CELL}">{escape(text)}</th>' for text in heads
    )
    body = "\n".join(
        f'<tr><th scope="row" style="{CELL}">{first}</th>{"".join(cells)}</tr>'
        for first, *cells in rows
    )
    return (
        f'<table style="border-collapse:collapse">\n<caption style="{CAPTION}">{escape(title)}'
        f"</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def cell(content: str, style: str = CELL) -> str:
    """A cell of HTML."""
    return f'<td style="{style}">{content}</td>'


def plain_table(title: str, lines: list) -> str:
    """Lines of cells, aligned below a title."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([title, *texts])


def _json(value):
    """JSON that cannot end the script it stands in: every "<" is written as an escape."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
