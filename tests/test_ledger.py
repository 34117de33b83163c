"""The claims ledger, data/claims.json: every claim has a verdict and a cell that shows
it.
"""

import copy
import json
import subprocess
import sys

import pytest

from course_utils import claims, formats
from tools import migration, migration_page
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


MIGRATION = json.loads((COURSE / "data/migration.json").read_text(encoding="utf-8"))


def test_the_steps_in_other_libraries_are_code_that_ran():
    record = MIGRATION
    assert list(record["code"]) == list(record["columns"]) == list(migration.RUNS)
    tasks = list(record["code"]["Keras 3"])
    for column, code in record["code"].items():
        missing = ["cast to FP8"] if column == "TF 2.3" else []
        assert list(code) == [task for task in tasks if task not in missing]
        for task, text in code.items():
            compile(text, task, "exec")
            # a page of paper holds no more
            assert max(map(len, text.split("\n"))) <= 50
            runs = migration.ran(record, column, task)
            wanted = len(migration.RUNS[column])
            old = (column, task) == ("TF 2.4–2.15", "cast to FP8")  # 2.4.4 has none
            assert len(runs) == wanted - old, (column, task)
            for run in runs:
                assert run["versions"]["python"] and run["date"] and run["cpu"]


def test_a_row_that_was_changed_is_not_shown_before_it_has_run():
    changed = copy.deepcopy(MIGRATION)
    changed["code"]["JAX"]["read the current scale"] = "float(scale) + 1"
    rows = migration_page.told(changed)["tasks"]["read the current scale"]
    assert [row[0] for row in rows] == [c for c in migration.RUNS if c != "JAX"]


@pytest.mark.slow
def test_the_rows_of_keras_3_run_here():
    """The other libraries: `python -m tools.migration`."""
    command = [sys.executable, COURSE / "tools/migration_steps.py", "Keras 3"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0
    rows = json.loads(done.stdout.splitlines()[-1])["rows"]
    assert rows == list(MIGRATION["code"]["Keras 3"])
