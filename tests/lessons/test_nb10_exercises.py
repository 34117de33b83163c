"""Exercises of notebook 10: other right answers, plans, and the order."""

import re
from collections import Counter

import keras
import numpy as np
import pandas as pd
import pytest
from helpers import plans
from helpers.tasks import CELLS

from course_utils import exercises
from course_utils.benchmark.ratios import Ratio
from course_utils.lessons.nb10 import judge
from tools.notebook_cells import Cells

CAPSTONE = Cells("10_capstone")


def test_other_repairs_are_right():
    from keras import ops

    class InCall(keras.layers.Layer):
        """Waves from NumPy, in the dtype of what comes in."""

        def build(self, shape):
            angles = np.arange(shape[1])[:, None] * 1e-4 ** (np.arange(32) / 32)
            self.waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

        def call(self, x):
            return x + ops.cast(self.waves, x.dtype)

    q = exercises.load("10")
    for head in ("float32", keras.DTypePolicy("float32")):
        found = q[1].check({"positions": InCall, "attention": None, "head": head})
        assert found.status == "correct", found


def test_a_decision_says_what_its_interval_allows():
    q = exercises.load("10")
    for difference, margin, right in (
        (0.3, 0.8, "the same"),
        (1.0, 0.4, "the same"),  # surely better, by less than matters
        (1.5, 24.9, "cannot tell"),
        (26.4, 24.9, "better"),
        (-3.1, 0.9, "worse"),
    ):
        numbers = {"difference": difference, "margin": margin}
        for plan in ("mine", None):
            for says in judge.SAYS:
                found = q[3].check({"plan": plan, "accuracy": says, **numbers})
                assert (found.status == "correct") == (says == right)
    zero = {"plan": None, "difference": 0, "margin": 0, "accuracy": "the same"}
    assert q[3].check(zero).status == "correct"


def test_other_plans_are_right_and_odd_ones_are_told_what_to_choose_from():
    q = exercises.load("10")
    right = [{"bits": 32}, {"bits": 16, "accumulate": 32, "remat": False}]
    assert q[2].check(right).status == "correct"
    for odd in (
        3,
        [],
        {"bits": 32},
        [32],
        [{}],
        [{"bits": [16]}],
        [{"bits": np.ones(2)}],
        [{"bits": 16, 3: 4}],
        [{"bits": 32}, {"bits": 16, "recompute": True}],
        [{"bits": 32}, {"bits": 32, "remat": True}],
    ):
        found = q[2].check(odd)
        assert found.status == "not yet" and len(found.message) > 20, odd


# The order


def kept(table, order):
    """The most bits of the plans that keep an order, 0 if none does."""
    small = (table["MB"] <= order["MB"]) & (table["times"] <= order["times"])
    return max(table["bits"][small], default=0)


@pytest.mark.slow
def test_a_third_of_all_names_needs_no_16_bits_and_a_third_has_to_refuse():
    table = plans.recorded()
    found = Counter(kept(table, judge.draw_order(table, f"{n}")) for n in range(600))
    assert {*found} == {0, 16, 32}
    assert min(found.values()) > 150  # of 200


@pytest.mark.slow
def test_an_order_is_the_same_for_the_same_name_and_table_and_one_of_many():
    table = plans.recorded()
    orders = [judge.draw_order(table, f"{n}") for n in range(100)]
    assert orders == [judge.draw_order(table, f"{n}") for n in range(100)]
    assert len({tuple(order.values()) for order in orders}) > 8


def test_where_16_bits_save_nothing_no_order_needs_them():
    """As where float16 is slow, and the plans of float32 were the better ones."""
    rows = {"bits": [32, 32, 16], "MB": [40, 10, 30], "times": [1.0, 1.5, 6.0]}
    table = pd.DataFrame(rows)
    found = {kept(table, judge.draw_order(table, f"{n}")) for n in range(60)}
    assert found == {0, 32}


