"""Each rule with a model that breaks it, and with a near miss that does not."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers, ops

from course_utils import models
from course_utils.hardware import Accelerator, Hardware
from course_utils.precision import Finding, examine
from course_utils.precision.findings import RULES
from course_utils.training import dtype_policy

SGD, LossScaleOptimizer = keras.optimizers.SGD, keras.optimizers.LossScaleOptimizer
MIXED = ("mixed_float16", "mixed_bfloat16")


def machine(*sets, cc=None):
    found = () if cc is None else (Accelerator("GPU", "some GPU", True, "", cc, 16 * 2**30),)
    return Hardware("Linux x86_64", "some CPU", 4, sets, accelerators=found)


A100 = machine(cc=8.0)


def codes(model, *args, hardware=A100, **kwargs):
    return [f.code for f in examine(model, *args, hardware=hardware, **kwargs)]


def one(code, model, *args, hardware=A100, **kwargs):
    found = [f for f in examine(model, *args, hardware=hardware, **kwargs) if f.code == code]
    assert len(found) == 1, found
    assert found[0].message.endswith(".") and found[0].fix and found[0].message.count(". ") == 0
    return found[0]


def stack(*inner, policy="mixed_float16", head="float32", compile=True, kind=keras.Sequential):
    """A Sequential of eight features with some layers in it, and a float32 head."""
    with dtype_policy(policy):
        made = [make() for make in inner] or [layers.Dense(8)]
        model = kind([keras.Input((8,)), *made])
        if head:
            model.add(layers.Dense(8, dtype=head))
    if compile:
        model.compile("adam", "mse")
    return model


def unbuilt(layer):
    """Of such a model nothing can be measured: the source has to do."""
    with dtype_policy("mixed_float16"):
        return keras.Sequential([layer(), layers.Dense(8, dtype="float32")])


def own(call, build=None, **attributes):
    """A class of layers; `build` and the functions that make attributes get the layer."""

    class Own(layers.Layer):
        def __init__(self, **options):
            super().__init__(**options)
            for name, make in attributes.items():
                setattr(self, name, make(self))

    return type("Own", (Own,), {"call": call} | ({"build": build} if build else {}))


def scale(**options):
    """A `build` that adds a weight."""

    def build(self, shape):
        self.scale = self.add_weight(**{"shape": (), "initializer": "ones"} | options)

    return build


def test_right_models_have_no_findings_and_others_are_refused():
    plain = [stack(policy=policy) for policy in ("float32", *MIXED)]
    without_layers_or_shapes = keras.Sequential(), keras.Sequential([layers.Dense(8)])
    for model in (*plain, *without_layers_or_shapes):
        assert codes(model) == []
    with pytest.raises(ValueError, match="give examine a keras.Model"):
        examine("model.keras")
    with pytest.raises(ValueError, match="no_such"):
        examine(stack(), "no_such")


def test_findings_are_sorted_and_say_all():
    model = stack(lambda: layers.Dense(9, dtype="float16"), head="float16")
    found = examine(model, hardware=A100)
    ranks = [("error", "warning", "advice").index(f.severity) for f in found]
    assert ranks == sorted(ranks) and set(ranks) == {0, 1, 2}
    assert all(isinstance(f, Finding) and f.layer for f in found)
    text = str(found[0])
    assert text.startswith(f"{found[0].code} error {found[0].layer}: ") and " Fix: " in text
    assert len({rule.__doc__[:5] for rule in RULES}) == len(RULES) == 15  # each says its code


def test_examining_changes_nothing():
    def call(self, x):
        self.add_loss(ops.sum(x))
        return x * self.scale

    model = stack(own(call, scale(autocast=False)))
    before, nodes = model.get_weights(), len(model.layers[0]._inbound_nodes)
    examine(model, hardware=A100)
    assert model.losses == [] and len(model.layers[0]._inbound_nodes) == nodes
    assert all(map(np.array_equal, before, model.get_weights()))


# MP001: what the model hands to its loss


def test_mp001_an_output_in_16_bits():
    for policy in MIXED:
        wrong = stack(lambda: layers.Dense(8, "softmax", name="out"), policy=policy, head=None)
        found = one("MP001", wrong)
        assert found.layer == "out" and found.severity == "error"
        assert "gradient" in found.message and policy[6:] in found.message
        assert found.fix == 'Dense(..., activation="softmax", dtype="float32")'
        assert "gradient" not in one("MP001", stack(policy=policy, head=None)).message
    right = [lambda: layers.Dense(8), lambda: layers.Dense(8, "softmax", dtype="float32")]
    assert "MP001" not in codes(stack(head=None, policy="float32"))
    assert "MP001" not in codes(stack(*right))


def test_mp001_widening_after_the_softmax_is_too_late():
    def model(first, last):
        with dtype_policy("mixed_float16"):
            inputs = keras.Input((8,))
            x = layers.Dense(8, first, name="probabilities")(inputs)
            return keras.Model(inputs, layers.Activation(last, dtype="float32")(x))

    assert one("MP001", model("softmax", "linear")).layer == "probabilities"
    assert one("MP001", model("sigmoid", "linear")).layer == "probabilities"
    assert "MP001" not in codes(model("relu", "softmax"))
    # The weights of a head in between make it a hidden layer's softmax.
    assert "MP001" not in codes(stack(lambda: layers.Dense(8, "softmax")))


def test_mp001_of_nested_models_several_outputs_and_operations():
    with dtype_policy("mixed_float16"):
        deep = [keras.Input((8,)), layers.Dense(8, "softmax", name="deep")]
        inner, inputs = keras.Sequential(deep, name="inner"), keras.Input((8,))
        good = layers.Dense(8, dtype="float32")(inputs)
        assert one("MP001", keras.Model(inputs, [good, inner(inputs)])).layer == "inner/deep"
        model = keras.Model(inputs, ops.softmax(layers.Dense(8)(inputs)))
        assert one("MP001", model).layer.startswith("softmax")
        model = keras.Model(inputs, layers.Activation("relu", dtype="float32")(inputs))
        assert "MP001" not in codes(model)


class Subclassed(keras.Model):
    def __init__(self, widen, **kwargs):
        super().__init__(**kwargs)
        self.dense, self.widen = layers.Dense(8, name="dense"), widen

    def call(self, x):
        x = self.dense(x)
        return ops.cast(x, "float32") if self.widen else x


def test_mp001_of_subclassed_models_is_measured():
    with dtype_policy("mixed_float16"):
        wrong, right = Subclassed(False), Subclassed(True)
    for model in (wrong, right):
        model(np.zeros((2, 8), "float32"))
    assert one("MP001", wrong).layer == "dense"
    assert codes(right, "adam") == []


# MP002 to MP004, MP011, MP014, MP015: loss scaling


def pure_and_per_layer():
    per_layer = stack(lambda: layers.Dense(8, dtype="mixed_float16"), policy="float32")
    return per_layer, stack(policy="float16")


def test_mp002_float16_that_compile_does_not_scale():
    for model in pure_and_per_layer():
        found = one("MP002", model)
        assert found.severity == "error" and "dense" in found.message
        assert "LossScaleOptimizer(keras.optimizers.Adam" in found.fix
    model = stack()
    model.compile("sgd", "mse", auto_scale_loss=False)
    assert "MP002" in codes(model)
    uncompiled = keras.Sequential(pure_and_per_layer()[0].layers)
    assert one("MP002", uncompiled).severity == "warning"
    assert one("MP002", uncompiled, "sgd").severity == "error"


def test_mp002_not_where_the_loss_is_scaled_or_nothing_needs_it():
    for model in pure_and_per_layer():
        assert "MP002" not in codes(model, LossScaleOptimizer(SGD()))
        model.compile(SGD(loss_scale_factor=64), "mse", auto_scale_loss=False)
        assert "MP002" not in codes(model)
    assert "MP002" not in codes(stack(compile=False), "sgd")
    bfloat16 = stack(lambda: layers.Dense(8, dtype="mixed_bfloat16"), policy="float32")
    assert "MP002" not in codes(bfloat16)
    # No gradient flows through what comes before the first weights.
    assert codes(stack(lambda: layers.Rescaling(0.5, dtype="float16"), policy="float32")) == []


def test_mp003_scaling_without_float16():
    for policy in ("float32", "mixed_bfloat16"):
        model = stack(policy=policy)
        found = one("MP003", model, LossScaleOptimizer(SGD()))
        assert found.severity == "warning" and "SGD" in found.fix
        assert "MP003" in codes(model, SGD(loss_scale_factor=8))
        assert "MP003" not in codes(model, "sgd")


def test_mp004_a_fixed_scale_that_compile_drops():
    optimizer = SGD(loss_scale_factor=1024)
    model = stack(compile=False)
    assert "auto_scale_loss=False" in one("MP004", model, optimizer).fix
    assert "MP004" not in codes(model, "sgd")
    assert "MP004" not in codes(stack(policy="float16"), optimizer)
    model.compile(optimizer, "mse", auto_scale_loss=False)
    assert codes(model) == codes(model, optimizer) == []
    model.compile(optimizer, "mse")  # now it is dropped
    assert codes(model) == codes(model, optimizer) == []


def test_mp011_a_setting_on_the_wrapper():
    settings = {
        "clipnorm": 1.0, "clipvalue": 1.0, "global_clipnorm": 1.0, "weight_decay": 0.1,
        "use_ema": True, "ema_overwrite_frequency": 5, "gradient_accumulation_steps": 2,
        "loss_scale_factor": 8.0,
    }  # fmt: skip
    for setting, value in settings.items():
        model = stack()
        setattr(model.optimizer, setting, value)
        found = one("MP011", model)
        assert found.message.startswith(setting) and found.severity == "error"
        model = stack()
        if setting != "loss_scale_factor":
            setattr(model.optimizer.inner_optimizer, setting, value)
        assert codes(model) == []
    steps = []  # the fact: the wrapper ignores it
    for on_inner in (False, True):
        variable, wrapper = keras.Variable([1.0]), LossScaleOptimizer(SGD(1.0))
        (wrapper.inner_optimizer if on_inner else wrapper).clipnorm = 0.5
        wrapper.apply([ops.array([5 * 32768.0])], [variable])
        steps.append(1 - float(variable.numpy()[0]))
    assert steps == [5, 0.5]


def test_mp014_unscaled_twice():
    twice = LossScaleOptimizer(LossScaleOptimizer(SGD(1.0)))
    assert "another" in one("MP014", stack(), twice).message
    model = stack()
    model.optimizer.inner_optimizer.loss_scale_factor = 8.0
    assert "8.0" in one("MP014", model).message
    variable = keras.Variable([1.0])
    twice.apply([ops.array([32768.0])], [variable])
    assert 1 - variable.numpy()[0] == pytest.approx(1 / 32768, rel=0.01)  # the fact


class Loop(keras.Sequential):
    def scaled(self, loss):
        return loss

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            loss = tf.cast(loss, "float32") + tf.constant(1e-12)  # no business of any layer
            scaled = self.scaled(loss)
        self.optimizer.apply(tape.gradient(scaled, self.trainable_variables))
        return {"loss": loss}


class ScaledLoop(Loop):
    def scaled(self, loss):
        return self.optimizer.scale_loss(loss)


class Counting(keras.Sequential):
    def train_step(self, data):
        self.steps = getattr(self, "steps", 0) + 1
        return super().train_step(data)


@pytest.mark.parametrize("kind, wrong", [(Loop, True), (ScaledLoop, False), (Counting, False)])
def test_mp015_a_train_step_that_does_not_scale(kind, wrong):
    model = stack(kind=kind)
    assert codes(model) == ["MP015"] * wrong
    model.compile("sgd", "mse", auto_scale_loss=False)
    assert "MP015" not in codes(model)


# MP005 to MP007: layers of one's own


class CastsUp(layers.Layer):
    def call(self, x):
        return tf.cast(x, tf.float32) * 2


class CastsUpAndHidesIt(CastsUp):
    def compute_output_shape(self, shape):  # Keras then assumes the output's dtype
        return shape


class CastsUpAndBack(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(), dtype="float32", initializer="ones")

    def call(self, x):
        if x.dtype == "float64":
            raise TypeError("float64")
        return tf.cast(tf.cast(x, tf.float32) * 2, self.compute_dtype) * self.scale


def hold(dtype):
    """Widening that a held layer does by its own policy is no fault of the one that holds it."""

    def build(self, shape):
        self.inner = layers.Dense(8, dtype="float16") if dtype is None else self.inner
        self.inner.build(shape)

    held = {"inner": lambda self: layers.Dense(8, dtype=dtype or "float32")}
    return own(lambda self, x: self.inner(x), build, **held)


CastsUpByName = own(lambda self, x: ops.multiply(x, ops.ones((8,), dtype="float32")))
CastsDown = own(lambda self, x: ops.cast(ops.cast(x, "float16") * 2, self.compute_dtype))


class NarrowWeight(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(), dtype="float16", initializer="ones")

    def call(self, x):
        return x * ops.cast(self.scale, x.dtype)


@pytest.mark.parametrize("layer", [CastsUp, CastsUpAndHidesIt, CastsUpByName])
def test_mp005_a_hard_coded_wide_dtype(layer):
    found = one("MP005", stack(layer))
    assert found.severity == "warning" and "float32" in found.message
    assert "MP007" not in codes(stack(layer))
    assert codes(stack(layer, policy="float32")) == []
    # At the end of a model, widening is what MP001 asks for.
    assert codes(stack(lambda: layers.Dense(8), layer, head=None)) == []
    assert one("MP005", unbuilt(layer)).severity == "warning"


def test_mp005_near_misses():
    for policy in ("float32", *MIXED):
        for layer in (CastsUpAndBack, hold("float32")):
            assert codes(stack(layer, policy=policy)) == []
    assert "MP005" not in codes(stack(hold(None)))  # a dtype given to a layer is a policy
    assert "MP005" not in codes(unbuilt(CastsUpAndBack))


def test_mp005_a_hard_coded_narrow_dtype():
    for policy, severity in zip(("float32", *MIXED), ("error", "warning", "error"), strict=True):
        assert one("MP005", stack(CastsDown, policy=policy)).severity == severity
    assert "without dtype" in one("MP005", stack(NarrowWeight)).fix


def test_mp005_and_mp009_in_a_lambda_layer():
    wide = stack(lambda: layers.Lambda(lambda x: tf.cast(x, tf.float32)))
    assert one("MP005", wide).fix == "cast(..., x.dtype)"
    assert codes(stack(lambda: layers.Lambda(lambda x: tf.cast(x, x.dtype) * 2))) == []
    assert "MP009" in codes(stack(lambda: layers.Lambda(lambda x: x + 1e-9)))
    assert codes(stack(lambda: layers.Lambda(lambda x: x + 1e-3))) == []
    two = [
        lambda: layers.Lambda(lambda x: x * 2),
        lambda: layers.Lambda(lambda x: x if True else 1e-9),
    ]
    assert codes(stack(*two)) == ["MP009"]


def good_constants(self, x):
    x = x * tf.constant(2.0, dtype=x.dtype) + tf.cast(tf.constant(0.5), x.dtype)
    return tf.reshape(x * self.scale, tf.constant([-1, 8])) * 2.0


GoodConstants = own(good_constants, scale(), steps=lambda self: tf.Variable(0, trainable=False))
ConstantAndBack = own(lambda self, x: ops.cast(ops.multiply(x, tf.constant(2.0)), x.dtype))
RawConstant = own(lambda self, x: ops.multiply(x, tf.constant(2.0)))
RawConstantFails = own(lambda self, x: x * tf.constant(2.0))
RawVariable = own(
    lambda self, x: x * tf.cast(self.scale, x.dtype), scale=lambda self: tf.Variable(2.0)
)
RawAttribute = own(lambda self, x: ops.multiply(x, self.scale), scale=lambda self: tf.constant(2.0))


def test_mp006_raw_variables_and_constants():
    found = one("MP006", stack(RawVariable))
    assert found.severity == "error" and "self.scale" in found.message
    assert RawVariable().weights == []  # the fact: Keras does not know it
    assert codes(stack(RawVariable, policy="float32")) == []
    assert "tf.constant(2.0)" in one("MP006", stack(RawConstant)).message
    assert "self.scale" in one("MP006", stack(RawAttribute)).message
    assert "MP007" not in codes(stack(RawConstant))
    with pytest.raises(TypeError):  # the fact, and why such a model is only found unbuilt
        stack(RawConstantFails)
    assert one("MP006", unbuilt(RawConstantFails)).severity == "error"
    assert codes(stack(GoodConstants)) == codes(stack(ConstantAndBack)) == []
    assert "MP006" not in codes(unbuilt(GoodConstants))


Promotes = own(lambda self, x: x * self.scale, scale(shape=(8,), autocast=False))
Follows = own(lambda self, x: x * self.scale, scale(shape=(8,)))
CastsItsWeight = own(
    lambda self, x: x * ops.cast(self.scale, x.dtype), scale(shape=(8,), autocast=False)
)


@pytest.mark.parametrize("policy", MIXED)
def test_mp007_silent_promotion(policy):
    found = one("MP007", stack(Promotes, policy=policy))
    assert found.layer.startswith("own") and "float32" in found.message
    for layer in (Follows, CastsItsWeight):
        assert codes(stack(layer, policy=policy)) == []
    assert codes(stack(Promotes, policy="float32")) == []
    # The layer inside is named, and not its holder.
    block = own(
        lambda self, x: self.inner(x),
        build=lambda self, shape: self.inner.build(shape),
        inner=lambda self: Promotes(name="inner"),
    )
    assert one("MP007", stack(block, policy=policy)).layer.endswith("inner")


# MP008, MP012, MP013: the policy


def test_mp008_weights_in_16_bits():
    for policy in ("float16", "bfloat16"):
        found = one("MP008", stack(policy=policy))
        assert found.severity == "warning" and f"mixed_{policy}" in found.fix
        assert "MP008" not in codes(stack(policy=f"mixed_{policy}"))
    # Without weights there is nothing to keep.
    assert "MP008" not in codes(stack(lambda: layers.ReLU(dtype="float16")))


@pytest.mark.parametrize(
    "policy, hardware, reason",
    [
        ("mixed_float16", machine("avx2"), "CPUs"),
        ("mixed_float16", machine("amx_bf16", cc=8.0), None),
        ("mixed_float16", machine(cc=7.5), None),
        ("mixed_float16", machine(cc=6.1), "no tensor cores"),
        ("mixed_bfloat16", machine("avx2"), "no bfloat16 instructions"),
        ("mixed_bfloat16", machine("avx512_bf16"), None),
        ("mixed_bfloat16", machine(cc=7.5), "none for bfloat16"),
        ("mixed_bfloat16", Hardware("Windows AMD64", "some CPU", 4, None), None),  # does not tell
        ("float32", machine("avx2"), None),
    ],
)
def test_mp012_slow_on_this_hardware(policy, hardware, reason):
    """One machine for each kind of reason; which machine has which is `test_hardware`'s."""
    model = stack(policy=policy)
    model.compile("adam", "mse", jit_compile=False)
    if reason:
        found = one("MP012", model, hardware=hardware)
        assert reason in found.message and found.severity == "warning"
    else:
        assert codes(model, hardware=hardware) == []


