"""Each rule with models that break it, and with near misses that it leaves in peace."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers, ops

from course_utils import models
from course_utils.hardware import Accelerator, Hardware
from course_utils.precision import RULES, examine
from course_utils.training import dtype_policy

Adam = keras.optimizers.Adam
SGD = keras.optimizers.SGD
LossScaleOptimizer = keras.optimizers.LossScaleOptimizer
MIXED = ("mixed_float16", "mixed_bfloat16")


def machine(*sets, cc=None):
    found = (
        ()
        if cc is None
        else (Accelerator("GPU", "some GPU", True, "", cc, 16 * 2**30),)
    )
    return Hardware("Linux x86_64", "some CPU", 4, sets, accelerators=found)


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Sets the machine that the rules see; at first it is fast in both 16-bit types."""

    def set_machine(hardware):
        monkeypatch.setattr("course_utils.hardware.detect", lambda: hardware)

    set_machine(machine(cc=8.0))
    return set_machine


def codes(*args, **options):
    return [f.code for f in examine(*args, **options)]


def one(code, *args, **options):
    found = [f for f in examine(*args, **options) if f.code == code]
    assert len(found) == 1, found
    assert (
        found[0].message.endswith(".")
        and found[0].fix
        and found[0].message.count(". ") == 0
    )
    return found[0]


def stack(
    *inner,
    policy="mixed_float16",
    head="float32",
    optimizer="adam",
    kind=keras.Sequential,
):
    """A Sequential of eight features with some layers in it, and a float32 head."""
    with dtype_policy(policy):
        made = [make() for make in inner] or [layers.Dense(8)]
        model = kind([keras.Input((8,)), *made])
        if head:
            model.add(layers.Dense(8, dtype=head))
    if optimizer:
        model.compile(optimizer, "mse")
    return model


def compiled(model, *args, **options):
    model.compile(*args, loss="mse", **options)
    return model


def unbuilt(layer):
    """Of such a model nothing can be measured: the source has to do."""
    with dtype_policy("mixed_float16"):
        return keras.Sequential([layer(), layers.Dense(8, dtype="float32")])


def with_setting(where, name, value):
    """A compiled model whose optimizer, or the optimizer in it, got a setting
    afterwards.
    """
    model = stack()
    setattr(getattr(model.optimizer, where) if where else model.optimizer, name, value)
    return model


# Models of Keras's layers


def dense(*args, **options):
    return lambda: layers.Dense(8, *args, **options)


def widened(first, last):
    with dtype_policy("mixed_float16"):
        inputs = keras.Input((8,))
        x = layers.Dense(8, first, name="probabilities")(inputs)
        return keras.Model(inputs, layers.Activation(last, dtype="float32")(x))


def nested():
    with dtype_policy("mixed_float16"):
        deep = [keras.Input((8,)), layers.Dense(8, "softmax", name="deep")]
        inputs = keras.Input((8,))
        good = layers.Dense(8, dtype="float32")(inputs)
        return keras.Model(inputs, [good, keras.Sequential(deep, name="inner")(inputs)])


def operation():
    with dtype_policy("mixed_float16"):
        inputs = keras.Input((8,))
        return keras.Model(inputs, ops.softmax(layers.Dense(8)(inputs)))


