"""What notebook 10 teaches of Keras: attention's dtypes and LoRA's slots."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from common import on_the_cpu  # noqa: F401

from course_utils.training import dtype_policy

pytestmark = pytest.mark.usefixtures("on_the_cpu")
MIXED = ("mixed_bfloat16", "mixed_float16")


@pytest.mark.parametrize("policy", MIXED)
def test_10_attention_multiplies_in_16_bits_and_takes_its_softmax_in_float32(policy):
    with dtype_policy(policy):
        layer = keras.layers.MultiHeadAttention(2, 4)
    x = tf.ones((1, 5, 8))
    layer(x, x)
    graph = tf.function(lambda x: layer(x, x)).get_concrete_function(x).graph
    dtypes = [
        (op.type, op.outputs[0].dtype.name)
        for op in graph.get_operations()
        if op.outputs
    ]
    assert {dtype for kind, dtype in dtypes if kind == "Softmax"} == {"float32"}
    products = {
        d for kind, d in dtypes if kind in ("MatMul", "BatchMatMulV2", "Einsum")
    }
    assert products == {policy.removeprefix("mixed_")}
    assert {weight.dtype for weight in layer.weights} == {"float32"}


def test_10_a_dtype_in_place_of_a_policy_takes_the_master_weights():
    with dtype_policy("mixed_bfloat16"):
        layer = keras.layers.MultiHeadAttention(2, 4, dtype="bfloat16")
        layer.build((1, 5, 8), (1, 5, 8))
    assert {weight.dtype for weight in layer.weights} == {"bfloat16"}


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


def test_10_lora_splits_the_last_axis_of_a_head_alone():
    query = keras.layers.EinsumDense("abc,cde->abde", (None, 3, 8), bias_axes="de")
    query.build((None, None, 24))
    query.enable_lora(2)
    added = [
        v.shape
        for v in query.trainable_variables
        if len(v.shape) > 1 and "lora" in v.path
    ]
    assert sorted(map(tuple, added)) == [(2, 8), (24, 3, 2)]
