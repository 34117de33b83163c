"""What notebook 12 teaches of saving and resuming."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf
from common import number
from keras.optimizers import SGD, Adam, LossScaleOptimizer


def saved(folder, **parts):
    return tf.train.Checkpoint(**parts).save(folder / "saved")


@pytest.mark.parametrize("file, asked", [("ab", "a"), ("a", "ab"), ("a", "a")])
def test_12_assert_consumed_finds_what_one_side_lacks(tmp_path, file, asked):
    path = saved(tmp_path, **{name: tf.Variable(1) for name in file})
    new = {name: tf.Variable(0) for name in asked}
    restored = tf.train.Checkpoint(**new).restore(path).expect_partial()
    assert int(new["a"]) == 1 and int(new.get("b", 0)) == 0
    lacks = contextlib.nullcontext() if file == asked else pytest.raises(AssertionError)
    with lacks:
        restored.assert_consumed()


def test_12_an_optimizer_that_is_not_built_is_found_too(tmp_path):
    built, new = (LossScaleOptimizer(Adam()) for _ in range(2))
    built.build([keras.Variable([1.0])])
    path = saved(tmp_path, optimizer=built)
    with pytest.raises(AssertionError):
        tf.train.Checkpoint(optimizer=new).restore(path).assert_consumed()


def test_12_a_model_does_not_bring_the_random_state_of_its_dropout(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dropout(0.5)])
    names = [name for name, _ in tf.train.list_variables(saved(tmp_path, model=model))]
    assert not any("seed" in name for name in names)


def test_12_fit_replaces_the_trained_weights_by_their_averages():
    x, y = np.ones((96, 2), "f"), np.ones((96, 1), "f")
    ends = []
    for epochs in ([2], [1, 1]):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile(SGD(0.1, use_ema=True), "mse", jit_compile=False)
        for count in epochs:
            model.fit(x, y, epochs=count, shuffle=False, verbose=0)
        ends.append(model.get_weights()[0])
    assert not np.array_equal(*ends)


def test_12_include_optimizer_is_ignored(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(Adam(), "mse")
    model.optimizer.build(model.trainable_variables)
    model.optimizer.iterations.assign(7)
    model.save(tmp_path / "model.keras", include_optimizer=False)
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert number(loaded.optimizer.iterations) == 7