def order_of(name, plan, difference=0.0):
    """What the cell below exercise 10.3 says to a plan, on the recorded table."""
    table = plans.recorded()
    given = {"plan": plan, "difference": 0, "margin": 0.25, "accuracy": "the same"}
    names = {"q": exercises.load("10"), "decision": given, "tried": table, "pd": pd}
    names |= {"sixteen": "mixed_bfloat16", "allowed": judge.allowed}
    names |= {"difference": lambda *ways: (difference, 0.25, None)}
    names["order"] = judge.draw_order(table, name)
    CAPSTONE.run("order", names=names)
    return kept(table, names["order"]), names["judged"]


@pytest.mark.slow
def test_the_order_is_judged_on_the_own_table():
    table = plans.recorded()
    seen = set()
    for n in range(40):
        for plan in [None, *table.index]:
            most, judged = order_of(f"{n}", plan)
            order = judge.draw_order(table, f"{n}")
            small = (table["MB"] <= order["MB"]) & (table["times"] <= order["times"])
            right = [*table.index[small & (table["bits"] == most)]] or [None]
            assert (judged["verdict"] == "right") == (plan in right)
            assert judged["right"] == (right[0] or "to refuse")
            seen.add((most, judged["verdict"]))
            # where 16 bits change the accuracy by more, they keep no order
            _, judged = order_of(f"{n}", plan, difference=-5.0)
            right = [*table.index[small & (table["bits"] == 32)]] or [None]
            assert (judged["verdict"] == "right") == (plan in right)
    assert len(seen) == 6  # each kind of order, each verdict


def test_the_solved_copy_refuses_an_order_that_no_plan_keeps():
    assert kept(plans.recorded(), judge.draw_order(plans.recorded(), "Noa")) == 0
    (said,) = (
        output.data["text/plain"]
        for cell in plans.solved().cells
        if cell.id == "order"
        for output in cell.outputs
        if output.output_type == "execute_result"
    )
    assert re.search(r"plan +refused", said) and re.search(r"verdict +right", said)


def test_a_plan_that_does_not_pass_is_16_bits_and_nothing_else():
    _, judged = order_of("Ada", 4)
    assert judged["plan"] == "mixed_bfloat16"


def test_a_winner_is_named_where_two_runs_agree():
    names = CAPSTONE.run("winner", names={"sixteen": "sixteen"})

    def run(low, high):
        return Ratio((low + high) / 2, low, high)

    faster, slower = run(1.1, 1.3), run(0.8, 0.9)
    for runs, says in (
        ((faster, faster), "sixteen"),
        ((slower, slower), "float32"),
        ((slower, faster), "cannot tell, the runs do not agree"),
        ((run(0.99, 1.01), run(0.98, 1.01)), "the same"),
        ((run(0.99, 1.01), faster), "cannot tell, the runs do not agree"),
    ):
        assert names["winner"](*runs) == says


def test_two_points_are_those_of_the_judge():
    assert f"**{judge.POINTS} points**" in CELLS["10"]["predict"]


def test_the_stored_table_shows_what_the_text_below_it_says():
    table = plans.recorded()
    in_16 = next(name for name in table.index if name.startswith("mixed_"))
    pairs = [(name.replace(in_16, "float32"), name) for name in table.index[1:]]
    pairs = [pair for pair in pairs if {*pair} <= {*table.index} and len({*pair}) == 2]
    assert len(pairs) == 3  # plain, accumulated and computed again
    for in_float32, other in pairs:
        assert table["MB"][other] < table["MB"][in_float32]
    # accumulation alone saves more than the format does
    assert table["MB"]["float32, 4 × 64"] < 0.5 * table["MB"][in_16]
    assert table["loss"].max() - table["loss"].min() < 0.05
    # an order is judged by the count: of small arrays a CPU sees less than there is
    in_parts = f"{in_16}, 4 × 64"
    assert table["MB seen"][in_parts] < 0.9 * table["MB"][in_parts]
