"""One test for each behaviour of Keras's own loss scaling that notebook 07 teaches.

When a new release changes one of them, the test that fails names the notebook to mend.
Run as a script, this file is what the tests start in processes of their own: `mirrored` trains on
2 logical CPUs, `worker` is one of two workers. They print what they find.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.distributed import Workers
from course_utils.stepping import dtype_policy

ROOT = Path(__file__).resolve().parent.parent
SGD, LossScaleOptimizer = keras.optimizers.SGD, keras.optimizers.LossScaleOptimizer
STEPS, OVERFLOW = 5, 2  # steps of a loop, and the one in which a replica overflows
SILENCE = 8  # seconds without a sign from a step that took a few milliseconds before


def local(variable):
    """The values on the replicas of this process."""
    replicas = tf.distribute.get_strategy().experimental_local_results(variable.value)
    return [np.ravel(v.numpy()).tolist() for v in replicas]


def wrapped(inner=None):
    weight, optimizer = keras.Variable([1.0, 1.0]), LossScaleOptimizer(inner or SGD(0.5))
    optimizer.build([weight])
    return weight, optimizer


def step_of(weight, optimizer):
    """A step whose gradient is infinite on one replica and 1 on the others; -1: on none."""
    strategy = tf.distribute.get_strategy()

    def replica(culprit):
        rank = tf.distribute.get_replica_context().replica_id_in_sync_group
        gradient = tf.where(tf.equal(rank, culprit), np.float32(np.inf), np.float32(1))
        optimizer.apply([tf.fill([2], optimizer.scale_loss(gradient))], [weight])

    step = tf.function(lambda culprit: strategy.run(replica, args=(culprit,)))
    return lambda culprit: step(tf.constant(culprit))


# The scripts


def in_a_loop(culprit):
    weight, optimizer = wrapped()
    step_of(weight, optimizer)(culprit)
    return {"weights": local(weight), "scales": local(optimizer.dynamic_scale)}


def in_fit(culprit):
    """Two batches of 4 rows a replica; one target of the second is too large for float16."""
    with dtype_policy("mixed_float16"):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, use_bias=False)])
    model.set_weights([np.full((4, 1), 0.125)])
    model.compile(SGD(2.0**-10), "mse", jit_compile=False)
    x, y = np.ones((16, 4), np.float32), np.zeros((16, 1), np.float32)
    y[8 + 4 * culprit] = 1024
    model.fit(x, y, batch_size=8, shuffle=False, verbose=0)
    return {"weights": local(model.weights[0]), "scales": local(model.optimizer.dynamic_scale)}


def clipped():
    """The gradient (3, 4) on both replicas, by an inner optimizer that clips to length 1."""
    weight, optimizer = wrapped(SGD(1.0, global_clipnorm=1.0))
    gradient = tf.constant([3.0, 4.0])
    tf.distribute.get_strategy().run(
        lambda: optimizer.apply([optimizer.scale_loss(gradient)], [weight])
    )
    return local(weight)


def attempt(step):
    try:
        step()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def accumulated():
    weight, optimizer = wrapped(SGD(gradient_accumulation_steps=2))
    step_of(weight, optimizer)(-1)


def never_built():
    weight, optimizer = keras.Variable([1.0, 1.0]), LossScaleOptimizer(SGD(0.5))
    step_of(weight, optimizer)(-1)


def of_another_size():
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1", "CPU:2"]).scope():
        in_a_loop(-1)


def mirrored():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        found = {
            "loop": [in_a_loop(culprit) for culprit in (0, 1)],
            "fit": [in_fit(culprit) for culprit in (0, 1)],
            "clipped": clipped(),
            "accumulated": attempt(accumulated),
            "unbuilt": attempt(never_built),
        }
    found["of another size"] = attempt(of_another_size)  # last: it spoils the process
    print("RESULT", json.dumps(found))


def worker(culprit):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weight, optimizer = wrapped()
        take = step_of(weight, optimizer)
        for step in range(STEPS):
            if step == OVERFLOW:
                watch = threading.Timer(SILENCE, lambda: print("silence", flush=True))
                watch.daemon = True
                watch.start()
            take(culprit if step == OVERFLOW else -1)
            scale = local(optimizer.dynamic_scale)[0][0]
            print(f"step {step} scale {scale:g}", flush=True)
    watch.cancel()


if __name__ == "__main__":
    mirrored() if sys.argv[1] == "mirrored" else worker(int(sys.argv[2]))


# MirroredStrategy


@pytest.fixture(scope="module")
def found():
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, __file__, "mirrored"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=480)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-2000:]
    return json.loads(lines[0].removeprefix("RESULT "))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["loop", "fit"])
def test_07_an_overflow_on_the_second_replica_destroys_the_weights(found, way):
    first, second = found[way]
    assert np.isfinite(first["weights"]).all() and first["scales"] == [[2.0**14]] * 2
    # Not seen: the step was taken on both replicas, and the scale stays.
    assert not np.isfinite(second["weights"]).any() and second["scales"] == [[2.0**15]] * 2


@pytest.mark.slow
def test_07_each_replica_clips_its_own_gradient_before_they_are_added(found):
    assert np.allclose(found["clipped"], [[1 - 2 * 0.6, 1 - 2 * 0.8]] * 2)
    weight, optimizer = wrapped(SGD(1.0, global_clipnorm=1.0))
    optimizer.apply([optimizer.scale_loss(tf.constant([3.0, 4.0]))], [weight])
    assert np.allclose(local(weight), [[1 - 0.6, 1 - 0.8]])


@pytest.mark.slow
def test_07_accumulation_is_refused_by_a_message_about_merge_call(found):
    assert found["accumulated"].startswith("RuntimeError: ")
    assert "`merge_call` called while defining a new graph" in found["accumulated"]


@pytest.mark.slow
def test_07_an_optimizer_that_is_not_built_fails_at_a_placeholder(found):
    assert found["unbuilt"].startswith("InvalidArgumentError: ")
    assert "Placeholder" in found["unbuilt"]


@pytest.mark.slow
def test_07_two_strategies_of_different_sizes_cannot_share_a_process(found):
    assert "joining a group with size" in found["of another size"]


# MultiWorkerMirroredStrategy


@pytest.mark.slow
def test_07_an_overflow_on_one_worker_hangs_both_and_they_ignore_sigterm():
    """The worker with the overflow goes on by itself; the other one waits for it in that step."""
    printed, silent = {0: [], 1: []}, set()
    with Workers(__file__, 2, ["worker", 1], timeout=120, grace=2) as workers:
        for rank, line in workers:
            if line == "silence":
                silent.add(rank)
            else:
                printed[rank].append(line)
            if silent == {0, 1}:
                break
    good = [f"step {step} scale 32768" for step in range(OVERFLOW)]
    assert printed == {0: good, 1: [*good, f"step {OVERFLOW} scale 16384"]}
    assert silent == {0, 1} and set(workers.stubborn) == {0, 1}
