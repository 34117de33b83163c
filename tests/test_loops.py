"""The loops of docs/loops.md are right under every policy, as `probe` judges them."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from mixed_precision_lint import probe

from tools.canonical_form import COURSE

PAGE = (COURSE / "docs/loops.md").read_text(encoding="utf-8")
LOOPS: dict = {}
exec("\n\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)), LOOPS)
STEPS = [name for name in LOOPS if name.endswith("_step")]
POLICIES = ("mixed_float16", "mixed_bfloat16", "float32")
PLAIN = "mixed_bfloat16, without the wrapper"
RNG = np.random.default_rng(0)
X = RNG.random((32, 64), dtype="float32")
Y = RNG.integers(0, 10, 32)

pytestmark = pytest.mark.slow


def test_the_page_has_seven_loops():
    assert PAGE.count("\n## ") == 7
    assert len(STEPS) == 5 and {"Own", "two_steps"} <= set(LOOPS)


@pytest.mark.parametrize("policy", (*POLICIES, PLAIN))
@pytest.mark.parametrize("name", STEPS)
def test_a_loop_is_right(name, policy):
    def build_loop():
        keras.utils.set_random_seed(0)
        model, optimizer = LOOPS["make"](policy.split(",")[0])
        if policy == PLAIN:
            optimizer = keras.optimizers.Adam(1e-3)
            optimizer.build(model.trainable_variables)
        return model, optimizer, LOOPS[name](model, optimizer)

    x = tf.constant(X) if name == "penalty_step" else X
    assert probe(build_loop, x, Y) == []
    model, _, step = build_loop()
    losses = [float(step(tf.constant(X), tf.constant(Y))) for _ in range(20)]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_train_step_is_right(policy):
    def build_loop():
        keras.utils.set_random_seed(0)
        keras.config.set_dtype_policy(policy)
        inputs = keras.Input((64,))
        hidden = keras.layers.Dense(32, "relu")(inputs)
        outputs = keras.layers.Dense(10, dtype="float32")(hidden)
        model = LOOPS["Own"](inputs, outputs)
        model.compile("adam", LOOPS["loss_fn"], jit_compile=False)
        keras.config.set_dtype_policy("float32")
        return model, model.optimizer, model.train_on_batch

    model, optimizer, step = build_loop()
    is_wrapped = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    assert is_wrapped == (policy == "mixed_float16")
    assert probe(build_loop, X, Y) == []
    losses = model.fit(X, Y, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert losses[0] == pytest.approx(np.log(10), rel=0.2)  # not scaled


@pytest.mark.parametrize("policy", POLICIES)
def test_each_of_two_networks_is_right_and_stops_alone(policy):
    def dense(inputs, outputs):
        keras.config.set_dtype_policy(policy)
        hidden = keras.layers.Dense(32, "relu")
        last = keras.layers.Dense(outputs, dtype="float32")
        model = keras.Sequential([keras.Input((inputs,)), hidden, last])
        keras.config.set_dtype_policy("float32")
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(1e-3))
        optimizer.build(model.trainable_variables)
        return model, optimizer

    keras.utils.set_random_seed(0)
    (generator, for_generator), (critic, for_critic) = dense(8, 64), dense(64, 1)
    step = LOOPS["two_steps"](generator, critic, for_generator, for_critic)
    noise = tf.constant(X[:, :8])
    for _ in range(5):
        step(noise, tf.constant(X))
    before = [weight.numpy() for weight in generator.weights]
    first = float(for_generator.dynamic_scale), float(for_critic.dynamic_scale)
    # One bad picture reaches the critic alone.
    bad = np.where(np.arange(32)[:, None] == 0, np.inf, X).astype("float32")
    step(noise, tf.constant(bad))
    assert float(for_critic.dynamic_scale) == first[1] / 2
    assert float(for_generator.dynamic_scale) == first[0]
    moved = [
        np.any(old != weight.numpy())
        for old, weight in zip(before, generator.weights, strict=True)
    ]
    assert all(moved)
    assert all(np.isfinite(weight.numpy()).all() for weight in critic.weights)
