"""What dtype policies do in Keras, as notebooks 00, 03 and 04 teach it: layers,
outputs, files.

When a new release changes one of these behaviours, the test that fails names the
notebook to mend.
"""

import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
import tensorflow as tf
from common import number

from course_utils import hardware, roofline
from course_utils.training import dtype_policy
from tools.notebook_cells import Cells

Layer = keras.layers.Layer
Dense = keras.layers.Dense
Adam = keras.optimizers.Adam
LossScaleOptimizer = keras.optimizers.LossScaleOptimizer
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
X = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")
Y = np.zeros(16, "int32")


def network(policy, head="float32"):
    with dtype_policy(policy):
        layers = [Dense(8, activation="relu"), keras.layers.BatchNormalization()]
        return keras.Sequential([keras.Input((4,)), *layers, Dense(2, dtype=head)])


def policies(model):
    return [
        model.dtype_policy.name,
        *(layer.dtype_policy.name for layer in model.layers),
    ]


# What a policy is


def test_03_an_input_is_float32_whatever_the_policy_and_an_unknown_one_is_refused():
    with dtype_policy("mixed_float16"):
        assert keras.Input((4,)).dtype == "float32"
    with pytest.raises(ValueError, match="'half'"):
        keras.config.set_dtype_policy("half")


def test_03_a_policy_belongs_to_its_thread_and_clear_session_drops_it():
    """tf.keras of Keras 2 did neither (docs/migration.md)."""

    def layer_and_model():
        return Dense(1).compute_dtype, keras.Sequential([Dense(1)]).dtype_policy.name

    seen = {}
    with dtype_policy("mixed_float16"):
        seen["here"] = layer_and_model()
        model = network("mixed_float16")
        with ThreadPoolExecutor(1) as other:
            seen["there"] = other.submit(layer_and_model).result()
            # what is made already keeps its policy everywhere
            assert other.submit(policies, model).result()[0] == "mixed_float16"
        assert layer_and_model() == seen["here"]
        keras.backend.clear_session()
        seen["cleared"] = layer_and_model()
    float32 = ("float32", "float32")
    assert seen == {
        "here": ("float16", "mixed_float16"),
        "there": float32,
        "cleared": float32,
    }


# What Keras casts


class Spy(Layer):
    """Notes the dtypes that arrive."""

    def call(self, x, other=None, *, more=None):
        self.seen = keras.tree.map_structure(
            lambda value: getattr(value, "dtype", type(value)),
            (x, other, more),
            none_is_leaf=False,
        )
        return keras.tree.flatten(x)[0]


FLOAT32 = tf.ones((2, 2))
FLOAT64 = tf.ones((2, 2), tf.float64)
INT32 = tf.ones((2, 2), tf.int32)
BOOL = tf.ones((2, 2), tf.bool)


def test_04_fit_hands_float64_data_to_the_model_as_float32():
    seen = []

    class Noting(keras.Sequential):
        def train_step(self, data):
            seen.append(data[0].dtype)
            return super().train_step(data)

    model = Noting([keras.Input((4,)), Dense(2)])
    model.compile("sgd", LOSS, jit_compile=False)
    model.fit(X.astype(np.float64), Y, verbose=0)
    assert set(seen) == {tf.float32}


def test_03_a_layer_casts_every_floating_tensor_in_its_arguments_and_nothing_else():
    """Keras 2 cast the first argument alone."""
    spy = Spy(dtype="mixed_float16")
    half = tf.float16
    spy(
        {"a": FLOAT32, "b": INT32},
        {"deep": [FLOAT32, BOOL]},
        more=[FLOAT64, np.ones(2, np.int64)],
    )
    assert spy.seen == (
        {"a": half, "b": tf.int32},
        {"deep": [half, tf.bool]},
        [half, tf.int64],
    )
    spy(FLOAT32, more=1.5)
    assert spy.seen[2] is float
    spy = Spy(dtype="mixed_float16", autocast=False)
    spy(FLOAT32, FLOAT64)
    assert spy.seen[:2] == (tf.float32, tf.float64)


# What compile adds


