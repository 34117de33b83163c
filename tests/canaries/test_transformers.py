"""What notebook 10 teaches of Keras: attention's dtypes, accumulation, LoRA's slots."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from common import on_the_cpu  # noqa: F401

from course_utils.training import dtype_policy

pytestmark = pytest.mark.usefixtures("on_the_cpu")
MIXED = ("mixed_bfloat16", "mixed_float16")
X, Y = np.random.default_rng(0).normal(size=(32, 8)).astype("float32"), np.arange(32) % 3


@pytest.mark.parametrize("policy", MIXED)
def test_10_attention_multiplies_in_16_bits_and_takes_its_softmax_in_float32(policy):
    with dtype_policy(policy):
        layer = keras.layers.MultiHeadAttention(2, 4)
        layer(tf.ones((1, 5, 8)), tf.ones((1, 5, 8)))
    graph = tf.function(lambda x: layer(x, x)).get_concrete_function(tf.ones((1, 5, 8))).graph
    found = {}
    for operation in graph.get_operations():
        found.setdefault(operation.type, set()).update(t.dtype.name for t in operation.outputs)
    assert found["Softmax"] == {"float32"}
    products = set().union(*(found.get(op, ()) for op in ("MatMul", "BatchMatMulV2", "Einsum")))
    assert products == {policy.removeprefix("mixed_")}
    assert {weight.dtype for weight in layer.weights} == {"float32"}


def test_10_a_dtype_in_place_of_a_policy_takes_the_master_weights():
    with dtype_policy("mixed_bfloat16"):
        layer = keras.layers.MultiHeadAttention(2, 4, dtype="bfloat16")
        layer.build((1, 5, 8), (1, 5, 8))
    assert {weight.dtype for weight in layer.weights} == {"bfloat16"}


@pytest.mark.parametrize("policy", ("float32", *MIXED))
def test_10_four_small_batches_make_the_update_of_a_large_one(policy):
    found = {}
    for count in (1, 4):
        keras.utils.set_random_seed(0)
        with dtype_policy(policy):
            dense = keras.layers.Dense(3, dtype="float32")
            model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8, "tanh"), dense])
            steps = {"gradient_accumulation_steps": 4} if count == 4 else {}
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            model.compile(keras.optimizers.SGD(0.5, **steps), loss, jit_compile=False)
        inner = getattr(model.optimizer, "inner_optimizer", model.optimizer)
        assert (inner.gradient_accumulation_steps == 4) == (count == 4)
        for at in range(0, 32, 32 // count):
            model.train_on_batch(X[at : at + 32 // count], Y[at : at + 32 // count])
        found[count] = np.concatenate([w.ravel() for w in model.get_weights()])
    assert found[1] == pytest.approx(found[4], abs=1e-6 if policy == "float32" else 5e-3)


def test_10_lora_leaves_slots_for_what_is_trained_alone():
    layer = keras.layers.Dense(64)
    model = keras.Sequential([keras.Input((64,)), layer])
    layer.enable_lora(2)
    optimizer = keras.optimizers.AdamW()
    optimizer.build(model.trainable_variables)
    shapes = [tuple(v.shape) for v in model.trainable_variables]
    assert sorted(shapes) == [(2, 64), (64,), (64, 2)]
    slots = sum(np.prod(v.shape) for v in optimizer.variables if len(v.shape))
    assert slots == 2 * (64 + 2 * 2 * 64)
