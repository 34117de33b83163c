"""What notebook 02 promises: its own cells run here with other seeds, and are looked at."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from cells import Cells

from course_utils import datasets, models, session
from course_utils.benchmark import gradient_record

NOTEBOOK = Cells("02_loss_scaling")
MIXED = ("mixed_float16", "mixed_bfloat16")


@pytest.fixture(scope="module")
def notebook():
    """The names that the notebook's first cells define."""
    session.setup()
    names = {"np": np, "tf": tf, "digits": datasets.load_mnist()}
    return NOTEBOOK.run("small-network", "activation-gradients", "volts", names=names)


@pytest.mark.slow
def test_pure_16_bits_end_far_above_float32_and_mixed_policies_beside_it(notebook):
    """With other seeds than the notebook's."""
    seeds = [(f"set_random_seed({k})", f"set_random_seed({k + 3})") for k in (1, 0)]
    NOTEBOOK.run("train", names=notebook, replaced=seeds)
    NOTEBOOK.run("train-five", names=notebook)
    last = {policy: losses[-1] for policy, losses in notebook["losses"].items()}
    learned = notebook["losses"]["float32"][0] - last["float32"]
    assert learned > 0.8
    for policy in MIXED:
        assert abs(last[policy] - last["float32"]) < 0.02 * learned, last
    assert last["float16"] - last["float32"] > 0.1 * learned, last
    assert last["bfloat16"] - last["float32"] > 0.5 * learned, last
    for policy in MIXED:
        assert {v.dtype for v in notebook["models"][policy].trainable_variables} == {"float32"}


def train_on_volts(notebook, scale, steps=5):
    model = notebook["autoencoder"]("mixed_float16")
    start = [np.array(w) for w in model.get_weights()]
    adam = keras.optimizers.Adam(0.001, epsilon=1e-15, loss_scale_factor=scale)
    model.compile(adam, notebook["mse"], auto_scale_loss=False, jit_compile=False)
    for _ in range(steps):
        model.train_on_batch(notebook["volts"], notebook["volts"])
    end = model.get_weights()
    moved = [np.mean(a != b) for a, b in zip(start, end, strict=True)]
    return moved, all(np.isfinite(w).all() for w in end)


@pytest.mark.slow
def test_with_too_small_a_scale_no_weight_of_the_sensors_network_moves(notebook):
    for scale in (1.0, 512.0):
        moved, finite = train_on_volts(notebook, scale)
        assert moved == [0, 0] and finite
    moved, finite = train_on_volts(notebook, 2.0**24)
    assert min(moved) > 0.1 and finite  # always blank pixels move nothing
    assert not train_on_volts(notebook, 2.0**60)[1]


def test_the_learners_function_is_the_one_that_recorded(notebook):
    keras.utils.set_random_seed(0)
    images = notebook["digits"].x_train[:8, ..., None].astype("f4") / 255
    labels, model = notebook["digits"].y_train[:8], models.mnist_cnn()
    mine = notebook["activation_gradients"](model, images, labels, notebook["loss_fn"])
    theirs = gradient_record.gradients_of(model, images, labels, notebook["loss_fn"])["activations"]
    assert list(mine) == list(theirs)
    for name in mine:
        np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-5)