def test_03_a_model_of_a_class_casts_its_inputs_to_the_policy_set_later():
    class Passing(keras.Model):
        def call(self, inputs):
            return inputs

    passing, spy = Passing(), network("float32", head="float32")
    for model, dtype in ((passing, tf.float16), (spy, tf.float32)):
        model.dtype_policy = "mixed_float16"
        assert model(X).dtype == dtype


# Custom layers


def test_03_the_name_of_a_weight_is_no_positional_argument_any_more():
    """Keras 3.13 has an error of Python's, later versions one of their own."""
    message = "multiple values for argument 'shape'|`name` must be passed as a keyword"
    with pytest.raises((TypeError, ValueError), match=message):
        Dense(1).add_weight("kernel", shape=(2, 2))


def test_03_a_mask_of_1e9_is_nan_in_float16_and_kerass_own_is_not():
    names = {"np": np, "tf": tf}
    lines = Cells("03_policy").printed("mask", names=names)
    weights = {line.split()[0]: line.split("[")[1] for line in lines}
    assert weights.pop("float16").split() == ["nan", "nan]"]
    assert len(weights) == 2 and not any("nan" in each for each in weights.values())
    # oneDNN's softmax keeps the 0 of the hidden one on a CPU with avx512_fp16
    scores = tf.constant([np.nan, np.nan, -np.inf], "float16")
    spread = "avx512_fp16" not in (hardware.detect().instruction_sets or ())
    assert np.isnan(tf.nn.softmax(scores)[2]) == spread
    layer = keras.layers.Softmax(dtype="float16")
    hidden = layer(np.ones((1, 3), np.float16), mask=np.array([[True, True, False]]))
    assert np.asarray(hidden).tolist() == [[0.5, 0.5, 0]]


# Saving and loading


@pytest.mark.parametrize(
    ("under", "optimizer", "then", "loaded", "goes_on"),
    [
        ("mixed_float16", Adam, "mixed_float16", LossScaleOptimizer, True),
        ("mixed_float16", Adam, "float32", Adam, False),
        (
            "mixed_float16",
            lambda: LossScaleOptimizer(Adam()),
            "float32",
            LossScaleOptimizer,
            True,
        ),
        ("float32", Adam, "mixed_float16", LossScaleOptimizer, False),
    ],
)
def test_03_a_loaded_optimizer_starts_again_where_the_policy_wraps_it_otherwise_than_its_file(
    under, optimizer, then, loaded, goes_on, tmp_path
):
    before = network(under)
    before.compile(optimizer(), LOSS, jit_compile=False)
    before.fit(X, Y, batch_size=4, verbose=0)
    before.save(tmp_path / "m.keras")
    with dtype_policy(then), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = keras.models.load_model(tmp_path / "m.keras")
    said = [str(w.message) for w in caught if "Skipping variable" in str(w.message)]
    assert type(model.optimizer) is loaded and bool(said) == (not goes_on)
    if goes_on:
        assert (
            number(model.optimizer.iterations)
            == number(before.optimizer.iterations)
            > 0
        )
        assert number(model.optimizer.dynamic_scale) == number(
            before.optimizer.dynamic_scale
        )
    else:
        assert number(model.optimizer.iterations) == 0
        assert said[0].startswith("Skipping variable loading for optimizer '")
        assert set(re.findall(r"has (\d+)", said[0])) == {"14", "18"}
    assert policies(model) == [then, *policies(before)[1:]]
    assert all(map(np.array_equal, model.get_weights(), before.get_weights()))
    model.fit(X, Y, verbose=0)
    assert type(model.optimizer) is loaded  # it trains on as it was loaded


def test_03_frozen_normalization_keeps_its_statistics():
    normalization = keras.layers.BatchNormalization(dtype="mixed_float16")
    x = np.random.default_rng(0).normal(3, 2, (32, 8)).astype(np.float16)
    inference = normalization(x, training=False)
    before = normalization.get_weights()
    for trainable in (False, True):
        normalization.trainable = trainable
        assert np.array_equal(normalization(x, training=True), inference) != trainable
        assert np.array_equal(normalization.get_weights(), before) != trainable


