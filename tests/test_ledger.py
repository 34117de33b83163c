"""The claims ledger, data/claims.json: every claim has a verdict and a cell that shows it."""

import json
import re
import sys
from pathlib import Path

import nbformat
import pytest

sys.path.insert(0, str(Path(__file__).parent / "tools"))
from canonical import COURSE, read

from course_utils import claims, formats

LEDGER = COURSE / "data/claims.json"
FIELDS = ["cell", "claim", "id", "note", "notebook", "verdict"]
VERDICTS = {"holds", "holds if", "misleading", "wrong today"}
SETTLED = set(
    "C01 C02 C03 C04 C05 C06 C07 C08 C09 C10 C12 C13 C15 C16 C17 C18 C19 C20 C22 C23 C24 C25"
    " C26 C27 C28 C29 C30 C31 C32 C33 C34 C35 C36 C37 C38 C39 C40 C42 C43 C44 C45 C46 C47 C48"
    " C49 C50 C51 C52 C53 C54 C55 C56 C57 C58".split()
)


def ledger_faults(claims, notebooks):
    """Return what is wrong with a list of claims, given the folder of the notebooks."""
    found, ids = [], [claim.get("id") for claim in claims]
    for place, claim in enumerate(claims):
        id = claim.get("id")
        if sorted(claim) != FIELDS or not all(isinstance(v, str) for v in claim.values()):
            found.append(f"{id}: the fields are {', '.join(FIELDS)}, all text.")
            continue
        if not re.fullmatch(r"C\d\d", id) or id in ids[:place]:
            found.append(f"{id}: an id is C and two digits, once.")
        if not claim["claim"].strip():
            found.append(f"{id}: the claim is empty.")
        if claim["verdict"] not in VERDICTS:
            found.append(f"{id}: the verdict {claim['verdict']!r} is none of {sorted(VERDICTS)}.")
        if claim["verdict"] == "holds if" and not claim["note"].strip():
            found.append(f"{id}: the note has to say on what it depends.")
        path = notebooks / claim["notebook"]
        if path.suffix != ".ipynb" or not path.is_file():
            found.append(f"{id}: there is no notebook {claim['notebook']!r}.")
        elif claim["cell"] not in [cell.get("id") for cell in read(path).cells]:
            found.append(f"{id}: {claim['notebook']} has no cell {claim['cell']!r}.")
    return found


def test_every_claim_has_a_verdict_and_a_cell():
    claims = json.loads(LEDGER.read_text(encoding="utf-8"))
    assert ledger_faults(claims, COURSE / "notebooks") == []
    assert SETTLED <= {claim["id"] for claim in claims}


def test_a_notebook_shows_its_own_claims():
    ledger = json.loads(LEDGER.read_text(encoding="utf-8"))
    table = claims.settled("01")
    wanted = [c["claim"] for c in ledger if c["notebook"].startswith("01")]
    assert [row[0] for row in table.rows] == wanted and len(wanted) == 6
    both = claims.settled("00", "02", "03", "04", "05", "06", "07").rows
    assert len(both) + len(wanted) == len(ledger)
    for wrong in ((), ("1",), ("09",), (1,)):
        with pytest.raises(ValueError, match="as text, of 00, 01, 02, 03, 04, 05, 06, 07"):
            claims.settled(*wrong)
    shown = table._repr_html_()
    assert "<td" in shown and "10011110" in shown and "10011110" in repr(table)


def test_the_hardware_of_every_format_has_a_source():
    support = json.loads((COURSE / "data/format_support.json").read_text(encoding="utf-8"))
    assert [row["format"] for row in support["rows"]] == list(formats.FORMATS)
    for row in support["rows"]:
        assert len(row["sources"]) >= row["since"].count(";") + 1
        assert all(source.startswith("https://") for source in row["sources"])


GOOD = {
    "id": "C01",
    "claim": "It halves memory.",
    "verdict": "holds if",
    "note": "activations dominate",
    "notebook": "04_small.ipynb",
    "cell": "memory",
}


@pytest.fixture
def notebooks(tmp_path):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", id="memory")])
    nbformat.write(nb, tmp_path / "04_small.ipynb")
    return tmp_path


def test_a_good_claim_passes(notebooks):
    unconditional = GOOD | {"id": "C02", "verdict": "holds", "note": ""}
    assert ledger_faults([GOOD, unconditional], notebooks) == []


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"id": "1"}, "two digits"),
        ({"verdict": "true"}, "none of"),
        ({"note": " "}, "depends"),
        ({"notebook": "05_none.ipynb"}, "no notebook"),
        ({"notebook": "."}, "no notebook"),
        ({"cell": "gone"}, "no cell 'gone'"),
        ({"claim": ""}, "empty"),
        ({"cell": None}, "all text"),
        ({"extra": "x"}, "fields"),
    ],
)
def test_a_bad_claim_is_named(notebooks, change, fragment):
    (fault,) = ledger_faults([GOOD | change], notebooks)
    assert fragment in fault


def test_an_id_used_twice_is_named(notebooks):
    assert ledger_faults([GOOD, GOOD], notebooks) == ["C01: an id is C and two digits, once."]
