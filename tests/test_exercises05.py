"""Notebook 05's exercises: every number found a second way."""

import pytest
from helpers.tasks import CELLS

from course_utils import exercises, profiling
from course_utils.exercises import mystery, slow

SLOW, MYSTERY = exercises.load("05").exercises


# --- three traces


@pytest.mark.parametrize("letter", mystery.STEPS)
def test_a_mystery_shows_its_limit_and_the_gain_by_arithmetic(letter):
    trace = mystery.mystery(letter)
    found = profiling.budget(trace)
    assert found == pytest.approx(mystery.STEPS[letter])
    assert MYSTERY.answer.right[letter] == max(found, key=found.get)
    # In A the pipeline never rests, so the step cannot get shorter than a batch takes.
    lanes = profiling.spans(trace).groupby("lane")
    busy = {lane: (runs["end"] - runs["start"]).sum() for lane, runs in lanes}
    faster = max(
        sum(found.values()) - found["products"] / 2, busy.get("input pipeline", 0)
    )
    gains = MYSTERY.answer.right[f"{letter} gains"]
    assert gains == pytest.approx(sum(found.values()) / faster)


def test_of_what_runs_in_b_most_are_products_and_of_the_step_few():
    shares = profiling.op_times(mystery.mystery("B")).groupby("kind")["share"].sum()
    assert shares["matrix product"] == pytest.approx(0.7)


# --- six faults


@pytest.fixture(scope="module")
def ops():
    """{repair: the operations of a step that lacks it alone}, and "" for none."""
    made = {"": slow.REPAIRS}
    made |= {name: [r for r in slow.REPAIRS if r != name] for name in slow.REPAIRS}
    return {
        name: profiling.op_times(
            profiling.record(slow.colleague(repairs), steps=2)
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
    rows = [
        line for line in CELLS["05"]["task-1"].splitlines() if line.startswith('| `"')
    ]
    named = {line.split('"')[1] for line in rows}
    assert named == {*slow.REPAIRS, slow.LATE}
