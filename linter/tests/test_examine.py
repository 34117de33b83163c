"""Each rule with models that break it, and with near misses that it leaves in peace."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers, ops
from mixed_precision_lint import Reason, examine
from mixed_precision_lint.finding import Finding, in_order
from policies import dtype_policy

SGD = keras.optimizers.SGD
LossScaleOptimizer = keras.optimizers.LossScaleOptimizer
F16, BF16 = MIXED = ("mixed_float16", "mixed_bfloat16")
EPSILON = 1e-8


def codes(*args):
    return [f.code for f in examine(*args)]


def one(code, *args):
    (found,) = (f for f in examine(*args) if f.code == code)
    assert found.message.endswith(".") and found.fix
    return found


def stack(
    *inner,
    policy=F16,
    head="float32",
    optimizer="adam",
    loss="mse",
    kind=keras.Sequential,
    **how,
):
    """A Sequential of eight features with some layers in it, and a float32 head."""
    with dtype_policy(policy):
        made = [make() for make in inner] or [layers.Dense(8)]
        model = kind([keras.Input((8,)), *made])
        if head:
            model.add(layers.Dense(8, dtype=head))
    if optimizer:
        model.compile(optimizer, loss, **how)
    return model


# Models of Keras's layers


def dense(*args, **options):
    return lambda: layers.Dense(8, *args, **options)


def wide_softmax():
    return layers.Activation("softmax", dtype="float32")


def functional(make, shape=(8,), dtype=None):
    """A model under mixed_float16 of what a function makes of its input."""
    with dtype_policy(F16):
        inputs = keras.Input(shape, dtype=dtype)
        return keras.Model(inputs, make(inputs))


def nested():
    deep = functional(layers.Dense(8, "softmax", name="deep", dtype=F16))
    deep.name = "inner"
    return functional(lambda x: [layers.Dense(8, dtype="float32")(x), deep(x)])


class Uncalled(keras.Model):
    def build(self, shape):
        self.dense = layers.Dense(8)


class Subclassed(keras.Model):
    def __init__(self, widen):
        super().__init__(dtype=F16)
        self.dense = layers.Dense(8, name="dense", dtype=F16)
        self.widen = widen
        self(np.zeros((2, 8), "float32"))

    def call(self, x):
        x = self.dense(x)
        return ops.cast(x, "float32") if self.widen else x


def per_layer(**options):
    """Compile does not see the layer's own policy."""
    return stack(dense(dtype=F16), policy="float32", **options)


def tied(dtype, between=lambda x: x):
    """Ids are looked up in a table, and its weights make the logits."""

    def make(ids):
        table = layers.ReversibleEmbedding(3000, 8, name="tied")
        return table(table(between(ids)), reverse=True)

    return functional(make, dtype=dtype)


class LooksUp(layers.Layer):
    """Keras casts the ids that are given to it."""

    def __init__(self, rows):
        super().__init__()
        self.table = layers.Embedding(rows, 8, name="table")

    def build(self, shape):
        self.table.build(shape)

    def call(self, x):
        return self.table(x)


def looked_up(rows, **options):
    return stack(lambda: LooksUp(rows), **options)


def unstarted():
    """Without an Input, a Sequential gives its own the first layer's compute dtype."""
    model = stack(
        lambda: layers.Embedding(3000, 8),
        kind=lambda found: keras.Sequential(found[1:]),
    )
    model(np.zeros((2, 8), "int32"))
    return model


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


def own(call):
    """A class of layers from its method `call`."""
    return type("Own", (layers.Layer,), {"call": call})


@own
def casts_up(self, x):
    return tf.cast(x, tf.float32) * 2


@own
def casts_up_and_back(self, x):
    return tf.cast(tf.cast(x, tf.float32) * 2, self.compute_dtype)


@own
def counts_widely(self, x):
    return ops.add(x, ops.arange(8, dtype="float32"))


@own
def divides(self, x):
    return x / (ops.sum(x) + 1e-8)


@own
def divides_by_a_limit(self, x):
    return x / ops.maximum(x, 1e-8)


@own
def divides_by_name(self, x):
    return x / (ops.sum(x) + EPSILON)


@own
def masks(self, x):
    return ops.where(x > 0, x, -1e9)


@own
def stays_in_range(self, x):
    return ops.where(x > 0, x, -3e4) / (ops.sum(x) + 6e-8)


@own
def upcasts(self, x):
    wide = ops.cast(x, "float32")
    return ops.cast(wide / (ops.sum(wide) + 1e-12), x.dtype)


@own
def adds_raw(self, x):
    return ops.multiply(x, tf.constant(2.0))


@own
def adds_a_loss(self, x):
    self.add_loss(ops.sum(x))
    return x


