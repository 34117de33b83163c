"""An explorer as one self-contained piece of HTML, which asks nothing of the network.

The host element holds a static table, which is all that an untrusted notebook shows (it
keeps tables and literal inline styles, and drops style elements, variables and
attributes of one's own), and the data as JSON. One script, after the host, finds its
hosts by their attribute and builds the interactive part in a shadow root. It uses no
ids, and the same arguments give the same text.
"""

import json
import re
from html import escape
from pathlib import Path

CAPTION = "text-align:left;padding:3px 8px"
CELL = "text-align:left;padding:3px 8px;border:1px solid #888888"
FOLDER = Path(__file__).parent
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+\.mjs)";\n', re.MULTILINE)
# What modules and styles can do without: indentation, empty lines and comments. No text
# in them goes on in a next line, or has two slashes behind a blank.
LOOSE = re.compile(
    r"^[ \t]*(?:\n|//.*\n|/\*.*\*/\n)?|[ \t]+(?://.*|/\*.*\*/)$", re.MULTILINE
)


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
        name: of the module in this folder; the hosts carry the attribute `data-<name>`. All modules
            that it needs share one function's scope, in which the constant `CSS` is the text of
            the styles: shared.css, and that of every module that has one of its name.
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
    needed = modules(f"{name}.mjs")
    styles = (
        FOLDER / style.replace(".mjs", ".css") for style in ("shared.css", *needed)
    )
    css = "".join(LOOSE.sub("", _read(style)) for style in styles if style.exists())
    code = "".join(IMPORT.sub("", _read(module)) for module in needed)
    code = LOOSE.sub("", re.sub("^export ", "", code, flags=re.MULTILINE))
    inside = f'"use strict";\nconst CSS = {_json(css)};\n{code}'
    return f"<script>\n(() => {{\n{inside}}})();\n</script>\n"


def modules(name: str) -> list[str]:
    """A module's file and those of all that it imports, each after what it needs
    itself.

    Example:
        >>> modules("codec.mjs")
        ['digits.mjs', 'codec.mjs']
    """
    needed = (
        module for other in IMPORT.findall(_read(name)) for module in modules(other)
    )
    return list(dict.fromkeys([*needed, name]))


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


def _read(name):
    return (FOLDER / name).read_text(encoding="utf-8")