@pytest.mark.parametrize(
    "sets, of_convolutions, of_dense",
    [
        (("avx512_fp16", "amx_bf16"), "oneDNN, which has only its slow reference", "remapping"),
        (("avx512_fp16", "amx_bf16", "amx_fp16"), "remapping", "remapping"),
        (("avx512_bf16",), "no fast float16", "no fast float16"),
    ],
)
def test_mp012_float16_convolutions_belong_under_xla_where_onednn_has_no_kernel(
    sets, of_convolutions, of_dense
):
    with dtype_policy("mixed_float16"):
        cnn = models.mnist_cnn()
    for model, reason in ((cnn, of_convolutions), (stack(compile=False), of_dense)):
        for options in (None, {"jit_compile": False}, {"jit_compile": True}):
            if options:
                model.compile("adam", "mse", **options)
            found = one("MP012", model, hardware=machine(*sets))
            if options == {"jit_compile": True} and "avx512_fp16" in sets:
                assert "XLA computes products" in found.message
            else:
                assert reason in found.message
                belongs = found.message.endswith("jit_compile=True, where XLA computes them.")
                assert belongs == ("oneDNN, which" in reason)
                assert found.fix.startswith("model.compile(..., jit_compile=True)") == belongs


def test_mp013_another_policy_than_the_saved_one():
    model = stack()
    found = one("MP013", model, saved_policy="mixed_float16")
    assert found.fix.startswith('keras.config.set_dtype_policy("mixed_float16")')
    assert "loss scaling" in found.message
    assert "loss scaling" not in one("MP013", model, saved_policy="mixed_bfloat16").message
    with dtype_policy("mixed_float16"):
        assert codes(model, saved_policy="mixed_float16") == []


