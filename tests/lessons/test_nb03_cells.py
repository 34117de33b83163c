"""Notebook 03's cells whose numbers no stored output holds."""

import re
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.explorers import SoftmaxCliff
from course_utils.hardware.xla import has_xla
from course_utils.training import dtype_policy
from tools.notebook_cells import Cells


def test_normalization_layers_but_one_compute_in_float32_inside():
    """A variance of 250,000 fits into no float16, and all but UnitNormalization get it
    right.
    """
    names = dict(np=np, tf=tf, keras=keras, dtype_policy=dtype_policy)
    lines = Cells("03_policy").printed("norms", names=names)
    errors = {
        line.split()[0]: float(re.search(r"error ([\d.]+)", line)[1]) for line in lines
    }
    assert [*errors] == ["Batch", "Layer", "Group", "RMS", "Unit"]
    assert all("returns float16" in line for line in lines)
    assert errors.pop("Unit") > 0.1 and max(errors.values()) < 0.01


def test_the_samples_on_the_cliff_are_those_that_teach_the_network_nothing():
    """The two logits of the cliff stand for the ten of a network, sample by sample."""
    names = {"np": np, "tf": tf, "keras": keras}
    cliff = Cells("03_policy").run("gradients", names=names)["gradients"]
    labels = np.arange(64) % 10
    logits = tf.Variable(
        np.random.default_rng(0).normal(0, 8, (64, 10)), dtype="float32"
    )
    softmax = keras.layers.Activation("softmax", dtype="mixed_bfloat16")
    loss_of = keras.losses.SparseCategoricalCrossentropy(reduction="sum")
    with tf.GradientTape() as tape:
        loss = loss_of(labels, softmax(tf.cast(logits, "bfloat16")))
    gradient = tape.gradient(loss, logits).numpy()[np.arange(64), labels]
    rounded = tf.cast(logits, "bfloat16")
    gaps = SoftmaxCliff.gaps_of(rounded, labels)
    lost = (gaps > 0) & (np.abs(gradient) < 1e-6)
    assert 0 < lost.sum() < (gaps > 0).sum()
    # near the edge p may be rounded to either side
    clear = np.abs(gaps - 16.1) > 0.3
    expected = cliff("mixed_bfloat16", gaps)
    np.testing.assert_allclose(-gradient[clear], expected[clear], atol=0.01)


def test_gaps_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="gap of the batch is not finite"):
        SoftmaxCliff(lambda dtype, gaps, scale: gaps, [1, np.inf])


def test_only_a_softmax_that_comes_last_keeps_its_gradient_and_logits_always_do():
    """The first gap at which it is silent, in three dtypes: None where it never is."""
    names = {"np": np, "tf": tf, "keras": keras}
    silent = Cells("03_policy").run("ends", "ends-run", names=names)["silent"]
    starts = {}
    for dtype, ends in silent.items():
        for end, text in ends.items():
            found = re.fullmatch(r"never|from ([\d.]+) on", text)[1]
            starts[end, dtype] = float(found) if found else None
    dtypes = ("float32", "mixed_bfloat16", "mixed_float16")
    assert starts["softmax", "float32"] is None
    assert all(starts["logits, then Reshape", dtype] is None for dtype in dtypes)
    assert all(starts["softmax, then Reshape", dtype] > 16 for dtype in dtypes)
    assert all(starts["softmax", dtype] > 16 for dtype in dtypes[1:])


def test_a_false_alarm_of_a_sigmoid_is_silent_early_and_a_miss_is_not():
    names = {"np": np, "tf": tf, "keras": keras}
    silent_from = Cells("03_policy").run("sigmoid", names=names)["silent_from"]
    alarms = {
        bits: silent_from(bits, 0) for bits in ("mixed_bfloat16", "mixed_float16")
    }
    # the largest number below 1 is 1 - 2^-8 and 1 - 2^-11; what is above its middle is 1
    assert alarms["mixed_bfloat16"] == pytest.approx(np.log(2**9 - 1) - 0.69, abs=0.75)
    assert alarms["mixed_float16"] == pytest.approx(np.log(2**12 - 1), abs=0.75)
    assert alarms["mixed_bfloat16"] < alarms["mixed_float16"]
    assert all(silent_from(bits, 1) > 16 for bits in alarms)
    assert silent_from("float32", 0) == silent_from("float32", 1) == np.inf