class Subclassed(keras.Model):
    def __init__(self, widen, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(8, name="dense")
        self.widen = widen

    def call(self, x):
        x = self.dense(x)
        return ops.cast(x, "float32") if self.widen else x


def subclassed(widen):
    with dtype_policy("mixed_float16"):
        model = Subclassed(widen)
    model(np.zeros((2, 8), "float32"))
    return model


class Task(keras.Model):
    """A functional model that is a class of its own, as KerasHub's are."""


def task(shown=lambda x: x, ids="int32", before=layers.Identity, head="logits"):
    """Ids are looked up, and a layer, or the same weights, make logits of what comes
    out.
    """
    with dtype_policy("mixed_float16"):
        inputs = keras.Input((8,), dtype=ids)
        tied = layers.ReversibleEmbedding(3000, 8, name="tied")
        x = layers.Dropout(0.1)(shown(tied(before()(inputs))))
        return Task(
            inputs, layers.Dense(8, name=head)(x) if head else tied(x, reverse=True)
        )


def looked_up(made):
    """A layer of one's own that looks ids up; Keras casts what is given to it."""
    return own(lambda self, x: self.table(x), lambda self, shape: self.table.build(shape),
               table=lambda self: layers.Embedding(made, 8, name="table"))  # fmt: skip


def unstarted():
    """Without an Input, a Sequential gives its own the first layer's compute dtype."""
    model = stack(
        lambda: layers.Embedding(3000, 8),
        kind=lambda found: keras.Sequential(found[1:]),
    )
    model(np.zeros((2, 8), "int32"))
    return model


def per_layer(**options):
    """Compile does not see the layer's own policy."""
    return stack(dense(dtype="mixed_float16"), policy="float32", **options)


def pure(**options):
    return stack(policy="float16", **options)


# Loops


class Loop(keras.Sequential):
    def scaled(self, loss):
        return loss

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            # no business of any layer
            loss = tf.cast(loss, "float32") + tf.constant(1e-12)
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


# Layers of one's own


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


def again(inner, how="call"):
    """A Dense layer and another one; `how` says where `keras.remat` stands, or that it
    is left.
    """

    def block(self, x):
        return self.inner(self.dense(x))

    def call(self, x, training=False):
        if how == "before":
            return self.inner(keras.remat(self.dense)(x))
        if how == "init":
            return self.made(x)
        return (
            keras.remat(self.block)(x) if how == "call" or training else self.block(x)
        )

    def build(self, shape):
        self.dense.build(shape)
        self.inner.build(shape)

    made = {"inner": lambda self: inner(), "dense": lambda self: layers.Dense(8)}
    made |= {"made": lambda self: keras.remat(self.block)}
    cls = own(call, build, **made)
    cls.block = block
    return cls


def half():
    return layers.Dropout(0.5, name="half")


class CastsUpAndBack(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(), dtype="float32", initializer="ones")

    def call(self, x):
        if x.dtype == "float64":
            raise TypeError("float64")
        return tf.cast(tf.cast(x, tf.float32) * 2, self.compute_dtype) * self.scale


class NarrowWeight(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(), dtype="float16", initializer="ones")

    def call(self, x):
        return x * ops.cast(self.scale, x.dtype)


def hold(dtype):
    """Widening that a held layer does by its own policy is no fault of the one that
    holds it.
    """

    def build(self, shape):
        self.inner = layers.Dense(8, dtype="float16") if dtype is None else self.inner
        self.inner.build(shape)

    held = {"inner": lambda self: layers.Dense(8, dtype=dtype or "float32")}
    return own(lambda self, x: self.inner(x), build, **held)


def lambda_layer(function):
    return stack(lambda: layers.Lambda(function))


CastsUp = own(lambda self, x: tf.cast(x, tf.float32) * 2)


CastsUpByName = own(lambda self, x: ops.multiply(x, ops.ones((8,), dtype="float32")))
CastsDown = own(
    lambda self, x: ops.cast(ops.cast(x, "float16") * 2, self.compute_dtype)
)


def waves(self, x):
    angles = ops.cast(ops.arange(8), self.compute_dtype)
    return ops.add(x, ops.cast(ops.sin(angles), "float32"))


CountsWidely = own(lambda self, x: ops.add(x, ops.arange(8, dtype="float32")))
Counts16 = own(
    lambda self, x: x + ops.cast(ops.linspace(0, 1, 8, dtype="float16"), x.dtype)
)


def sine(self, x):
    return x + ops.cast(
        ops.sin(ops.arange(x.shape[1], dtype="float32")), self.compute_dtype
    )


CountsNarrowly = own(lambda self, x: x + ops.arange(x.shape[1], dtype=x.dtype))


CastsCounts = own(
    lambda self, x: x + ops.cast(ops.arange(x.shape[1])[None], self.compute_dtype)
)
AddsNarrowly = own(
    lambda self, x: x + ops.cumsum(ops.ones_like(x), 1, dtype=self.compute_dtype)
)
CountsAndCasts = own(sine)
CountsAFew = own(lambda self, x: x + ops.arange(8, dtype=self.compute_dtype))
CountsLikeIds = own(lambda self, x: x + ops.arange(x.shape[1], dtype=x.dtype))


def good_constants(self, x):
    x = x * tf.constant(2.0, dtype=x.dtype) + tf.cast(tf.constant(0.5), x.dtype)
    return tf.reshape(x * self.scale, tf.constant([-1, 8])) * 2.0


GoodConstants = own(
    good_constants, scale(), steps=lambda self: tf.Variable(0, trainable=False)
)
ConstantAndBack = own(
    lambda self, x: ops.cast(ops.multiply(x, tf.constant(2.0)), x.dtype)
)
RawConstant = own(lambda self, x: ops.multiply(x, tf.constant(2.0)))
Promotes = own(lambda self, x: x * self.scale, scale(shape=(8,), autocast=False))
Follows = own(lambda self, x: x * self.scale, scale(shape=(8,)))
CastsItsWeight = own(
    lambda self, x: x * ops.cast(self.scale, x.dtype), scale(shape=(8,), autocast=False)
)
HoldsOneThatPromotes = own(
    lambda self, x: self.inner(x),
    build=lambda self, shape: self.inner.build(shape),
    inner=lambda self: Promotes(name="inner"),
)

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
TinyAttribute = own(
    lambda self, x: x / (ops.sum(x) + self.epsilon), epsilon=lambda self: 1e-9
)
GoodNumbers = own(good_numbers, small_start, epsilon=lambda self: 1e-5)
Upcasts = own(upcasts)
Masks = own(lambda self, x: ops.where(x > 0, x, -1e9))

# What the finding with this code says, and what `examine` is called with
WRONG = [
    *((f"MP001 error out: The probabilities come out in {policy[6:]}, .* the gradient of .* zero. "
       r'Fix: Dense\(..., activation="softmax", dtype="float32"\)',
       lambda policy=policy: [stack(dense("softmax", name="out"), policy=policy, head=None)])
      for policy in MIXED),
    ("MP001 error .* output is rounded to float16", lambda: [stack(head=None)]),
    ("MP001 error probabilities: ", lambda: [widened("softmax", "linear")]),
    ("MP001 error inner/deep: ", lambda: [nested()]),
    ("MP001 error softmax", lambda: [operation()]),
    ("MP001 error dense: ", lambda: [subclassed(False)]),
    ("MP001 error logits: The model's output is rounded", lambda: [task()]),
    (r"MP002 error .*dense.* Fix: .*LossScaleOptimizer\(keras.optimizers.Adam", lambda: [pure()]),
    ("MP002 error .*", lambda: [per_layer()]),
    ("MP002 error", lambda: [compiled(stack(), "sgd", auto_scale_loss=False)]),
    ("MP002 warning", lambda: [per_layer(optimizer=None)]),
    ("MP002 error", lambda: [per_layer(optimizer=None), "sgd"]),
    *(("MP005 warning .*float32", lambda layer=layer: [stack(layer)])
      for layer in (CastsUp, CastsUpByName)),
    ("MP005 warning", lambda: [unbuilt(CastsUp)]),
    *((f"MP005 {severity}", lambda policy=policy: [stack(CastsDown, policy=policy)])
      for policy, severity in zip(("float32", *MIXED), ("error", "warning", "error"), strict=True)),
    *((f"MP005 {severity} .*counts .*{limit}. Fix: .*cast.made, self.compute_dtype.*float32",
       lambda layer=layer: [stack(layer, policy=MIXED[1])])
      for layer, severity, limit in (
          (CountsWidely, "warning", "256"), (Counts16, "error", "2,048"))),
    (r"MP005 warning .*\. Fix: cast\(..., self.compute_dtype", lambda: [stack(own(waves))]),
    ("MP005 error .*Fix: .*without dtype", lambda: [stack(NarrowWeight)]),
    (r"MP005 .*Fix: cast\(..., x.dtype\)",
     lambda: [lambda_layer(lambda x: tf.cast(x, tf.float32))]),
    *(("MP007 warning own.*float32", lambda policy=policy: [stack(Promotes, policy=policy)])
      for policy in MIXED),
    ("MP007 warning .*inner: ", lambda: [stack(HoldsOneThatPromotes)]),
    ("MP007 warning .*something in it is wider", lambda: [stack(RawConstant)]),
    *((r"MP025 warning .*range counts .* above 256: .*Fix: .*cast\(made, .*float32 or int32",
       lambda layer=layer: [stack(layer, policy=MIXED[1])])
      for layer in (CountsNarrowly, CastsCounts)),
    ("MP025 warning .*cumsum counts in float16, .* above 2,048", lambda: [stack(AddsNarrowly)]),
    *((f"MP008 warning .*Fix: .*mixed_{policy}", lambda policy=policy: [stack(policy=policy)])
      for policy in ("float16", "bfloat16")),
    *(("MP009 warning", lambda layer=layer: [stack(layer)])
      for layer in (TinyLiteral, TinyGlobal, TinyAttribute, layers.UnitNormalization)),
    (r"MP009 warning .*(-1e9|-1000000000.0) is infinite .*Fix: -30000", lambda: [stack(Masks)]),
    ("MP009", lambda: [lambda_layer(lambda x: x + 1e-9)]),
    ("MP009", lambda: [stack(  # two in one statement are told apart
        lambda: layers.Lambda(lambda x: x * 2),
        lambda: layers.Lambda(lambda x: x if True else 1e-9),
    )]),
    ("MP009 warning add.*: 1e-08 is below", lambda: [task(lambda x: x / (ops.max(x) + 1e-8))]),
    ("MP009 warning mul.*: -1e.09 is infinite", lambda: [task(lambda x: (1 - x) * -1e9)]),
    ("MP009 .*optimizer's epsilon", lambda: [pure()]),
    ("MP009 .*optimizer's epsilon", lambda: [pure(), LossScaleOptimizer(Adam())]),
    ("MP013 .*loss scaling .*Fix: keras.config.set_dtype_policy.\"mixed_float16",
     lambda: [stack(), None, "mixed_float16"]),
    ("MP013 .*those that you add compute otherwise", lambda: [stack(), None, "mixed_bfloat16"]),
    ("MP014 error .*another", lambda: [stack(), LossScaleOptimizer(LossScaleOptimizer(SGD()))]),
    ("MP014 error .*8.0", lambda: [with_setting("inner_optimizer", "loss_scale_factor", 8.0)]),
    ("MP015 error", lambda: [stack(kind=Loop)]),
    *(("MP023 error .*table: .* in bfloat16, .* above 256, .* 258 rows: .*int32",
       lambda how=how: [stack(looked_up(258), policy=how)]) for how in MIXED[1:]),
    ("MP023 .* in float16, .* above 2,048", lambda: [stack(looked_up(3000))]),
    ("MP023", lambda: [unstarted()]),
    ("MP023 error tied: ", lambda: [task(ids="float32")]),
    *(("MP024 error .*half: .* another mask", lambda how=how: [stack(again(half, how))])
      for how in ("call", "init", "training")),
    ("MP024 error", lambda: [stack(again(half), policy="float32")]),
    ("MP024 error .*gaussian", lambda: [stack(again(lambda: layers.GaussianNoise(0.1)))]),
    ("MP024 warning .*statistics", lambda: [stack(again(layers.BatchNormalization))]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize(("said", "given"), WRONG, ids=[said[:5] for said, _ in WRONG])
def test_what_is_wrong_is_found_once(said, given):
    assert re.match(said, str(one(said[:5], *given())))


# Models that the rule leaves in peace, and what else there is about them
RIGHT = [
    ("MP001", lambda: [stack(head=None, policy="float32")]),
    ("MP001", lambda: [stack(dense(), dense("softmax", dtype="float32"))]),
    ("MP001", lambda: [widened("relu", "softmax")]),
    # of a hidden layer: the head has weights
    ("MP001", lambda: [stack(dense("softmax"))]),
    ("MP001", lambda: [subclassed(True), "sgd"]),
    # The weights of an embedding are not cast, and widen the logits that they make.
    ("MP001", lambda: [task(head=None)]),
    *(("MP002", lambda policy=policy: [stack(policy=policy)]) for policy in MIXED),
    ("MP002", lambda: [per_layer(), LossScaleOptimizer(SGD())]),
    ("MP002", lambda: [compiled(per_layer(), SGD(loss_scale_factor=64), auto_scale_loss=False)]),
    ("MP002", lambda: [stack(optimizer=None), "sgd"]),
    ("MP002", lambda: [stack(dense(dtype="mixed_bfloat16"), policy="float32")]),
    # No gradient flows through what comes before the first weights.
    ("MP002", lambda: [stack(lambda: layers.Rescaling(0.5, dtype="float16"), policy="float32")]),
    *(("MP005", lambda layer=layer: [stack(layer, policy="float32")])
      for layer in (CastsUp, CastsUpByName)),
    # At the end of a model, widening is what MP001 asks for.
    ("MP005", lambda: [stack(dense(), CastsUp, head=None)]),
    *(("MP005", lambda layer=layer: [stack(layer)]) for layer in (CastsUpAndBack, hold("float32"))),
    # A dtype given to a layer is a policy.
    ("MP005", lambda: [stack(hold(None))], "MP008", "MP009"),
    ("MP005", lambda: [unbuilt(CastsUpAndBack)]),
    ("MP005", lambda: [lambda_layer(lambda x: tf.cast(x, x.dtype) * 2)]),
    *(("MP007", lambda layer=layer: [stack(layer)])
      for layer in (Follows, CastsItsWeight, GoodConstants, ConstantAndBack)),
    ("MP007", lambda: [unbuilt(GoodConstants)]),
    ("MP007", lambda: [stack(Promotes, policy="float32")]),
    *(("MP025", lambda layer=layer: [stack(layer, policy=MIXED[1])])
      for layer in (CountsAndCasts, CountsAFew)),
    ("MP025", lambda: [stack(CountsNarrowly, policy="float32")]),
    # Whole numbers are not cast, so their dtype is none of 16 bits.
    ("MP025", lambda: [task(before=CountsLikeIds, head=None)]),
    ("MP008", lambda: [stack()]),
    ("MP008", lambda: [stack(lambda: layers.ReLU(dtype="float16"))]),  # without weights
    *(("MP009", lambda layer=layer: [stack(layer)]) for layer in (GoodNumbers, Upcasts)),
    ("MP009", lambda: [stack(Masks, policy=MIXED[1])]),
    ("MP009", lambda: [lambda_layer(lambda x: x + 1e-3)]),
    ("MP009", lambda: [stack(lambda: layers.UnitNormalization(dtype="float32"), dense())]),
    ("MP009", lambda: [stack(lambda: layers.LayerNormalization(epsilon=1e-12))]),
    *(("MP009", lambda how=how: [task(how)], "MP001") for how in (
        lambda x: x / (ops.max(x) + 1e-7), lambda x: ops.cast(x, "float32") / 1e-12)),
    ("MP009", lambda: [pure(), LossScaleOptimizer(Adam(epsilon=1e-4))], "MP008"),
    ("MP009", lambda: [stack(), "adam"]),
    ("MP014", lambda: [stack(), LossScaleOptimizer(SGD())]),
    ("MP015", lambda: [stack(kind=ScaledLoop)]),
    ("MP015", lambda: [stack(kind=Counting)]),
    ("MP015", lambda: [compiled(stack(kind=Loop), "sgd", auto_scale_loss=False)], "MP002"),
    ("MP023", lambda: [task(head=None)]),
    # A float32 holds ids up to 2^24, and the Embedding itself does not cast them.
    ("MP023", lambda: [task(ids="float32", before=lambda: lambda x: x, head=None)]),
    ("MP023", lambda: [stack(looked_up(257), policy=MIXED[1])]),
    ("MP023", lambda: [stack(looked_up(2049))]),
    ("MP023", lambda: [stack(looked_up(3000), policy="float32")]),
    ("MP024", lambda: [stack(again(half, "before"))]),
    ("MP024", lambda: [stack(again(lambda: layers.Dropout(0)))]),
    ("MP024", lambda: [stack(again(lambda: layers.BatchNormalization(trainable=False)))]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("case", RIGHT, ids=[case[0] for case in RIGHT])
def test_what_is_right_is_left_in_peace(case):
    _, given, *others = case
    assert codes(*given()) == others


def test_each_rule_has_models_that_break_it_and_others():
    rules = [rule.__doc__[:5] for rule in RULES]  # each says its code
    elsewhere = {"MP010", "MP012"}
    assert len(set(rules)) == len(rules) == 14
    assert {said[:5] for said, _ in WRONG} | elsewhere == set(rules)
    assert {case[0] for case in RIGHT} | elsewhere | {"MP013"} == set(rules)


def test_empty_models_have_no_findings_and_what_is_no_model_is_refused():
    for model in (keras.Sequential(), keras.Sequential([layers.Dense(8)])):
        assert codes(model) == []
    with pytest.raises(ValueError, match="give examine a keras.Model"):
        examine("model.keras")
    with pytest.raises(ValueError, match="no_such"):
        examine(stack(), "no_such")


def test_findings_are_sorted():
    found = examine(stack(lambda: layers.Dense(9, dtype="float16"), head="float16"))
    ranks = [("error", "warning", "advice").index(f.severity) for f in found]
    assert ranks == sorted(ranks) and set(ranks) == {0, 1, 2}


def test_examining_changes_nothing():
    def call(self, x):
        self.add_loss(ops.sum(x))
        return x * self.scale

    model = stack(own(call, scale(autocast=False)))
    before = model.get_weights()
    nodes = len(model.layers[0]._inbound_nodes)
    examine(model)
    assert model.losses == [] and len(model.layers[0]._inbound_nodes) == nodes
    assert all(map(np.array_equal, before, model.get_weights()))


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
        # does not tell
        ("mixed_bfloat16", Hardware("Windows AMD64", "some CPU", 4, None), None),
        ("float32", machine("avx2"), None),
    ],
)
def test_mp012_slow_on_this_hardware(policy, hardware, reason, here):
    """One machine for each kind of reason; which machine has which is
    `test_hardware`'s.
    """
    model = compiled(stack(policy=policy), "adam", jit_compile=False)
    here(hardware)
    if reason:
        found = one("MP012", model)
        assert reason in found.message and found.severity == "warning"
    else:
        assert codes(model) == []


def test_mp012_sends_float16_convolutions_to_xla_where_onednn_has_no_kernel(
    here, monkeypatch
):
    def finding(model, compile_it):
        return one("MP012", compiled(model, "adam", jit_compile=compile_it))

    here(machine("avx512_fp16", "amx_bf16"))
    monkeypatch.setattr("tensorflow.__version__", "2.21.0")
    with dtype_policy("mixed_float16"):
        cnn = models.mnist_cnn()
    for model, belongs in ((cnn, True), (stack(), False)):
        fix = finding(model, False).fix
        assert fix.startswith("model.compile(..., jit_compile=True)") == belongs
    assert "XLA computes products" in finding(cnn, True).message
    monkeypatch.setattr("tensorflow.__version__", "2.20.0")
    assert "neither oneDNN nor XLA" in finding(cnn, True).message


@pytest.mark.parametrize(
    "make, shape, extra",
    [
        (lambda n: layers.Dense(n), (6,), 6 * 6 + 6),
        (lambda n: layers.Conv2DTranspose(n, 3), (9, 9, 3), 6 * (27 + 1)),
        (lambda n: layers.Embedding(100, n), (5,), 600),
    ],
)
def test_mp010_widths_and_what_padding_costs(make, shape, extra):
    def build(width, policy="mixed_float16"):
        with dtype_policy(policy):
            return keras.Sequential([keras.Input(shape), make(width)])

    assert build(16).count_params() - build(10).count_params() == extra
    finding = one("MP010", build(10))
    assert f"{extra:,} parameters" in finding.message and "=16" in finding.fix
    assert finding.severity == "advice"
    assert "MP010" not in codes(build(16)) + codes(build(10, "float32"))
