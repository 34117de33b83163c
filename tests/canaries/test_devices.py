"""What several devices do: Keras's loss scaling, TensorFlow's strategies, and the
course's cure.

One test for each behavior that notebook 07 teaches: when a new release changes one of
them, the test that fails names the notebook to mend. All replicas of one process, and
both workers, are started once: the program they run is tests/helpers/overflows.py.
"""

import re

import numpy as np
import pytest
from helpers import overflows as rig
from helpers.overflows_wanted import compare, fit_wanted

from course_utils.distributed import run_workers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    """What 2 logical CPUs of one process came to."""
    return run_workers(rig.__file__, 1, ["mirrored"], timeout=480)[0]


@pytest.fixture(scope="module")
def workers():
    """What two workers came to."""
    return run_workers(rig.__file__, 2, ["worker"], timeout=300)


def test_07_fit_on_two_replicas_gets_the_weights_of_one_device(found):
    """At the same global batch, within rounding."""
    for policy, margin in {
        "float32": 1e-5,
        "mixed_bfloat16": 2e-2,
        "mixed_float16": 2e-3,
    }.items():
        (right, weights), (right_of_two, of_two) = (
            found[n][policy] for n in ("one", "two")
        )
        assert right_of_two == right
        np.testing.assert_allclose(of_two, weights, rtol=0, atol=margin)


FAILS = {
    "steps_per_execution=2": "InvalidArgumentError: .*must feed a value for placeholder",
    "jit_compile=True": "InvalidArgumentError: .*Trying to access resource",
    "batches of one less": "InvalidArgumentError: .*same size",
    "accumulation": "RuntimeError: .*`merge_call` called while defining a new graph",
    "EMA, overwriting": "RuntimeError: .*`merge_call` called",
    "EMA": "works",
    "auto": "works",  # because it does not compile
}


@pytest.mark.parametrize("name", FAILS)
def test_07_what_works_on_one_device_fails_on_two(name, found):
    assert found["one"][name] == "works" and re.match(FAILS[name], found["two"][name])


# The course's cure


def test_an_overflow_on_any_replica_is_one_skipped_step_for_all(found, workers):
    one, other = workers
    assert one == other
    for ways, replicas in ((found, 2), (one, 1)):
        assert len(ways["play"]) == 2
        for name, result in ways["play"].items():
            assert len(result["iterations"]) == len(result["weights"][0]) == replicas
            compare(rig.patterns(2)[name], result)


@pytest.mark.parametrize(
    ("name", "bad"), [("on 1", {2, 3}), ("eager", {2}), ("rich", {0})]
)
def test_fit_on_two_devices_skips_the_batches_that_overflow(found, name, bad):
    """Also run eagerly, and with clipping, decay and averages."""
    steps, (first, second) = found["fit"][name]
    assert steps == fit_wanted(bad)
    assert first == second != [0.125] * 4 and np.isfinite(first).all()


def test_an_optimizer_that_is_not_built_says_so_where_it_cannot_go_on(found):
    assert (
        "The optimizer is not built: call optimizer.build(model.trainable_variables) within "
        "strategy.scope(), before the first step."
    ) in found["not built"]
    assert found["not built, eager"] == [[-2.0, -3.0]] * 2  # 1 - 0.5 · 2 · (3, 4)
