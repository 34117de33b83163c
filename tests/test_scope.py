"""The trainings of notebooks 00 and 04 in the scope in which they build their models.

Run as a script, this file trains by the notebooks' own cells and hands back what came
out: on a TPU's stand-in, `OneDeviceStrategy`, and without it; or on two logical CPUs.
"""

import hashlib
import json
import sys

import numpy as np
import pytest

from course_utils import benchmark, distributed, processes
from course_utils.distributed import strategies
from course_utils.hardware import accelerators
from tools.cells import Cells

IMAGES = np.random.default_rng(0).integers(0, 256, (128, 28, 28), dtype="uint8")
LABELS = np.arange(128) % 10


def result(model):
    """Its strategy, a hash of its weights, and their norm."""
    weights = np.concatenate([np.ravel(w) for w in model.get_weights()])
    name = type(model.distribute_strategy).__name__
    return (
        name,
        hashlib.sha256(weights.tobytes()).hexdigest(),
        float(np.linalg.norm(weights)),
    )


def trained():
    """Results of: 00's three fits, a fit of 04's model from a pipeline, and steps of
    `Trainee` for both.
    """
    x = IMAGES[..., None].astype("float32") / 255
    start = Cells("00_start_here").run(
        "build-model", names={"x_train": x, "y_train": LABELS}
    )
    Cells("00_start_here").run("three-fits", names=start)
    found = [result(start["model"])]
    cnn = Cells("04_mnist_cnn").run("model")
    import tensorflow as tf  # late: a device is chosen before it starts

    start["keras"].utils.set_random_seed(0)
    model = benchmark.build(cnn["build_model"])
    data = tf.data.Dataset.from_tensor_slices((x, LABELS)).batch(32)
    model.fit(data, epochs=2, verbose=0)
    assert model.evaluate(x, LABELS, verbose=0) > 0
    found.append(result(model))
    for names, policy in ((start, "mixed_bfloat16"), (cnn, "mixed_float16")):
        trainee = benchmark.Trainee(names["build_model"], policy)
        for part in (slice(0, 64), slice(64, 128)):
            assert np.isfinite(trainee.step(x[part], LABELS[part]).loss)
        assert trainee.right(x, LABELS).shape == (128,)
        found.append(result(trainee.model))
    return found


if __name__ == "__main__":
    if sys.argv[1] == "two CPUs":
        distributed.split_cpu(2)
        print("RESULT", json.dumps([trained()]))
    else:
        import tensorflow as tf

        outside = trained()
        one = tf.distribute.OneDeviceStrategy("CPU:0")
        tpu = strategies.Choice("TPUStrategy", ("TPU:0",), "for this test")
        strategies.choose = lambda: tpu
        accelerators.tpu_strategy = lambda: one
        print("RESULT", json.dumps([outside, trained()]))


def run(how):
    done = processes.run(processes.script(__file__, how), timeout=500)
    assert done.result, done.problem
    return done.result


@pytest.mark.slow
def test_trainings_end_in_the_same_bits_in_a_strategy_s_scope_and_near_them_on_two_cpus():
    outside, inside = run("one device")
    assert {name for name, _, _ in outside} == {"_DefaultDistributionStrategy"}
    assert {name for name, _, _ in inside} == {"OneDeviceStrategy"}
    assert [bits for _, bits, _ in inside] == [bits for _, bits, _ in outside]
    (both,) = run("two CPUs")
    assert {name for name, _, _ in both} == {"MirroredStrategy"}
    assert [norm for *_, norm in both] == pytest.approx(
        [norm for *_, norm in outside], rel=1e-3
    )
