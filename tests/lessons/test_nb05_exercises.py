"""Notebook 05's exercises: every number found a second way."""

import re

import pandas as pd
import pytest
from helpers.tasks import CELLS

from course_utils import exercises, figures, profiling
from course_utils.lessons.nb05 import repairs, slow_training


@pytest.fixture(scope="module")
def ops():
    """{repair: the operations of a step that lacks it alone}, and "" for none."""
    made = {"": slow_training.REPAIRS}
    made |= {
        name: [r for r in slow_training.REPAIRS if r != name]
        for name in slow_training.REPAIRS
    }
    return {
        name: profiling.op_times(
            profiling.record(slow_training.colleague(repairs), steps=2)
        ).set_index("op")
        for name, repairs in made.items()
    }


@pytest.mark.slow
def test_every_fault_but_the_missing_prefetch_is_seen_in_the_operations(ops):
    def products(name):
        table = ops[name]
        counted = table["kind"].isin(["convolution", "matrix product"])
        return table["calls"][counted].sum()

    assert products("") == 8  # as a hint says
    assert [name for name in ops if products(name) == 64] == ["batch"]
    python = [name for name, table in ops.items() if "Python" in set(table["kind"])]
    assert python == ["tensorflow"]
    assert [name for name in ops if "TopKV2" in ops[name].index] == ["statistics"]
    assert ops["float32"]["calls"]["Cast"] > ops[""]["calls"].get("Cast", 0)


def test_the_task_names_every_repair_and_one_that_is_none():
    named = re.findall(r'^\| `"(\w+)"', CELLS["05"]["task-1"], re.M)
    assert {*named} == {*slow_training.REPAIRS, slow_training.LATE}


def test_the_repairs_count_in_any_order_and_a_policy_in_the_place_of_one_does_not():
    question = exercises.load("05")[1]
    repairs = [*slow_training.REPAIRS[::-1]]
    for answer in (repairs, [*repairs, "bfloat16"]):
        assert question.check(answer).status == "correct"
    assert question.check(["bfloat16", *repairs[1:]]).status == "not yet"


def test_what_was_recorded_once_is_not_recorded_again(monkeypatch, capsys):
    made = []

    def record(cases, **options):
        made.append(cases["step"])
        return {"step": cases["step"]}

    budgets = {(): 298.0, ("graph",): 33.0, ("graph", "batch"): 8.0}
    drawn = []
    table = pd.DataFrame({"op": list("abcdef"), "ms": range(6)})
    monkeypatch.setattr(repairs, "_recordings", {})
    monkeypatch.setattr(repairs, "colleague", lambda made: made)
    monkeypatch.setattr(repairs, "display", lambda picture: None)
    monkeypatch.setattr(profiling, "record_in_turns", record)
    monkeypatch.setattr(profiling, "budget", lambda made: {"other": budgets[made]})
    monkeypatch.setattr(profiling, "op_times", lambda made: table)
    monkeypatch.setattr(
        figures, "time_budget", lambda rows, title: drawn.append((list(rows), title))
    )
    for answer in ([], ["graph"], ["graph", "batch"]):
        repairs.show_repairs(answer)
    assert made == list(budgets)
    assert drawn[0] == (["as it was"], "0 repairs: 298 ms a step")
    rows = ["as it was", "1. graph", "2. batch"]
    assert drawn[2] == (rows, "2 repairs: 298 ms → 8 ms a step")
    last = capsys.readouterr().out.splitlines()[-7:]
    assert last[0] == "other 8.0 ms" and len(last[2:]) == 5
