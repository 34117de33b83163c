"""Replica-safe loss scaling on one device: nothing else than Keras's own.

What it does on several devices and workers is held by `canaries/test_devices.py`.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from helpers.overflows import (
    SGD,
    Adam,
    KerasOwn,
    Rig,
    data,
    fitted,
    patterns,
)
from helpers.overflows_wanted import compare, fit_wanted

from course_utils.training import ReplicaSafeLossScaleOptimizer, dtype_policy


def xla(step):
    return tf.function(step, jit_compile=True)


@pytest.mark.parametrize(
    "wrap", [None, tf.function, xla], ids=["eager", "function", "xla"]
)
def test_on_one_device_the_scale_moves_as_computed(wrap):
    rig = Rig(wrap=wrap)
    for script in patterns(1).values():
        compare(script, rig.play(script))


@pytest.mark.parametrize("wrap", [tf.function, xla], ids=["function", "xla"])
def test_it_is_built_by_its_first_step(wrap):
    weight = keras.Variable([1.0])
    optimizer = ReplicaSafeLossScaleOptimizer(SGD(0.5))
    wrap(lambda: optimizer.apply([optimizer.scale_loss(tf.ones(1))], [weight]))()
    assert weight.numpy().tolist() == [0.5]


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_saved_and_loaded_it_goes_on_under_any_policy(tmp_path, policy):
    model, steps = fitted([(2, 0)], inner=Adam())
    assert steps == fit_wanted({2})
    model.save(tmp_path / "one.keras")
    with dtype_policy(policy):
        loaded = keras.models.load_model(tmp_path / "one.keras")
    assert type(loaded.optimizer) is ReplicaSafeLossScaleOptimizer
    for a, b in zip(model.optimizer.variables, loaded.optimizer.variables, strict=True):
        assert np.array_equal(a, b)
    for further in (model, loaded):
        further.fit(*data(1, [(1, 0)]), batch_size=4, shuffle=False, verbose=0)
    assert np.array_equal(model.get_weights()[0], loaded.get_weights()[0])
    assert (
        model.optimizer.dynamic_scale.numpy()
        == loaded.optimizer.dynamic_scale.numpy()
        != 2**13
    )


@pytest.mark.parametrize("order", [1, -1])
def test_a_checkpoint_of_keras_own_is_restored_and_the_other_way_round(tmp_path, order):
    first, second = (
        Rig(kind, Adam()) for kind in (KerasOwn, ReplicaSafeLossScaleOptimizer)[::order]
    )
    first.play(patterns(1)["at random"])
    path = tf.train.Checkpoint(optimizer=first.optimizer).save(tmp_path / "step")
    tf.train.Checkpoint(optimizer=second.optimizer).restore(path).assert_consumed()
    variables = zip(first.optimizer.variables, second.optimizer.variables, strict=True)
    assert all(np.array_equal(a, b) for a, b in variables)
