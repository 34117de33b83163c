"""Notebook 05's exercises: every number found a second way."""

import pytest
from helpers.tasks import CELLS

from course_utils import exercises, profiling, roofline
from course_utils.exercises import mystery, slow

ROOFLINE, MYSTERY, SLOW = exercises.load("05").exercises


def test_the_roofline_gives_the_speedup():
    t4 = roofline.devices()["T4"]
    assert (t4.tflops["float32"], t4.tflops["float16"], t4.gb_per_s) == (8.1, 65, 320)
    slow, fast = (
        min(t4.peak(d), n * t4.bandwidth)
        for d, n in (("float32", 50), ("float16", 100))
    )
    assert ROOFLINE.answer.right == pytest.approx(fast / slow)


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
    """{letter: the operations of a step with that fault alone left in}, and "" for
    none.
    """
    every = "".join(slow.FAULTS)
    left = {"": every, **{letter: every.replace(letter, "") for letter in every}}
    traces = {
        letter: profiling.record(slow.colleague(repaired), steps=2)
        for letter, repaired in left.items()
    }
    return {
        letter: profiling.op_times(trace).set_index("op")
        for letter, trace in traces.items()
    }


@pytest.mark.slow
def test_every_fault_but_the_missing_prefetch_is_seen_in_the_operations(ops):
    def products(letter):
        table = ops[letter]
        return table["calls"][
            table["kind"].isin(["convolution", "matrix product"])
        ].sum()

    python = {letter for letter, table in ops.items() if "Python" in set(table["kind"])}
    assert {slow.FAULTS[letter] for letter in python} == {"Python in the step"}
    assert {slow.FAULTS[x] for x in ops if "TopKV2" in ops[x].index} == {
        "statistics of weights"
    }
    times = {letter: products(letter) / products("") for letter in ops}
    small = {slow.FAULTS[letter] for letter, count in times.items() if count == 8}
    assert small == {"small batches"} and set(times.values()) == {1, 8}
    casts = {letter: ops[letter]["calls"].reindex(["Cast"]).sum() for letter in ops}
    assert slow.FAULTS[max(casts, key=casts.get)] in ("float64", "small batches")
    assert casts["D"] > casts[""]


@pytest.mark.slow
def test_two_faults_are_seen_in_the_step_s_time():
    steps = {name: slow.colleague(name) for name in ("ABDEF", "ABCDF")}
    found = {
        name: profiling.budget(profiling.record(step)) for name, step in steps.items()
    }
    assert found["ABDEF"]["input"] > 0.9 * 1e3 * slow.READING  # asleep before each step
    assert found["ABCDF"]["launch"] > 2 * found["ABDEF"]["launch"]


def test_the_task_names_every_fault_and_each_is_one_answer():
    assert all(f"*{fault}*" in CELLS["05"]["task-3"] for fault in slow.FAULTS.values())
    assert SLOW.answer.right == slow.FAULTS and len(set(slow.FAULTS.values())) == 6
