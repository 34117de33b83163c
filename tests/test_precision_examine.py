"""Each rule with a model that breaks it, and with a near miss that does not."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers, ops

from course_utils.accelerators import Accelerator
from course_utils.hardware import Hardware
from course_utils.precision.findings import RULES, Finding, examine
from course_utils.stepping import dtype_policy


def machine(*sets, cc=None, name="some GPU", **options):
    found = () if cc is None else (Accelerator("GPU", name, True, "", cc, 16 * 2**30),)
    return Hardware("Linux x86_64", "some CPU", 4, sets, accelerators=found, **options)


A100 = machine(cc=8.0)


def codes(model, *args, hardware=A100, **kwargs):
    return [f.code for f in examine(model, *args, hardware=hardware, **kwargs)]


def one(code, model, *args, hardware=A100, **kwargs):
    found = [f for f in examine(model, *args, hardware=hardware, **kwargs) if f.code == code]
    assert len(found) == 1, found
    assert found[0].message.endswith(".") and found[0].fix and found[0].message.count(". ") == 0
    return found[0]


def stack(*inner, policy="mixed_float16", head="float32", compile=True):
    """A Sequential of eight features with some layers in it, and a float32 head."""
    with dtype_policy(policy):
        made = [make() for make in inner] or [layers.Dense(8)]
        model = keras.Sequential([keras.Input((8,)), *made])
        if head:
            model.add(layers.Dense(8, dtype=head))
    if compile:
        model.compile("adam", "mse")
    return model


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_a_right_model_has_no_findings(policy):
    assert examine(stack(policy=policy), hardware=A100) == []


def test_what_is_no_model_is_refused():
    with pytest.raises(ValueError, match="give examine a keras.Model"):
        examine("model.keras")
    with pytest.raises(ValueError, match="no_such"):
        examine(stack(), "no_such")


def test_models_without_layers_or_shapes():
    assert codes(keras.Sequential()) == []
    assert codes(keras.Sequential([layers.Dense(8)])) == []
    inputs = keras.Input((8,))
    assert codes(keras.Model(inputs, inputs)) == []


def test_findings_are_sorted_and_say_all():
    model = stack(lambda: layers.Dense(9, dtype="float16"), head="float16")
    found = examine(model, hardware=A100)
    ranks = [("error", "warning", "advice").index(f.severity) for f in found]
    assert ranks == sorted(ranks) and set(ranks) == {0, 1, 2}
    assert all(isinstance(f, Finding) and f.layer for f in found)
    text = str(found[0])
    assert text.startswith(f"{found[0].code} error {found[0].layer}: ") and " Fix: " in text


def test_every_rule_says_which_code_it_has():
    assert len({rule.__doc__[:5] for rule in RULES}) == len(RULES) == 15


# MP001: what the model hands to its loss


def test_mp001_softmax_in_16_bits():
    for policy in ("mixed_float16", "mixed_bfloat16"):
        with dtype_policy(policy):
            model = keras.Sequential([keras.Input((8,)), layers.Dense(8, "softmax", name="out")])
        found = one("MP001", model)
        assert found.layer == "out" and found.severity == "error"
        assert "gradient" in found.message and policy[6:] in found.message
        assert found.fix == 'Dense(..., activation="softmax", dtype="float32")'


def test_mp001_softmax_in_float32_is_right():
    model = stack(lambda: layers.Dense(8), lambda: layers.Dense(8, "softmax", dtype="float32"))
    assert "MP001" not in codes(stack(head=None, policy="float32"))
    assert "MP001" not in codes(model)


def test_mp001_the_gradient_really_is_zero():
    """The fact behind the rule, with a confident mistake: a logit gap of 18."""
    for dtype, slope in (("float32", 1.0), ("float16", 0.0), ("bfloat16", 0.0)):
        logits, layer = tf.constant([[18.0, 0.0]]), layers.Softmax(dtype=dtype)
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = keras.losses.SparseCategoricalCrossentropy()(np.array([1]), layer(logits))
        gradient = np.abs(tape.gradient(loss, logits).numpy()).max()
        assert gradient == pytest.approx(slope, abs=1e-3)


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
        inner = keras.Sequential(
            [keras.Input((8,)), layers.Dense(8, "softmax", name="deep")], name="inner"
        )
        inputs = keras.Input((8,))
        good = layers.Dense(8, dtype="float32")(inputs)
        model = keras.Model(inputs, [good, inner(inputs)])
        assert one("MP001", model).layer == "inner/deep"
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
        models = [Subclassed(widen) for widen in (False, True)]
    for model in models:
        model(np.zeros((2, 8), "float32"))
    assert one("MP001", models[0]).layer == "dense"
    assert codes(models[1], "adam") == []


# MP002 to MP004, MP011, MP014, MP015: loss scaling


def pure_and_per_layer():
    return [
        stack(lambda: layers.Dense(8, dtype="mixed_float16"), policy="float32"),
        stack(lambda: layers.Dense(8), policy="float16"),
    ]


def test_mp002_float16_that_compile_does_not_scale():
    for model in pure_and_per_layer():
        found = one("MP002", model)
        assert found.severity == "error" and "dense" in found.message
        assert "LossScaleOptimizer(keras.optimizers.Adam" in found.fix
    model = stack()
    model.compile("sgd", "mse", auto_scale_loss=False)
    assert "MP002" in codes(model)
    uncompiled = stack(lambda: layers.Dense(8, dtype="mixed_float16"), policy="float32")
    uncompiled = keras.Sequential(uncompiled.layers)
    assert one("MP002", uncompiled).severity == "warning"
    assert one("MP002", uncompiled, "sgd").severity == "error"


def test_mp002_not_where_the_loss_is_scaled_or_nothing_needs_it():
    wrapped = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    for model in pure_and_per_layer():
        assert "MP002" not in codes(model, wrapped)
        model.compile(keras.optimizers.SGD(loss_scale_factor=64), "mse", auto_scale_loss=False)
        assert "MP002" not in codes(model)
    assert "MP002" not in codes(stack(compile=False), "sgd")
    bfloat16 = stack(lambda: layers.Dense(8, dtype="mixed_bfloat16"), policy="float32")
    assert "MP002" not in codes(bfloat16)
    # No gradient flows through what comes before the first weights.
    inputs = stack(lambda: layers.Rescaling(0.5, dtype="float16"), policy="float32")
    assert codes(inputs) == []


def test_mp002_agrees_with_what_compile_does():
    for policy in ("float32", "mixed_float16", "mixed_bfloat16", "float16"):
        model = stack(policy=policy)
        scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
        assert ("MP002" in codes(model)) == (policy == "float16") and scaled == (
            policy == "mixed_float16"
        )


def test_mp003_scaling_without_float16():
    for policy in ("float32", "mixed_bfloat16"):
        model = stack(policy=policy)
        wrapped = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
        assert one("MP003", model, wrapped).severity == "warning"
        assert "SGD" in one("MP003", model, wrapped).fix
        assert "MP003" in codes(model, keras.optimizers.SGD(loss_scale_factor=8))
        assert "MP003" not in codes(model, "sgd")
    assert "MP003" not in codes(stack())


def test_mp004_a_fixed_scale_that_compile_drops():
    optimizer = keras.optimizers.SGD(loss_scale_factor=1024)
    model = stack(compile=False)
    assert "auto_scale_loss=False" in one("MP004", model, optimizer).fix
    assert "MP004" not in codes(model, "sgd")
    assert "MP004" not in codes(stack(policy="float16"), optimizer)
    model.compile(optimizer, "mse", auto_scale_loss=False)
    assert codes(model) == codes(model, optimizer) == []
    model.compile(optimizer, "mse")
    assert model.optimizer.inner_optimizer.loss_scale_factor is None  # the fact
    assert codes(model) == codes(model, optimizer) == []


@pytest.mark.parametrize(
    "setting, value",
    {
        "clipnorm": 1.0,
        "clipvalue": 1.0,
        "global_clipnorm": 1.0,
        "weight_decay": 0.1,
        "use_ema": True,
        "ema_overwrite_frequency": 5,
        "gradient_accumulation_steps": 2,
        "loss_scale_factor": 8.0,
    }.items(),
)
def test_mp011_a_setting_on_the_wrapper(setting, value):
    with pytest.raises(ValueError, match=setting):  # so the constructor needs no rule
        keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(), **{setting: value})
    model = stack()
    setattr(model.optimizer, setting, value)
    found = one("MP011", model)
    assert found.message.startswith(setting) and found.severity == "error"
    model = stack()
    if setting != "loss_scale_factor":
        setattr(model.optimizer.inner_optimizer, setting, value)
    assert codes(model) == []


def test_mp011_the_wrapper_really_ignores_clipping():
    steps = []
    for on_inner in (False, True):
        variable = keras.Variable([1.0])
        wrapper = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0))
        (wrapper.inner_optimizer if on_inner else wrapper).clipnorm = 0.5
        wrapper.apply([ops.array([5 * 32768.0])], [variable])
        steps.append(1 - float(variable.numpy()[0]))
    assert steps == [5, 0.5]


def test_mp014_unscaled_twice():
    twice = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    )
    assert "another" in one("MP014", stack(), twice).message
    model = stack()
    model.optimizer.inner_optimizer.loss_scale_factor = 8.0
    assert "8.0" in one("MP014", model).message
    assert "MP014" not in codes(stack())
    variable = keras.Variable([1.0])
    twice.inner_optimizer.inner_optimizer.learning_rate = 1.0
    twice.apply([ops.array([32768.0])], [variable])
    assert 1 - variable.numpy()[0] == pytest.approx(1 / 32768, rel=0.01)  # the fact


class Loop(keras.Sequential):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables))
        return {"loss": loss}


class ScaledLoop(keras.Sequential):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            loss = tf.cast(loss, "float32") + tf.constant(1e-12)  # no business of any layer
            scaled = self.optimizer.scale_loss(loss)
        self.optimizer.apply(tape.gradient(scaled, self.trainable_variables))
        return {"loss": loss}


class Counting(keras.Sequential):
    def train_step(self, data):
        self.steps = getattr(self, "steps", 0) + 1
        return super().train_step(data)


@pytest.mark.parametrize("kind, wrong", [(Loop, True), (ScaledLoop, False), (Counting, False)])
def test_mp015_a_train_step_that_does_not_scale(kind, wrong):
    with dtype_policy("mixed_float16"):
        model = kind([keras.Input((8,)), layers.Dense(8), layers.Dense(8, dtype="float32")])
    model.compile("sgd", "mse")
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


class CastsUpByName(layers.Layer):
    def call(self, x):
        return ops.multiply(x, ops.ones((8,), dtype="float32"))


class CastsUpAndBack(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(), dtype="float32", initializer="ones")

    def call(self, x):
        if x.dtype == "float64":
            raise TypeError("float64")
        return tf.cast(tf.cast(x, tf.float32) * 2, self.compute_dtype) * self.scale


class CastsDown(layers.Layer):
    def call(self, x):
        return ops.cast(ops.cast(x, "float16") * 2, self.compute_dtype)


class NarrowWeight(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(), dtype="float16", initializer="ones")

    def call(self, x):
        return x * ops.cast(self.scale, x.dtype)


class HoldsFloat32(layers.Layer):
    """Widening that a held layer does by its own policy is no fault of this one."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.inner = layers.Dense(8, dtype="float32")

    def build(self, shape):
        self.inner.build(shape)

    def call(self, x):
        return self.inner(x)


