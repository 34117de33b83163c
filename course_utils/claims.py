"""What widely read articles say, and what the course found: the ledger in
data/claims.json.
"""

from collections import Counter
from operator import itemgetter

from course_utils import paths
from course_utils.exercises.table import Table

LEDGER = paths.data("claims.json")


def _ledger():
    return paths.read(LEDGER)


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
