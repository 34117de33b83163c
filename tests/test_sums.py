"""Who adds up in what: accumulators made up in NumPy, and TensorFlow's own against exact
sums.
"""

import math

import ml_dtypes  # noqa: F401  (bfloat16 for NumPy)
import numpy as np
import pytest
import tensorflow as tf

from course_utils.precision import sums
from course_utils.precision.sums import accumulators
from course_utils.precision.sums.accumulators import CUT, NONE, PARTS, SERIAL, WIDE
from course_utils.precision.sums.operations import MEANS, OPERATIONS

DTYPES = ("float16", "bfloat16")


def wide(terms):
    return terms.astype("float32").sum().astype(terms.dtype)


def serial(terms):
    return np.add.accumulate(terms)[-1]


def cut_off(terms):
    """A float32 sum without its last bits, as a store of the upper half leaves it."""
    total = np.float64(terms.astype("float64").sum())
    step = (
        2.0 ** math.floor(math.log2(abs(total) or 1))
        * accumulators.UNIT[str(terms.dtype)]
        * 2
    )
    return np.trunc(total / step) * step


def lanes(terms):
    """Eight sums side by side, each in 16 bits."""
    return serial(np.array([serial(terms[lane::8]) for lane in range(8)]))


def blocks(terms):
    """Blocks in float32, and what they give added up in 16 bits."""
    return serial(np.array([wide(block) for block in terms.reshape(64, 64)]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "operation, verdict",
    [(wide, WIDE), (serial, SERIAL), (cut_off, CUT), (lanes, PARTS), (blocks, PARTS)],
)
def test_a_made_up_accumulator_is_named(operation, verdict, dtype):
    heard = sums.listen(operation, dtype)
    assert heard.verdict == verdict
    if verdict == SERIAL:
        assert heard.ones * 4096 == accumulators.STOPS[dtype]


def test_a_mean_is_judged_by_the_mean():
    def mean(terms):
        return (serial(terms).astype("float32") / len(terms)).astype(terms.dtype)

    assert sums.listen(mean, "bfloat16", np.mean).verdict == SERIAL
    assert (
        sums.listen(lambda t: wide(t) / np.float32(4096), "float16", np.mean).verdict
        == WIDE
    )


def test_an_operation_of_one_s_own_is_surveyed_in_every_mode():
    def one_after_another(terms):
        return tf.scan(tf.add, terms)[-1]

    def refuses(terms):
        raise tf.errors.UnimplementedError(None, None, "no kernel for it")

    mine = {"mine": {"loop": one_after_another, "refuses": refuses}}
    # Eagerly each of its 4,095 steps would be one of Python's.
    table = sums.survey(("graph",), mine).set_index(["operation", "mode"])
    assert set(table.loc["loop", "verdict"]) == {SERIAL}
    assert set(table.loc["refuses", "verdict"]) == {NONE}
    wide_table = sums.side_by_side(table.reset_index())
    assert wide_table.loc["loop", ("bfloat16", "graph")] == f"{SERIAL} (256)"
    assert wide_table.loc["refuses", ("float16", "graph")] == NONE


def test_an_interrupt_keeps_what_was_heard(capsys):
    def stops(terms):
        raise KeyboardInterrupt

    mine = {"mine": {"sum": tf.reduce_sum, "stops": stops}}
    assert list(sums.survey(operations=mine)["operation"]) == ["sum", "sum"]
    assert "2 of 4 rows are kept" in capsys.readouterr().out


@pytest.fixture(scope="module")
def here():
    """This machine's own survey."""
    return sums.survey()


def exactly(name, terms):
    """What an operation ought to give, from exact sums, rounded once."""
    total = math.fsum(terms.astype("float64"))
    return np.array(total / len(terms) if name in MEANS else total).astype(terms.dtype)


@pytest.mark.slow
def test_each_verdict_agrees_with_exact_sums_and_with_a_loop_of_16_bit_additions(here):
    """Terms of both signs, which the survey does not use."""
    functions = {n: f for each in OPERATIONS.values() for n, f in each.items()}
    source = np.random.default_rng(7)
    for row in here.itertuples():
        if row.verdict == NONE:
            continue
        terms = source.normal(1, 1, 4096).astype(row.dtype)
        answer = np.ravel(functions[row.operation](tf.constant(terms)).numpy())[0]
        exact = exactly(row.operation, terms)
        unit = 2 * accumulators.UNIT[row.dtype] * abs(float(exact))
        if row.verdict == WIDE:
            assert abs(float(answer) - float(exact)) <= unit, row
        elif row.verdict == SERIAL and row.operation not in MEANS:
            apart = abs(float(answer) - float(serial(terms)))
            assert apart <= 0.02 * float(exact), row


@pytest.mark.slow
def test_the_bias_gradient_stops_on_a_cpu_and_a_sum_of_one_s_own_does_not(here):
    """What notebook 01 shows."""
    table = here[here["dtype"] == "bfloat16"].set_index("operation")
    if not tf.config.list_physical_devices("GPU"):
        for name in ("bias_add: bias", "Dense: bias", "keras.ops.add(x, b): b"):
            assert table.loc[name, "ones"] * 4096 == 256, name
    for name in ("x + b: b", "Dense(1): bias", "x + self.bias: bias", "Dense: kernel"):
        assert table.loc[name, "verdict"] in (WIDE, CUT), name


@pytest.mark.slow
def test_a_record_can_be_read_again(here, tmp_path):
    made = sums.record(here, "a machine")
    from course_utils import records

    records.save(made, tmp_path / "one.json")
    ((name, table),) = sums.load(tmp_path)
    assert name.startswith("a machine") and made["date"] in name
    assert list(table["verdict"]) == list(here["verdict"])


def test_the_records_that_come_with_the_course_are_whole():
    everything = {name for functions in OPERATIONS.values() for name in functions}
    for device, table in sums.load():
        assert set(table["operation"]) == everything, device
        assert set(table["mode"]) <= set(sums.MODES) and set(table["dtype"]) == set(
            DTYPES
        )
