"""Notebook 04's cells whose numbers no stored output holds.

The tolerance holds for right layers and finds wrong ones.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils import benchmark, hardware, models, profiling
from tools.notebook_cells import Cells

CELL = Cells("04_mnist_cnn").run("tolerance")
DTYPES = tuple(CELL["UNIT"])


def layer(rng, dtype):
    """A random dense layer's inputs, weights and outputs in 16 bits."""
    n, units, batch = (int(2 ** rng.uniform(1, high)) for high in (11, 8, 6))
    x = rng.normal(rng.choice([0, 1]), rng.uniform(0.1, 3), (batch, n)).astype("f")
    w = rng.normal(rng.choice([0, 0.01]), n**-0.5, (n, units)).astype("f")
    dense = keras.layers.Dense(units, use_bias=False, dtype=f"mixed_{dtype}")
    dense.build(x.shape)
    dense.kernel.assign(w)
    return x, w, tf.cast(dense(x), "float32").numpy()


@pytest.mark.slow
def test_the_tolerance_holds_for_a_thousand_random_layers():
    rng = np.random.default_rng(0)
    for number in range(1000):
        dtype = DTYPES[number % 2]
        x, w, y = layer(rng, dtype)
        exact = x.astype(float) @ w
        np.testing.assert_allclose(y, exact, **CELL["tolerance"](x, w, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_tolerance_finds_a_layer_that_adds_up_in_16_bits(dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 2048)).astype("float32")
    w = rng.normal(size=(2048, 16)).astype("float32")
    kind = tf.as_dtype(dtype).as_numpy_dtype
    total = np.zeros((16, 16), kind)
    for column, row in zip(x.T.astype(kind), w.astype(kind), strict=True):
        total = (total + np.outer(column, row).astype(kind)).astype(kind)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(
            total.astype(float), x.astype(float) @ w, **CELL["tolerance"](x, w, dtype)
        )


@pytest.mark.slow
def test_float16_s_arrays_are_smaller_and_its_routines_take_room_on_cpus_without_it():
    """What the text below the cell `space` says of them."""

    def build():
        model = models.mnist_cnn(16)
        model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
        return model

    x, y = np.random.rand(128, 28, 28, 1).astype("f4"), np.zeros(128, "int32")
    found = profiling.peaks(build, x, y, [128], ("float32", "mixed_float16"), 0)
    middle = found.groupby("policy")[["counted", "working"]].median()
    single, half = middle.loc["float32"], middle.loc["mixed_float16"]
    assert half["counted"] < 0.75 * single["counted"]
    told = benchmark.counts_memory()
    assert np.isnan(half["working"]) != told
    if told and hardware.x86_without_float16(hardware.detect()):
        saved = single["counted"] - half["counted"]
        assert half["working"] - single["working"] > 0.5 * saved
