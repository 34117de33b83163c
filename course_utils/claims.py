"""What widely read articles say, and what the course found: the ledger in data/claims.json."""

import json
from pathlib import Path

from course_utils.table import Table

LEDGER = Path(__file__).resolve().parent.parent / "data" / "claims.json"


def settled(*notebooks: str) -> Table:
    """The claims that notebooks settle, as a table of claim, verdict and note.

    Args:
        notebooks: numbers of notebooks, such as "01".

    Raises:
        ValueError: a notebook that settles none.

    Example: `claims.settled("01")`
    """
    ledger = json.loads(LEDGER.read_text(encoding="utf-8"))
    known = sorted({claim["notebook"][:2] for claim in ledger})
    if not notebooks or not set(notebooks) <= set(known):
        raise ValueError(f"Give the numbers of notebooks as text, of {', '.join(known)}.")
    found = [claim for claim in ledger if claim["notebook"].startswith(notebooks)]
    rows = [(claim["claim"], claim["verdict"], claim["note"]) for claim in found]
    note = "Each verdict stands on a cell that you ran: measured there, or published and cited."
    return Table("What articles say", ("claim", "verdict", "what the cells show"), rows, note)
