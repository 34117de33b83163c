"""The claims ledger, data/claims.json: every claim has a verdict and a cell that shows
it.
"""

import json
import re
import subprocess
import sys

import pytest

from course_utils import claims, formats
from tools.canonical_form import COURSE, read

LEDGER = COURSE / "data/claims.json"
FIELDS = ["cell", "claim", "id", "note", "notebook", "verdict"]
VERDICTS = {"holds", "holds if", "misleading", "wrong", "wrong today", "not measured"}
SETTLED = {f"C{number:02}" for number in range(1, 59)}


def test_every_claim_has_a_verdict_and_a_cell():
    ledger = json.loads(LEDGER.read_text(encoding="utf-8"))
    ids = [claim["id"] for claim in ledger]
    assert len(set(ids)) == len(ids) and SETTLED <= set(ids)
    for claim in ledger:
        assert sorted(claim) == FIELDS and claim["claim"].strip(), claim
        assert claim["verdict"] in VERDICTS, claim
        if claim["verdict"] == "holds if":
            assert claim["note"].strip(), "on what does it depend?"
        notebook = read(COURSE / "notebooks" / claim["notebook"])
        assert claim["cell"] in [cell.get("id") for cell in notebook.cells], claim


def test_the_notebooks_settle_all_claims_and_no_other():
    """What one of them shows is in its stored outputs, which nbval compares."""
    ledger = json.loads(LEDGER.read_text(encoding="utf-8"))
    everywhere = sorted({claim["notebook"][:2] for claim in ledger})
    assert len(claims.settled(*everywhere).rows) == len(ledger)
    for wrong in ((), ("1",), (1,)):
        with pytest.raises(ValueError, match="as text, of 00, 01, 02"):
            claims.settled(*wrong)
    assert "<td" in claims.settled("01")._repr_html_()


def test_the_hardware_of_every_format_has_a_source():
    support = json.loads(
        (COURSE / "data/format_support.json").read_text(encoding="utf-8")
    )
    assert [row["format"] for row in support["rows"]] == list(formats.FORMATS)
    for row in support["rows"]:
        assert len(row["sources"]) >= row["since"].count(";") + 1
        assert all(source.startswith("https://") for source in row["sources"])


def test_the_steps_in_other_libraries_are_code_that_ran():
    record = json.loads((COURSE / "data/migration.json").read_text(encoding="utf-8"))
    assert list(record["code"]) == list(record["columns"]) == list(record["run with"])
    tasks = list(record["code"]["Keras 3"])
    for column, code in record["code"].items():
        assert list(code) == tasks and re.search(r"20\d\d", record["run with"][column])
        for task, text in code.items():
            compile(text, task, "exec")
            # two columns fit a notebook's width
            assert max(map(len, text.split("\n"))) <= 50


@pytest.mark.slow
def test_the_rows_of_keras_3_run_here():
    """Those that tools/migration_steps.py runs; the other libraries by hand."""
    command = [sys.executable, COURSE / "tools/migration_steps.py", "Keras 3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Keras 3: as the page says, tensorflow 2.")