class Divides(layers.Layer):
    def __init__(self):
        super().__init__()
        self.epsilon = 1e-9

    def call(self, x):
        return x / (ops.sum(x) + self.epsilon)


class Holds(layers.Layer):
    """What a held layer does is no fault of the one that holds it."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner()

    def build(self, shape):
        self.inner.build(shape)

    def call(self, x):
        return self.inner(x)


# What the finding with this code says, and what `examine` is called with
WRONG = [
    (r"MP001 error out: The probabilities come out in bfloat16, .* the gradient of .* lost. "
     r'Fix: Dense\(..., activation="softmax", dtype="float32"\)',
     lambda: [stack(dense("softmax", name="out"), policy=BF16, head=None)]),
    ("MP001 warning dense.* output is rounded to float16", lambda: [stack(head=None)]),
    ("MP001 error inner/deep: ", lambda: [nested()]),
    ("MP001 error softmax", lambda: [functional(lambda x: ops.softmax(layers.Dense(8)(x)))]),
    ("MP001 warning dense: ", lambda: [Subclassed(widen=False)]),
    (r"MP002 error .*dense.* Fix: .*LossScaleOptimizer\(", lambda: [stack(policy="float16")]),
    ("MP002 error", lambda: [stack(auto_scale_loss=False)]),
    ("MP002 warning", lambda: [per_layer(optimizer=None)]),
    ("MP002 error", lambda: [per_layer(optimizer=None), "sgd"]),
    ("MP007 warning .*: cast names float32 .*Fix: cast", lambda: [stack(casts_up)]),
    ("MP007 warning .*counts .*256. Fix: .*cast.made, self.compute_dtype.*float32",
     lambda: [stack(counts_widely, policy=BF16)]),
    ("MP007 warning holds.*/own.*something in it is wider",
     lambda: [stack(lambda: Holds(adds_raw))]),
    *((f"MP008 warning .*Fix: .*mixed_{policy}",
       lambda policy=policy: [stack(policy=policy, optimizer="sgd")])
      for policy in ("float16", "bfloat16")),
    ("MP009 warning own.*: 1e-08 is below 6e-08", lambda: [stack(divides)]),
    ("MP009 warning own.*: 1e-08 is below 6e-08", lambda: [stack(divides_by_a_limit)]),
    ("MP009 warning own.*: EPSILON = 1e-08 is below", lambda: [stack(divides_by_name)]),
    ("MP009 warning divides.*: self.epsilon = 1e-09 is below", lambda: [stack(Divides)]),
    ("MP009 warning own.*: -1000000000.0 is infinite .*Fix: -30000", lambda: [stack(masks)]),
    ("MP010 advice dense.*units=9 is .*: 16 would cost 63 parameters more.*Fix: Dense.units=16",
     lambda: [stack(lambda: layers.Dense(9))]),
    ("MP010 .*filters=10 is .*: 16 would cost 168 parameters",
     lambda: [functional(lambda x: layers.Conv2D(8, 1, dtype="float32")(layers.Conv2D(10, 3)(x)),
                         (9, 9, 3))]),
    ("MP015 error", lambda: [stack(kind=Loop)]),
    ("MP023 error .*table: .* in bfloat16, .* above 256, .* 258 rows: .*int32",
     lambda: [looked_up(258, policy=BF16)]),
    ("MP023 .* in float16, .* above 2,048", lambda: [looked_up(3000)]),
    ("MP023", lambda: [unstarted()]),
    ("MP023 error tied: ", lambda: [tied("float32", layers.Identity(dtype=F16))]),
    (r"MP026 warning .* not built .*dense.* MP001, MP007, MP010 and MP023 .*Fix: model\(x\[:1",
     lambda: [keras.Sequential([layers.Dense(3), layers.Dense(10, "softmax")])]),
    ("MP026 ", lambda: [Uncalled()]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize(("said", "given"), WRONG, ids=[said[:5] for said, _ in WRONG])
def test_what_is_wrong_is_found_once(said, given):
    assert re.match(said, str(one(said[:5], *given())))


# Models that the rule leaves in peace, and what else there is about them
RIGHT = [
    ("MP001", lambda: [stack(dense(), dense("softmax", dtype="float32"))]),
    # of a hidden layer: the head has weights
    ("MP001", lambda: [stack(dense("softmax"))]),
    ("MP001", lambda: [Subclassed(widen=True), "sgd"]),
    ("MP001", lambda: [stack(dense("softmax"), head=None, loss=None)]),
    *(("MP002", lambda policy=policy: [stack(policy=policy)]) for policy in MIXED),
    ("MP002", lambda: [per_layer(), LossScaleOptimizer(SGD())]),
    ("MP002", lambda: [per_layer(optimizer=SGD(loss_scale_factor=64), auto_scale_loss=False)]),
    ("MP002", lambda: [stack(optimizer=None), "sgd"]),
    # No gradient flows through what comes before the first weights.
    ("MP002", lambda: [stack(lambda: layers.Rescaling(0.5, dtype="float16"), policy="float32")]),
    ("MP007", lambda: [stack(casts_up, policy="float32")]),
    # At the end of a model, widening is what MP001 asks for.
    ("MP007", lambda: [stack(dense(), casts_up, head=None)]),
    ("MP007", lambda: [stack(casts_up_and_back)]),
    ("MP007", lambda: [stack(lambda: Holds(dense(dtype="float32")))]),
    ("MP008", lambda: [stack(lambda: layers.ReLU(dtype="float16"))]),  # without weights
    *(("MP009", lambda layer=layer: [stack(layer)]) for layer in (stays_in_range, upcasts)),
    ("MP009", lambda: [stack(masks, policy=BF16)]),
    ("MP010", lambda: [stack(lambda: layers.Dense(9), policy="float32")]),
    # Ten classes are ten, whatever tensor cores want.
    ("MP010", lambda: [stack(lambda: layers.Dense(10), wide_softmax, head=None)]),
    ("MP015", lambda: [stack(kind=ScaledLoop)]),
    ("MP015", lambda: [stack(kind=Counting)]),
    ("MP015", lambda: [stack(kind=Loop, auto_scale_loss=False)], "MP002"),
    # The weights of an embedding are not cast, and widen the logits that they make.
    ("MP023", lambda: [tied("int32")]),
    # A float32 holds ids up to 2^24, and the Embedding itself does not cast them.
    ("MP023", lambda: [tied("float32")]),
    ("MP023", lambda: [looked_up(257, policy=BF16)]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("case", RIGHT, ids=[case[0] for case in RIGHT])
def test_what_is_right_is_left_in_peace(case):
    _, given, *others = case
    assert codes(*given()) == others


class Doubled(keras.Model):
    def call(self, x):
        return x * 2


def test_unbuilt_models_stay_so_empty_ones_have_no_findings_and_others_are_refused():
    for model in (keras.Sequential(), keras.Sequential([layers.Dense(8)])):
        assert codes(model) == ["MP026"] and not model.built
    with dtype_policy("mixed_float16"):
        without_layers = Doubled()
    without_layers(np.ones((2, 3)))
    assert codes(without_layers) == []
    with pytest.raises(ValueError, match="give a keras.Model"):
        examine("model.keras")
    with pytest.raises(ValueError, match="no_such"):
        examine(stack(), "no_such")


def test_findings_are_sorted():
    found = examine(stack(lambda: layers.Dense(9, dtype="float16"), head="float16"))
    severities = [finding.severity for finding in found]
    assert list(dict.fromkeys(severities)) == ["error", "warning", "advice"]


def test_a_severity_goes_by_its_weight_and_not_by_its_word():
    """No loop rule gives advice yet, so their findings are made here."""
    given = [
        Finding("MP010", "advice", "a", "", ""),
        Finding("MP019", "warning", "a", "", ""),
        Finding("MP018", "error", "b", "", ""),
        Finding("MP021", "error", "a", "", ""),
    ]
    codes_in_order = [finding.code for finding in in_order(given)]
    assert codes_in_order == ["MP021", "MP018", "MP019", "MP010"]


def test_examining_changes_nothing():
    model = stack(adds_a_loss, casts_up)
    nodes = len(model.layers[0]._inbound_nodes)
    before = model.get_weights()
    examine(model)
    assert model.losses == [] and len(model.layers[0]._inbound_nodes) == nodes
    assert all(map(np.array_equal, before, model.get_weights()))


def test_mp012_asks_the_machine_which_dtype_is_slow():
    asked = []

    def machine(model, dtype):
        asked.append(dtype)
        return Reason("it has no units for it.", "mend") if dtype == "float16" else None

    model = stack(policy=F16, jit_compile=False)
    assert codes(model) == []
    (found,) = examine(model, machine=machine)
    assert found.code == "MP012" and found.severity == "warning" and found.fix == "mend"
    assert found.message.endswith("gains no time here, as it has no units for it.")
    assert examine(stack(policy=BF16, jit_compile=False), machine=machine) == []
    assert asked == ["float16", "bfloat16"]  # what its layers compute in


class Quiet(layers.Layer):
    def call(self, x):
        return x / (ops.mean(x) + 1e-9)  # lint: ignore MP009


class Loud(layers.Layer):
    def call(self, x):
        return x / (ops.mean(x) + 1e-9)  # lint: ignore MP033


def test_a_comment_switches_a_rule_off_for_its_class():
    assert codes(stack(Quiet)) == []
    assert codes(stack(Loud)) == ["MP009"]
