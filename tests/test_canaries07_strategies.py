"""One test for each behavior of TensorFlow's strategies under Keras 3 that notebook 07 teaches.

When a new release changes one of them, the test that fails names the notebook to mend. The
processes that they run in are started once for all of them.
"""

import json

import pytest

from course_utils import processes
from course_utils.distributed import run_workers

pytestmark = pytest.mark.slow

HEAD = """
import json, os
import numpy as np
from course_utils import distributed

if "TF_CONFIG" not in os.environ:
    names = distributed.split_cpu(2)
import keras
import tensorflow as tf

x = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
y, found = np.arange(64) % 3, {}

def attempt(name, strategy, policy="float32", **options):
    options = {"jit_compile": False, **options}
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    keras.config.set_dtype_policy(policy)
    keras.utils.set_random_seed(0)
    try:
        with strategy.scope():
            last = keras.layers.Dense(3, dtype="float32")
            hidden = keras.layers.Dense(16, "relu")
            model = keras.Sequential([keras.Input((8,)), hidden, last])
            model.compile(keras.optimizers.SGD(0.1), loss, metrics=["accuracy"], **options)
        history = model.fit(x, y, 16, verbose=0, shuffle=False).history
        weights = np.concatenate([np.ravel(w) for w in model.get_weights()]).tolist()
        found[name] = {"history": history, "weights": weights, "error": ""}
    except Exception as error:
        found[name] = {"error": f"{type(error).__name__}: {error}"}
"""
MIRRORED = """
def refused(count):
    try:
        return distributed.split_cpu(count)
    except distributed.DeviceError as error:
        return str(error)

assert names == distributed.split_cpu(2) == ("CPU:0", "CPU:1")  # before the start, again
choice = distributed.choose()
two, one = choice.strategy(), tf.distribute.get_strategy()
found["choice"] = [choice.kind, list(choice.devices), two.num_replicas_in_sync]
found["split again"] = [refused(2), refused(3)]
for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
    attempt(f"one {policy}", one, policy)
    attempt(f"two {policy}", two, policy)
attempt("one, several steps at once", one, steps_per_execution=2)
attempt("two, several steps at once", two, steps_per_execution=2)
attempt("one, compiled", one, jit_compile=True)
attempt("two, compiled", two, jit_compile=True)
attempt("two, unless it cannot be compiled", two, jit_compile="auto")
central = tf.distribute.experimental.CentralStorageStrategy(["CPU:0", "CPU:1"])
attempt("central", central)
print("RESULT", json.dumps(found))
"""
ACROSS = """
attempt("fit", tf.distribute.MultiWorkerMirroredStrategy())
print("RESULT", json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("mirrored") / "mirrored.py"
    path.write_text(HEAD + MIRRORED)
    process = processes.start(processes.script(path), {"CUDA_VISIBLE_DEVICES": "-1"})
    try:
        printed, errors = process.communicate(timeout=300)
    finally:
        processes.stop([process])
    assert process.returncode == 0, processes.reason(errors)
    return json.loads(printed.split("RESULT ")[-1])


def largest_difference(one, two):
    return max(abs(a - b) for a, b in zip(one["weights"], two["weights"], strict=True))


def test_07_two_devices_of_one_cpu_are_chosen_and_mirrored(found):
    assert found["choice"] == ["MirroredStrategy", ["CPU:0", "CPU:1"], 2]


def test_07_devices_are_split_before_tensorflow_starts_or_not_at_all(found):
    same, other = found["split again"]
    assert same == ["CPU:0", "CPU:1"]
    assert "already started in this kernel with 2 CPU devices, and 3 CPU devices are" in other
    assert "restart the kernel" in other


@pytest.mark.parametrize(
    ("policy", "margin"), [("float32", 1e-5), ("mixed_bfloat16", 2e-2), ("mixed_float16", 2e-3)]
)
def test_07_fit_on_two_replicas_gets_the_weights_of_one_device(policy, margin, found):
    """At the same global batch, within rounding."""
    one, two = found[f"one {policy}"], found[f"two {policy}"]
    assert not one["error"] and not two["error"]
    assert largest_difference(one, two) < margin
    assert two["history"]["accuracy"] == one["history"]["accuracy"]


def test_07_several_steps_at_once_fail_on_two_replicas(found):
    assert not found["one, several steps at once"]["error"]
    error = found["two, several steps at once"]["error"]
    assert error.startswith("InvalidArgumentError") and "must feed a value for placeholder" in error


def test_07_compiled_steps_fail_on_two_replicas_and_auto_does_not_compile(found):
    assert not found["one, compiled"]["error"]
    error = found["two, compiled"]["error"]
    assert error.startswith("InvalidArgumentError") and "Trying to access resource" in error
    assert "replica_1" in error
    assert not found["two, unless it cannot be compiled"]["error"]


def test_07_central_storage_trains_right_and_reports_wrong(found):
    one, central = found["one float32"], found["central"]
    assert largest_difference(one, central) < 1e-5
    assert abs(central["history"]["loss"][0] - one["history"]["loss"][0]) > 0.01


def test_07_fit_across_workers_fails(tmp_path):
    path = tmp_path / "across.py"
    path.write_text(HEAD + ACROSS)
    for result in run_workers(path, 2, show=None, timeout=200):
        error = result["fit"]["error"]
        assert error.startswith("ValueError: Attempt to convert a value (PerReplica:")
        assert "unsupported type" in error
