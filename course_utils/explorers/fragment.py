"""An explorer as one self-contained piece of HTML, which asks nothing of the network.

The host element holds a static table, which is all that an untrusted notebook shows, and the data
as JSON. One script, after the host, finds its hosts by their attribute and builds the interactive
part in a shadow root. It uses no ids, and the same arguments give the same text.
"""

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent
# What JavaScript can do without: indentation, and comments with a line of their own. The files
# hold no text that goes on in a next line (a test sees to it), so that nothing else matches.
INDENT = re.compile(r"^[ \t]*(?://.*\n)?", re.MULTILINE)
# What CSS can: blanks and comments are one blank, and none at {};, but a string stays as it is.
BLANK = r"(?:\s|/\*(?>.*?\*/))"
LOOSE = re.compile(
    rf"""(?P<string>"[^"\n]*"|'[^'\n]*')|{BLANK}*+(?P<mark>[{{}};,]){BLANK}*+|{BLANK}++""",
    re.DOTALL,
)


def assemble(name: str, static: str, data: dict, scripts: list[str], styles: list[str]) -> str:
    """Put an explorer together.

    Args:
        name: the hosts carry the attribute `data-<name>`; the last script looks for it.
        static: HTML to show before the script runs, and where none may run. It is not escaped.
        data: what the script reads from the host's JSON.
        scripts: names of JavaScript files in this folder. They share one function's scope, in
            this order, in which the constant `CSS` is the text of the styles.
        styles: names of CSS files, for the shadow root.

    Returns:
        HTML.

    Example:
        >>> assemble("note", "<p>65504</p>", {"entry": "</script>"}, [], []).splitlines()[2]
        '<script type="application/json">{"entry": "\\\\u003c/script>"}</script>'
    """
    css = "".join(LOOSE.sub(_tight, _read(style)) for style in styles)
    code = "".join(INDENT.sub("", _read(script)) for script in scripts)
    return (
        f'<div data-{name}>\n{static}\n<script type="application/json">{_json(data)}</script>\n'
        f'</div>\n<script>\n(() => {{\n"use strict";\nconst CSS = {_json(css)};\n{code}}})();\n'
        "</script>\n"
    )


def _json(value):
    """JSON that cannot end the script it stands in: every "<" is written as an escape."""
    return json.dumps(value).replace("<", "\\u003c")


def _tight(found):
    return found["string"] or found["mark"] or " "


def _read(name):
    return (FOLDER / name).read_text(encoding="utf-8")
