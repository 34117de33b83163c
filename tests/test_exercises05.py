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
        return table["calls"][
            table["kind"].isin(["convolution", "matrix product"])
        ].sum()

    assert products("") == 8  # as a hint says
    python = {name for name, table in ops.items() if "Python" in set(table["kind"])}
    assert python == {"tensorflow"}
    assert {name for name in ops if "TopKV2" in ops[name].index} == {"statistics"}
    times = {name: products(name) / products("") for name in ops}
    assert {name for name, count in times.items() if count == 8} == {"batch"}
    assert set(times.values()) == {1, 8}
    casts = {name: ops[name]["calls"].reindex(["Cast"]).sum() for name in ops}
    assert casts["float32"] > casts[""]


@pytest.mark.slow
def test_two_faults_are_seen_in_the_step_s_time():
    def without(name):
        repairs = [r for r in slow.REPAIRS if r != name]
        return profiling.budget(profiling.record(slow.colleague(repairs)))

    waiting = without("prefetch")
    # asleep before each step
    assert waiting["input"] > 0.9 * 1e3 * slow.READING
    assert without("graph")["launch"] > 2 * waiting["launch"]


def test_the_task_names_every_repair_and_one_that_is_none():
    rows = [
        line for line in CELLS["05"]["task-1"].splitlines() if line.startswith('| `"')
    ]
    named = {line.split('"')[1] for line in rows}
    assert named == {*slow.REPAIRS, slow.LATE}


def test_what_is_left_is_told_by_its_part_of_the_bar():
    for name, part in slow.SHOWS.items():
        said = slow.judge([r for r in slow.REPAIRS if r != name])
        assert said.startswith("You repaired 5 of 6 faults.") and said.endswith(
            f": {part}."
        )


def test_a_name_that_is_no_repair_is_refused():
    with pytest.raises(
        ValueError, match="'prefetching' is no repair: choose from batch"
    ):
        slow.colleague(["prefetching"])