def test_a_policy_belongs_to_its_thread_and_ends_with_the_session():
    lines = Cells("03_policy").printed("thread", names={"keras": keras})
    dtypes = [re.findall("float16|float32", line) for line in lines]
    assert dtypes == [["float16", "float32", "float32"], ["float16"] * 3]
    assert keras.config.dtype_policy().name == "float32"


def test_the_lines_to_copy_train_and_save_as_they_stand_in_any_thread(tmp_path):
    recap = Cells("03_policy").sources["recap"]
    (code,) = re.findall(r"```python\n(.*?)```", recap, re.S)
    names = {"keras": keras}
    exec(code, names)

    def trained():
        model = names["build_model"]()
        model.fit(np.ones((8, 4)), np.zeros(8, int), verbose=0)
        return model

    model = ThreadPoolExecutor(1).submit(trained).result()
    assert keras.config.dtype_policy().name == "float32"  # of this thread
    assert [layer.compute_dtype for layer in model.layers] == ["float16", "float32"]
    assert model.loss.from_logits
    model.save(tmp_path / "mine.keras")
    loaded = keras.saving.load_model(tmp_path / "mine.keras").optimizer
    assert type(loaded).__name__ == "LossScaleOptimizer"
    assert type(loaded.inner_optimizer).__name__ == "Adam"
    assert int(loaded.iterations) == int(model.optimizer.iterations) > 0


def test_the_cell_prints_the_warning_that_names_the_lost_loss_scale(tmp_path):
    def small(softmax):
        head = keras.layers.Dense(10, activation="softmax", dtype=softmax)
        layers = [keras.layers.Flatten(), head]
        return keras.Sequential([keras.Input((28, 28, 1)), *layers])

    digits = SimpleNamespace(x_train=np.ones((96, 28, 28)), y_train=np.zeros(96, int))
    names = dict(keras=keras, dtype_policy=dtype_policy, six_layers=small)
    names |= dict(data=digits, mean=0.5, spread=2.0)
    lost, kept = Cells("03_policy").printed("save", "load", names=names)
    assert "step 0, scale None · Skipping variable loading for optimizer 'adam" in lost
    assert kept == "wrapped by you: step 3, scale 4096"


def test_the_lost_loss_scale_has_one_warning(tmp_path):
    with dtype_policy("mixed_float16"):
        dense = keras.layers.Dense(2, activation="softmax", dtype="float32")
        model = keras.Sequential([keras.Input((4,)), dense])
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(np.ones((8, 4)), np.zeros(8, int), verbose=0)
    model.save(tmp_path / "model.keras")
    with pytest.warns(UserWarning) as caught:
        keras.saving.load_model(tmp_path / "model.keras")
    (words,) = [str(one.message) for one in caught]
    assert words.startswith("Skipping variable loading for optimizer 'adam")


def test_a_model_is_wrapped_unless_it_says_that_it_shall_not_be():
    with dtype_policy("mixed_float16"):
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    for options, wanted in (
        ({}, "LossScaleOptimizer"),
        ({"auto_scale_loss": False}, "SGD"),
    ):
        model.compile("sgd", "mse", **options)
        assert type(model.optimizer).__name__ == wanted


def test_what_xla_compiles_is_not_rewritten_to_16_bits():
    if not has_xla():
        pytest.skip("no XLA for this device")
    a = np.random.default_rng(0).normal(size=(64, 64)).astype("float32")
    option = "auto_mixed_precision_onednn_bfloat16"
    results = []
    for on in (False, True):
        tf.config.optimizer.set_experimental_options({option: on})
        try:
            results.append(tf.function(tf.matmul, jit_compile=True)(a, a).numpy())
        finally:
            tf.config.optimizer.set_experimental_options({option: False})
    assert np.array_equal(*results)