@pytest.mark.parametrize("layer", [CastsUp, CastsUpAndHidesIt, CastsUpByName])
def test_mp005_a_hard_coded_wide_dtype(layer):
    found = one("MP005", stack(layer))
    assert found.severity == "warning" and "float32" in found.message
    assert "MP007" not in codes(stack(layer))
    assert codes(stack(layer, policy="float32")) == []
    # At the end of a model, widening is what MP001 asks for.
    assert codes(stack(lambda: layers.Dense(8), layer, head=None)) == []


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float32"])
@pytest.mark.parametrize("layer", [CastsUpAndBack, HoldsFloat32])
def test_mp005_near_misses(layer, policy):
    assert codes(stack(layer, policy=policy)) == []


class BuildsItsOwn(HoldsFloat32):
    def build(self, shape):
        self.inner = layers.Dense(8, dtype="float16")
        self.inner.build(shape)


def test_mp005_a_dtype_given_to_a_layer_is_a_policy():
    assert "MP005" not in codes(stack(BuildsItsOwn))


def test_mp005_where_nothing_can_be_measured():
    """An unbuilt model: the source has to do."""
    with dtype_policy("mixed_float16"):
        unbuilt = [
            keras.Sequential([layer(), layers.Dense(8)]) for layer in (CastsUp, CastsUpAndBack)
        ]
    assert one("MP005", unbuilt[0]).severity == "warning"
    assert "MP005" not in codes(unbuilt[1])


