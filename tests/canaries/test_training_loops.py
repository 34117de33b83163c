"""What a training loop of one's own does in 16 bits, as notebook 06 teaches it.

When a new release changes one of these behaviours, the test that fails names the notebook to mend.
What its own cells show is in test_notebook06.py, what a run needs to go on in test_resume.py.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from common import number, on_the_cpu  # noqa: F401

from course_utils.training import dtype_policy

Dense, LossScaleOptimizer = keras.layers.Dense, keras.optimizers.LossScaleOptimizer
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
SOURCE = np.random.default_rng(0)
X, Y = SOURCE.normal(size=(32, 8)).astype("float32"), SOURCE.integers(0, 3, 32)
pytestmark = pytest.mark.usefixtures("on_the_cpu")


def equal(ones, others):
    return all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(ones, others, strict=True))


def network(policy="mixed_float16", *extra):
    """The same weights at each call."""
    keras.utils.set_random_seed(1)
    with dtype_policy(policy):
        layers = [Dense(16, "relu"), *extra, Dense(3, dtype="float32")]
        return keras.Sequential([keras.Input((8,)), *layers])


def scaled(scale=1024.0, growth=3):
    return LossScaleOptimizer(keras.optimizers.Adam(0.01), scale, growth)


def trained(policy="mixed_float16", *extra, optimizer=None):
    """A model and its optimizer after four steps: the scale has doubled once."""
    model, optimizer = network(policy, *extra), optimizer or scaled()
    optimizer.build(model.trainable_variables)
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = optimizer.scale_loss(LOSS(Y, model(X, training=True)))
        optimizer.apply(tape.gradient(loss, model.trainable_variables))
    return model, optimizer


def test_06_a_checkpoint_of_the_optimizer_holds_scale_counter_and_moments(tmp_path):
    model, optimizer = trained()
    path = tf.train.Checkpoint(optimizer=optimizer).save(tmp_path / "c")
    other_model, other = network(), scaled()
    other.build(other_model.trainable_variables)
    tf.train.Checkpoint(optimizer=other).restore(path)
    assert (number(other.dynamic_scale), number(other.step_counter)) == (2048, 1)
    assert equal(other.variables, optimizer.variables)
    # The optimizer refers to the weights it trains, so they are in its checkpoint too.
    assert equal(other_model.trainable_variables, model.trainable_variables)
    path = tf.train.Checkpoint(optimizer=optimizer.inner_optimizer).save(tmp_path / "inner")
    names = [name for name, _ in tf.train.list_variables(path)]
    assert not any("dynamic_scale" in name or "step_counter" in name for name in names)
    _, skipping = trained(optimizer=scaled(2.0**40))  # iterations leave out skipped steps
    assert number(skipping.iterations) == 0 and number(skipping.dynamic_scale) == 2**36


def test_06_but_no_weights_that_are_not_trained(tmp_path):
    normalized = keras.layers.BatchNormalization
    model, optimizer = trained("float32", normalized(), optimizer=keras.optimizers.Adam())
    path = tf.train.Checkpoint(optimizer=optimizer).save(tmp_path / "c")
    other_model, other = network("float32", normalized()), keras.optimizers.Adam()
    other.build(other_model.trainable_variables)
    tf.train.Checkpoint(optimizer=other).restore(path)
    assert equal(other_model.trainable_variables, model.trainable_variables)
    assert not equal(other_model.non_trainable_variables, model.non_trainable_variables)


def test_06_a_scaled_optimizer_restored_before_it_is_built_takes_one_step_with_another_scale(
    tmp_path,
):
    """scale_loss multiplies by initial_scale, apply divides by the restored one."""
    path = tf.train.Checkpoint(optimizer=trained()[1]).save(tmp_path / "c")
    for built in (True, False):
        model, other = network(), scaled()
        if built:
            other.build(model.trainable_variables)
        tf.train.Checkpoint(optimizer=other).restore(path)
        assert number(other.scale_loss(tf.constant(1.0))) == (2048 if built else 1024)
        assert hasattr(other, "dynamic_scale") == built
        if not built:
            other.build(model.trainable_variables)
        assert number(other.dynamic_scale) == 2048


def test_06_python_runs_while_the_graph_is_recorded_and_not_again():
    for jit in (False, True):
        seen, scale = [], 1024.0

        @tf.function(jit_compile=jit)
        def scaled(loss):
            seen.append(scale)  # noqa: B023
            return scale * loss  # noqa: B023

        first = number(scaled(tf.constant(1.0)))
        scale = 2.0
        assert (first, number(scaled(tf.constant(1.0))), seen) == (1024, 1024, [1024])
