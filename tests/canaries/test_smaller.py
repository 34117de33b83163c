"""Recomputation and quantization in Keras, where no cell of notebook 08 shows it."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from common import on_the_cpu  # noqa: F401

from course_utils.benchmark import lite
from course_utils.hardware.xla import has_xla
from course_utils.training import dtype_policy

pytestmark = pytest.mark.usefixtures("on_the_cpu")
Dense = keras.layers.Dense
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
X = np.random.default_rng(0).normal(size=(32, 8)).astype("float32")
Y = np.arange(32) % 3


class Recomputed(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.inner = keras.Sequential([Dense(16, "relu"), Dense(8, "relu")])

    def call(self, x):
        return keras.remat(self.inner)(x)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_08_remat_inside_a_layer_trains_with_xla_under_every_policy(policy):
    """Without XLA the cells of notebook 08 train so."""
    if not has_xla():
        pytest.skip("no XLA for this device")
    with dtype_policy(policy):
        model = keras.Sequential(
            [keras.Input((8,)), Recomputed(), Dense(3, dtype="float32")]
        )
    model.compile(keras.optimizers.Adam(0.01), LOSS, jit_compile=True)
    losses = model.fit(X, Y, epochs=30, batch_size=32, verbose=0).history["loss"]
    assert losses[-1] < losses[0] - 0.05


def test_08_remat_takes_keywords_only_outside_of_a_graph():
    layer = Dense(4)
    layer.build((None, 8))
    keras.remat(layer)(X, training=True)
    with pytest.raises(ValueError, match="keywords arguments only when eager"):
        tf.function(lambda x: keras.remat(layer)(x, training=True))(X)


@pytest.mark.parametrize(
    ("layer", "gradient"),
    [
        (keras.layers.Dropout(0.5), 1.0),  # no mask
        (keras.layers.BatchNormalization(momentum=1.0), 1 / np.sqrt(1.001)),
    ],
    ids=["Dropout", "BatchNormalization"],
)
def test_13_what_is_recomputed_in_a_call_does_not_know_that_it_trains(layer, gradient):
    """Keras 3.13 to 3.15, where the call passes no `training` on."""

    class Block(keras.layers.Layer):
        def call(self, x):
            return keras.remat(layer)(x)

    x = tf.constant(np.random.default_rng(0).normal(3, 2, (1000, 1)), "float32")
    layer.build(x.shape)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = Block()(x, training=True)
    assert np.mean(layer(x, training=False) == y) < 0.6  # the way forward trains
    np.testing.assert_allclose(tape.gradient(y, x), gradient, rtol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_float16", "float16"])
def test_08_int8_refuses_float16_and_recommends_it(policy):
    with dtype_policy(policy):
        model = keras.Sequential([keras.Input((8,)), Dense(4)])
    with pytest.raises(ValueError, match="compute_dtype='float16'.*'mixed_float16'"):
        model.quantize("int8")


def trained():
    model = keras.Sequential([keras.Input((8,)), Dense(3)])
    model.compile("adam", LOSS, jit_compile=False)
    model.fit(X, Y, verbose=0)
    return model


def test_08_float8_has_to_be_compiled_again_and_its_newest_amax_comes_first():
    model = trained()
    model.quantize("float8")
    with pytest.raises(ValueError, match="Unknown variable.*inputs_scale"):
        model.fit(X, Y, verbose=0)
    model.compile("adam", LOSS, jit_compile=False)
    for factor in (1, 2, 4):
        model.train_on_batch(factor * X, Y)
    history = model.layers[0].inputs_amax_history.numpy()
    assert history.shape == (1024,) and np.count_nonzero(history) == 3
    assert history[[0, -1, -2]] == pytest.approx(abs(X).max() * np.float32([4, 2, 1]))


def test_08_int4_has_a_scale_for_each_block_or_for_each_output():
    model = keras.Sequential([keras.Input((256,)), Dense(4)])
    model.quantize("int4")
    blocks = tuple(map(int, keras.__version__.split(".")[:2])) >= (3, 14)
    assert tuple(model.layers[0].kernel_scale.shape) == ((2, 4) if blocks else (4,))
    assert [v.name for v in model.trainable_weights] == ["bias"]


def test_08_which_layers_quantize_changes():
    tokens = keras.Input((4,), dtype="int32")
    hidden = keras.layers.Embedding(8, 4)(tokens)
    hidden = keras.layers.EinsumDense("abc,cd->abd", (None, 4))(hidden)
    hidden = keras.layers.Conv1D(4, 2)(hidden)
    changed = {}
    for mode in ("int8", "int4", "float8"):
        model = keras.models.clone_model(keras.Model(tokens, Dense(3)(hidden)))
        lite.quietly(model.quantize, mode)
        modes = {
            type(layer).__name__: getattr(layer, "quantization_mode", None)
            for layer in model.layers
        }
        changed[mode] = {name for name, found in modes.items() if found == mode}
    assert changed["int8"] == changed["int4"] == {"Dense", "EinsumDense", "Embedding"}
    assert changed["float8"] == {"Dense", "EinsumDense"}


def converted(model, options=(), images=None, **spec):
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [getattr(tf.lite.Optimize, name) for name in options]
    for name, value in spec.items():
        setattr(converter.target_spec, name, value)
    if images is not None:
        converter.representative_dataset = lite.calibration(images, images.shape[1:])
    return lite.quietly(converter.convert)


needs_litert = pytest.mark.skipif(bool(lite.missing()), reason="no LiteRT")


@needs_litert
def test_08_a_file_of_litert_hides_infinity_and_keeps_nan():
    model = keras.Sequential([keras.Input((8,)), Dense(64)])
    kernel = np.ones((8, 64), "float32")
    kernel[0, :4] = np.inf, -np.inf, np.nan, 1e5
    model.set_weights([kernel, np.zeros(64)])
    most = np.finfo("float32").max
    wanted = {"float32": [most, -most, np.nan, 1e5]}
    wanted["float16"] = [65504, -65504, np.nan, 65504]
    first = np.eye(8, dtype="float32")[:1]
    files = {"float32": converted(model)}
    half = {"supported_types": [tf.float16]}
    files["float16"] = converted(model, ["DEFAULT"], **half)
    for dtype, content in files.items():
        (found,) = lite.Lite(content).predict(first)
        np.testing.assert_allclose(found[:4], wanted[dtype], rtol=1e-6)


@needs_litert
def test_08_zeros_left_out_of_8_bits_are_refused_with_the_right_reason():
    if not tf.__version__.startswith("2.21"):
        pytest.skip("seen with TensorFlow 2.21")
    model = keras.Sequential([keras.Input((256,)), Dense(256)])
    source = np.random.default_rng(0)
    kernel = source.normal(size=(256, 256)) * (source.random((256, 256)) < 0.1)
    model.set_weights([kernel, np.zeros(256)])
    content = converted(model, ["DEFAULT", "EXPERIMENTAL_SPARSITY"])
    with pytest.raises(ValueError, match="zeros left out of 8-bit weights"):
        lite.Lite(content)


@needs_litert
def test_08_a_softmax_of_many_classes_is_lost_in_int8():
    keras.utils.set_random_seed(0)
    softmax = Dense(1000, activation="softmax")
    model = keras.Sequential([keras.Input((16,)), softmax])
    x = np.random.default_rng(0).normal(size=(50, 16)).astype("float32")
    integers = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    content = converted(model, ["DEFAULT"], x, supported_ops=integers)
    assert lite.Lite(content).predict(x).sum(axis=1).mean() < 0.01


def test_11_keras_has_no_policy_of_8_bit_floats_and_quantize_leaves_layers_alone():
    with pytest.raises(ValueError, match="mixed_float8"):
        keras.mixed_precision.Policy("mixed_float8")
    model = keras.Sequential(
        [keras.Input((8,)), Dense(4), keras.layers.LayerNormalization()]
    )
    model.quantize("float8")
    dense, norm = model.layers
    assert dense.dtype_policy.name == "float8_from_float32"
    assert norm.dtype_policy.name == "float32"
    history = [v.name for v in dense.variables if v.name.endswith("amax_history")]
    assert history == [
        f"{name}_amax_history" for name in ("inputs", "kernel", "outputs_grad")
    ]
