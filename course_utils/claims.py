"""What widely read articles say, and what the course found: the ledger in
data/claims.json.
"""

import html
import json
from collections import Counter
from dataclasses import dataclass
from operator import itemgetter

from course_utils import paths

LEDGER = paths.data("claims.json")


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


def _ledger():
    return json.loads(LEDGER.read_text(encoding="utf-8"))


def settled(*notebooks: str) -> Table:
    """The claims that notebooks settle, given by number; ValueError for one that
    settles none.

    Example: `claims.settled("01")`
    """
    ledger = _ledger()
    numbers = sorted({claim["notebook"][:2] for claim in ledger})
    if not notebooks or not set(notebooks) <= set(numbers):
        raise ValueError(
            f"Give the numbers of notebooks as text, of {', '.join(numbers)}."
        )
    rows = [
        (claim["claim"], claim["verdict"], claim["note"])
        for claim in ledger
        if claim["notebook"].startswith(notebooks)
    ]
    where = "Each verdict stands on a cell, of the core or going further"
    note = f"{where}: measured there, or published and cited."
    return Table(
        "What articles say", ("claim", "verdict", "what the cells show"), rows, note
    )


def page(notebooks: str) -> str:
    """The ledger as a page of Markdown, with links to cells in the folder of the notebooks.

    Example: `claims.page("../notebooks/solved")` is docs/ledger.md.
    """
    verdicts = Counter(claim["verdict"] for claim in _ledger())
    count = ", ".join(f"{n} × {verdict}" for verdict, n in verdicts.most_common())
    lines = [
        "# The ledger",
        "",
        "What widely read articles say, and what the cells show.",
        "",
        f"{count}.",
        "",
        "| claim | verdict | what the cells show | where |",
        "|---|---|---|---|",
    ]
    for claim in sorted(_ledger(), key=itemgetter("id")):
        claim = {
            key: " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;")
            for key, text in claim.items()
        }
        where = "[{notebook:.2}, `{cell}`]({folder}/{notebook}#cell-id={cell})"
        line = f"| {{claim}} | {{verdict}} | {{note}} | {where} |"
        lines.append(line.format(folder=notebooks, **claim))
    return "\n".join(lines) + "\n"