# MP009: numbers that float16 cannot hold

TINY = 1e-8


def small_start(self, shape):
    self.share = shape[-1] * 1e-9
    start = "ones"
    self.scale = self.add_weight(shape=(), initializer=start)


def good_numbers(self, x):
    keras.initializers.RandomNormal(stddev=1e-9)
    return ops.where(x > 0, x * self.scale, -3e4) / (ops.sum(x) + self.epsilon + 6e-8)


def upcasts(self, x):
    wide = ops.cast(x, "float32")
    return ops.cast(wide / (ops.sum(wide) + 1e-12), x.dtype)


TinyLiteral = own(lambda self, x: x / (ops.sum(x) + 1e-8))
TinyGlobal = own(lambda self, x: x / (ops.sum(x) + TINY))
TinyAttribute = own(lambda self, x: x / (ops.sum(x) + self.epsilon), epsilon=lambda self: 1e-9)
GoodNumbers = own(good_numbers, small_start, epsilon=lambda self: 1e-5)
Upcasts = own(upcasts)
Masks = own(lambda self, x: ops.where(x > 0, x, -1e9))


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_mp009_numbers_that_float16_cannot_hold():
    for layer in (TinyLiteral, TinyGlobal, TinyAttribute, Masks):
        found = one("MP009", stack(layer))
        assert found.severity == "warning"
        assert found.fix.startswith("-30000") == (layer is Masks)
        assert ("-1e9" in found.message or "-1000000000.0" in found.message) == (layer is Masks)
        assert codes(stack(layer, policy="mixed_bfloat16")) == []
    for layer in (GoodNumbers, Upcasts):
        assert codes(stack(layer)) == []