def test_04_dropout_draws_other_elements_under_another_policy_and_more_in_bfloat16():
    """TensorFlow draws in the dtype of the layer, where bfloat16 knows rates in steps
    of 1/128.
    """
    ones = np.ones((1000, 1000), "float32")

    def dropped(dtype):
        layer = keras.layers.Dropout(0.01, seed=1, dtype=dtype)
        return np.asarray(layer(ones, training=True)).astype("float32") == 0

    single, coarse = dropped("float32"), dropped("mixed_bfloat16")
    half = dropped("mixed_float16")
    for other in (coarse, half):
        assert np.mean(single & other) < 0.1 * single.mean()  # chance would be 0.01
    assert single.mean() == pytest.approx(0.01, abs=0.001)
    assert half.mean() == pytest.approx(11 / 1024, abs=0.0005)
    assert coarse.mean() == pytest.approx(2 / 128, abs=0.001)
    assert np.array_equal(single, dropped("float32"))


# Going further

GRAPH_LEVEL = "auto_mixed_precision_onednn_bfloat16"


@pytest.mark.skipif(
    not hardware.detect().onednn
    or "avx512f" not in (hardware.detect().instruction_sets or ()),
    reason="on other CPUs TensorFlow may leave oneDNN off",
)
def test_03_mixed_precision_in_the_graph_shows_in_the_values_alone():
    """Results are bfloat16 numbers in a float32 tensor, and not in eager code."""
    a, b = tf.random.stateless_normal((2, 256, 256), (0, 0))

    def shares():
        results = [call(a, b) for call in (tf.function(tf.matmul), tf.matmul)]
        assert {result.dtype for result in results} == {tf.float32}
        rounded = [
            tf.cast(tf.cast(result, "bfloat16"), "float32") for result in results
        ]
        return [np.mean(r == each) for r, each in zip(rounded, results, strict=True)]

    with tf.device("CPU:0"):
        try:
            tf.config.optimizer.set_experimental_options({GRAPH_LEVEL: True})
            in_graph, eager = shares()
        finally:
            tf.config.optimizer.set_experimental_options({GRAPH_LEVEL: False})
        assert in_graph == 1 and eager < 0.1
        assert max(shares()) < 0.1


@pytest.mark.parametrize(("dropout", "dtype"), [(0.0, "float32"), (0.1, "bfloat16")])
def test_04_attention_keeps_its_scores_in_float32_where_it_has_no_dropout(
    dropout, dtype
):
    with dtype_policy("mixed_bfloat16"):
        tokens = keras.Input((64, 32))
        attention = keras.layers.MultiHeadAttention(2, 16, dropout=dropout)
        model = keras.Model(tokens, attention(tokens, tokens))
        model.compile("sgd", "mse", jit_compile=False)
    x = np.ones((2, 64, 32), "float32")
    table = roofline.count(model.train_step, (x, x)).table
    assert set(table.loc[table["type"] == "Softmax", "dtype"]) == {dtype}


def test_03_a_file_does_not_hold_auto_scale_loss(tmp_path):
    with dtype_policy("mixed_float16"):
        model = keras.Sequential([keras.Input((3,)), Dense(1)])
        own = keras.optimizers.SGD(loss_scale_factor=128)
        model.compile(own, "mse", auto_scale_loss=False)
        model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
        model.save(tmp_path / "model.keras")
        wrapped = keras.models.load_model(tmp_path / "model.keras").optimizer
    assert isinstance(wrapped, LossScaleOptimizer)
    assert wrapped.inner_optimizer.loss_scale_factor is None
    kept = keras.models.load_model(tmp_path / "model.keras").optimizer
    assert not isinstance(kept, LossScaleOptimizer)
    assert kept.loss_scale_factor == 128 and int(kept.iterations) == 1


@pytest.mark.parametrize(("beta_2", "moves"), [(0.999, False), (0.99, True)])
def test_02_adam_in_pure_bfloat16_stands_still_as_its_beta_2_rounds_to_1(beta_2, moves):
    with dtype_policy("bfloat16"):
        model = keras.Sequential([keras.Input((3,)), Dense(1)])
        model.compile(Adam(0.1, beta_2=beta_2), "mse", jit_compile=False)
    before = np.asarray(model.weights[0], "float32")
    model.fit(np.ones((4, 3)), 5 * np.ones((4, 1)), verbose=0)
    assert (np.asarray(model.weights[0], "float32") != before).all() == moves