def test_mp005_a_hard_coded_narrow_dtype():
    assert one("MP005", stack(CastsDown, policy="float32")).severity == "error"
    assert one("MP005", stack(CastsDown, policy="mixed_bfloat16")).severity == "error"
    assert one("MP005", stack(CastsDown)).severity == "warning"
    assert "without dtype" in one("MP005", stack(NarrowWeight)).fix


def test_mp005_in_a_lambda_layer():
    wide = stack(lambda: layers.Lambda(lambda x: tf.cast(x, tf.float32)))
    assert one("MP005", wide).fix == "cast(..., x.dtype)"
    assert codes(stack(lambda: layers.Lambda(lambda x: tf.cast(x, x.dtype) * 2))) == []


class RawVariable(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.scale = tf.Variable(2.0)

    def call(self, x):
        return x * tf.cast(self.scale, x.dtype)


class RawConstant(layers.Layer):
    def call(self, x):
        return ops.multiply(x, tf.constant(2.0))


class RawAttribute(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.scale = tf.constant(2.0)

    def call(self, x):
        return ops.multiply(x, self.scale)


class RawConstantFails(layers.Layer):
    def call(self, x):
        return x * tf.constant(2.0)


class GoodConstants(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.steps = tf.Variable(0, trainable=False)

    def build(self, shape):
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, x):
        x = x * tf.constant(2.0, dtype=x.dtype) + tf.cast(tf.constant(0.5), x.dtype)
        return tf.reshape(x * self.scale, tf.constant([-1, 8])) * 2.0


def test_mp006_a_raw_variable():
    found = one("MP006", stack(RawVariable))
    assert found.severity == "error" and "self.scale" in found.message
    assert RawVariable().weights == []  # the fact: Keras does not know it
    assert codes(stack(RawVariable, policy="float32")) == []


def test_mp006_a_raw_constant():
    assert "tf.constant(2.0)" in one("MP006", stack(RawConstant)).message
    assert "self.scale" in one("MP006", stack(RawAttribute)).message
    assert "MP007" not in codes(stack(RawConstant))
    with pytest.raises(TypeError):  # the fact, and why such a model is only found unbuilt
        stack(RawConstantFails)
    with dtype_policy("mixed_float16"):
        unbuilt = keras.Sequential([RawConstantFails(), layers.Dense(8, dtype="float32")])
    assert one("MP006", unbuilt).severity == "error"


class ConstantAndBack(layers.Layer):
    def call(self, x):
        wide = ops.multiply(x, tf.constant(2.0))
        return ops.cast(wide, x.dtype)


def test_mp006_near_misses():
    assert codes(stack(GoodConstants)) == codes(stack(ConstantAndBack)) == []
    with dtype_policy("mixed_float16"):  # unbuilt: the source has to do
        assert "MP006" not in codes(keras.Sequential([GoodConstants(), layers.Dense(8)]))


class Promotes(layers.Layer):
    autocast_weight = False

    def build(self, shape):
        self.scale = self.add_weight(shape=(8,), autocast=self.autocast_weight)

    def call(self, x):
        return x * self.scale


class Follows(Promotes):
    autocast_weight = True


class CastsItsWeight(Promotes):
    def call(self, x):
        return x * ops.cast(self.scale, x.dtype)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mp007_silent_promotion(policy):
    found = one("MP007", stack(Promotes, policy=policy))
    assert found.layer.startswith("promotes") and "float32" in found.message
    for layer in (Follows, CastsItsWeight):
        assert codes(stack(layer, policy=policy)) == []
    assert codes(stack(Promotes, policy="float32")) == []


def test_mp007_names_the_layer_inside_and_not_its_holder():
    class Block(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.inner = Promotes(name="inner")

        def build(self, shape):
            self.inner.build(shape)

        def call(self, x):
            return self.inner(x)

    assert one("MP007", stack(Block)).layer.endswith("inner")


def test_examining_changes_nothing():
    class Losing(Promotes):
        def call(self, x):
            self.add_loss(ops.sum(x))
            return super().call(x)

    model = stack(Losing)
    before = model.get_weights(), len(model.layers[0]._inbound_nodes)
    examine(model, hardware=A100)
    assert model.losses == [] and len(model.layers[0]._inbound_nodes) == before[1]
    assert all(np.array_equal(a, b) for a, b in zip(before[0], model.get_weights(), strict=True))


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
        ("mixed_float16", machine("amx_bf16"), "CPUs"),
        ("mixed_float16", machine("avx512_bf16", "avx512_fp16"), "remapping"),
        ("mixed_float16", machine("amx_bf16", cc=8.0), None),
        ("mixed_float16", machine(cc=7.5), None),
        ("mixed_float16", machine(cc=6.1), "no tensor cores"),
        ("mixed_float16", machine(cc=7.5, name="NVIDIA T600"), "no tensor cores"),
        ("mixed_bfloat16", machine("avx2"), "no bfloat16 instructions"),
        ("mixed_bfloat16", machine("avx512_bf16"), None),
        ("mixed_bfloat16", machine("amx_bf16"), None),
        ("mixed_bfloat16", machine("amx_bf16", onednn=False), "oneDNN"),
        ("mixed_bfloat16", machine(cc=7.5), "none for bfloat16"),
        ("mixed_bfloat16", machine(cc=9.0), None),
        ("float32", machine("avx2"), None),
    ],
)
def test_mp012_slow_on_this_hardware(policy, hardware, reason):
    model = stack(policy=policy)
    if reason:
        found = one("MP012", model, hardware=hardware)
        assert reason in found.message and found.severity == "warning"
    else:
        assert codes(model, hardware=hardware) == []


def test_mp012_says_nothing_about_a_cpu_that_does_not_tell():
    unknown = Hardware("Windows AMD64", "some CPU", 4, None)
    assert codes(stack(policy="mixed_bfloat16"), hardware=unknown) == []


def test_mp013_another_policy_than_the_saved_one():
    model = stack()
    found = one("MP013", model, saved_policy="mixed_float16")
    assert found.fix.startswith('keras.config.set_dtype_policy("mixed_float16")')
    assert "loss scaling" in found.message
    assert "loss scaling" not in one("MP013", model, saved_policy="mixed_bfloat16").message
    with dtype_policy("mixed_float16"):
        assert codes(model, saved_policy="mixed_float16") == []
    assert codes(model) == []


# MP009: numbers that float16 cannot hold

TINY = 1e-8


class TinyLiteral(layers.Layer):
    def call(self, x):
        return x / (ops.sum(x) + 1e-8)


class TinyGlobal(layers.Layer):
    def call(self, x):
        return x / (ops.sum(x) + TINY)


class TinyAttribute(layers.Layer):
    def __init__(self, epsilon=1e-9, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def call(self, x):
        return x / (ops.sum(x) + self.epsilon)


class Masks(layers.Layer):
    def call(self, x):
        return ops.where(x > 0, x, -1e9)


class GoodNumbers(layers.Layer):
    def __init__(self, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def build(self, shape):
        self.share = shape[-1] * 1e-9
        start = "ones"
        self.scale = self.add_weight(shape=(), initializer=start)

    def call(self, x):
        keras.initializers.RandomNormal(stddev=1e-9)
        return ops.where(x > 0, x * self.scale, -3e4) / (ops.sum(x) + self.epsilon + 6e-8)


class Upcasts(layers.Layer):
    def call(self, x):
        wide = ops.cast(x, "float32")
        return ops.cast(wide / (ops.sum(wide) + 1e-12), x.dtype)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("layer", [TinyLiteral, TinyGlobal, TinyAttribute, Masks])
def test_mp009_numbers_that_float16_cannot_hold(layer):
    found = one("MP009", stack(layer))
    assert found.severity == "warning"
    assert found.fix.startswith("-30000") == (layer is Masks)
    assert ("-1e9" in found.message or "-1000000000.0" in found.message) == (layer is Masks)
    assert codes(stack(layer, policy="mixed_bfloat16")) == []


@pytest.mark.parametrize("layer", [GoodNumbers, Upcasts])
def test_mp009_near_misses(layer):
    assert codes(stack(layer)) == []


def test_mp009_in_a_lambda_layer():
    assert "MP009" in codes(stack(lambda: layers.Lambda(lambda x: x + 1e-9)))
    assert codes(stack(lambda: layers.Lambda(lambda x: x + 1e-3))) == []


def test_mp009_of_keras_s_layers_only_where_they_stay_in_float16():
    normalizations = (
        layers.BatchNormalization,
        layers.LayerNormalization,
        layers.RMSNormalization,
        lambda epsilon: layers.GroupNormalization(2, epsilon=epsilon),
    )
    for layer in normalizations:
        assert codes(stack(lambda layer=layer: layer(epsilon=1e-12))) == []
    assert "MP009" in codes(stack(layers.UnitNormalization))
    wide = stack(lambda: layers.UnitNormalization(dtype="float32"), lambda: layers.Dense(8))
    assert codes(wide) == []
    # The facts: three upcast inside, and UnitNormalization does not.
    zeros = np.zeros((2, 8), "float32")
    with dtype_policy("mixed_float16"):
        for layer in normalizations:
            assert np.isfinite(np.array(layer(epsilon=1e-12)(zeros))).all()
        assert np.isnan(np.array(layers.UnitNormalization()(zeros))).all()


def test_mp009_the_optimizer_s_epsilon():
    def count(model, optimizer):
        found = examine(model, optimizer, hardware=A100)
        return sum("optimizer's epsilon" in f.message for f in found)

    pure = stack(policy="float16")
    wrapped = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
    assert count(pure, "adam") == count(pure, wrapped) == 1
    assert count(pure, keras.optimizers.Adam(epsilon=1e-4)) == count(pure, "sgd") == 0
    assert count(stack(), "adam") == 0


# MP010: shapes


@pytest.mark.parametrize(
    "make, shape, extra",
    [
        (lambda n: layers.Dense(n), (6,), lambda: 6 * 6 + 6),
        (lambda n: layers.Conv2D(n, 3), (9, 9, 3), lambda: 6 * (27 + 1)),
        (lambda n: layers.Conv2DTranspose(n, 3), (9, 9, 3), lambda: 6 * (27 + 1)),
        (lambda n: layers.SeparableConv2D(n, 3), (9, 9, 3), lambda: 6 * (3 + 1)),
        (lambda n: layers.Embedding(100, n), (5,), lambda: 600),
    ],
)
def test_mp010_widths_and_what_padding_costs(make, shape, extra):
    def build(width, policy):
        with dtype_policy(policy):
            return keras.Sequential([keras.Input(shape), make(width)])

    narrow, padded = build(10, "mixed_float16"), build(16, "mixed_float16")
    assert padded.count_params() - narrow.count_params() == extra()
    found = one("MP010", narrow)
    assert f"{extra():,} parameters" in found.message and "=16" in found.fix
    assert found.severity == "advice"
    assert "MP010" not in codes(padded)
    assert "MP010" not in codes(build(10, "float32"))


# Models that others made

FINE = (
    ("MobileNetV2", 32),
    ("MobileNetV3Small", 32),
    ("EfficientNetB0", 32),
    ("ResNet50", 32),
    ("DenseNet121", 32),
    ("Xception", 71),
)


@pytest.mark.slow
@pytest.mark.parametrize("name, size", FINE)
def test_keras_s_applications_with_a_float32_head(name, size):
    with dtype_policy("mixed_float16"):
        make = getattr(keras.applications, name)
        base = make(weights=None, include_top=False, input_shape=(size, size, 3))
        x = layers.GlobalAveragePooling2D()(base.output)
        model = keras.Model(base.input, layers.Dense(10, dtype="float32")(x))
        model.compile("adam", "mse")
    assert {f.severity for f in examine(model, hardware=A100)} <= {"advice"}


@pytest.mark.slow
@pytest.mark.parametrize("name, size", FINE)
def test_keras_s_applications_end_in_a_float16_softmax(name, size):
    with dtype_policy("mixed_float16"):
        model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3))
        model.compile("adam", "mse")
    found = [f for f in examine(model, hardware=A100) if f.severity != "advice"]
    assert [f.code for f in found] == ["MP001"]
    assert "gradient" in found[0].message