def test_mp009_of_keras_s_layers_only_where_they_stay_in_float16():
    for kind in ("BatchNormalization", "LayerNormalization", "RMSNormalization"):
        assert codes(stack(lambda kind=kind: getattr(layers, kind)(epsilon=1e-12))) == []
    assert "MP009" in codes(stack(layers.UnitNormalization))
    wide = stack(lambda: layers.UnitNormalization(dtype="float32"), lambda: layers.Dense(8))
    assert codes(wide) == []
    zeros = np.zeros((2, 8), "float32")  # the fact
    assert np.isnan(np.array(layers.UnitNormalization(dtype="mixed_float16")(zeros))).all()


def test_mp009_the_optimizer_s_epsilon():
    def count(model, optimizer):
        found = examine(model, optimizer, hardware=A100)
        return sum("optimizer's epsilon" in f.message for f in found)

    pure, adam = stack(policy="float16"), keras.optimizers.Adam
    assert count(pure, "adam") == count(pure, LossScaleOptimizer(adam())) == 1
    assert count(pure, adam(epsilon=1e-4)) == count(pure, "sgd") == count(stack(), "adam") == 0


# MP010: shapes


@pytest.mark.parametrize(
    "make, shape, extra",
    [
        (lambda n: layers.Dense(n), (6,), 6 * 6 + 6),
        (lambda n: layers.Conv2D(n, 3), (9, 9, 3), 6 * (27 + 1)),
        (lambda n: layers.Conv2DTranspose(n, 3), (9, 9, 3), 6 * (27 + 1)),
        (lambda n: layers.SeparableConv2D(n, 3), (9, 9, 3), 6 * (3 + 1)),
        (lambda n: layers.Embedding(100, n), (5,), 600),
    ],
)
def test_mp010_widths_and_what_padding_costs(make, shape, extra):
    def build(width, policy):
        with dtype_policy(policy):
            return keras.Sequential([keras.Input(shape), make(width)])

    narrow, padded = build(10, "mixed_float16"), build(16, "mixed_float16")
    assert padded.count_params() - narrow.count_params() == extra
    found = one("MP010", narrow)
    assert f"{extra:,} parameters" in found.message and "=16" in found.fix
    assert found.severity == "advice"
    assert "MP010" not in codes(padded) + codes(build(10, "float32"))


# Models that others made


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MobileNetV3Small", "EfficientNetB0", "ResNet50"])
def test_keras_s_applications_end_in_a_float16_softmax_and_are_fine_with_a_float32_head(name):
    with dtype_policy("mixed_float16"):
        make = getattr(keras.applications, name)
        whole = make(weights=None, input_shape=(32, 32, 3))
        base = make(weights=None, include_top=False, input_shape=(32, 32, 3))
        x = layers.GlobalAveragePooling2D()(base.output)
        headed = keras.Model(base.input, layers.Dense(10, dtype="float32")(x))
    for model, wanted in ((whole, ["MP001"]), (headed, [])):
        model.compile("adam", "mse")
        found = [f for f in examine(model, hardware=A100) if f.severity != "advice"]
        assert [f.code for f in found] == wanted
