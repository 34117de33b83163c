"""What people bring: models of other people's kinds, wrong and mended.

Each case is made twice. As people bring it, `examine` names it, and what goes wrong
happens; with the fix the finding is gone, and so is the harm.
"""

import types
from functools import partial
from unittest import mock

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers, ops
from mixed_precision_lint import dtype_flow, examine, probe
from mixed_precision_lint.bias_rules import bias_sums_stop
from policies import dtype_policy
from test_examine import F16, codes, one

BF16 = "mixed_bfloat16"
SGD = keras.optimizers.SGD
Scaled = keras.optimizers.LossScaleOptimizer
X = np.random.default_rng(0).normal(size=(16, 8)).astype("float32")


def chain(*inner, inputs=(8,), dtype=None, mask=False, units=1):
    """A compiled regression: an input, some layers, a float32 Dense."""
    hidden = start = keras.Input(inputs, dtype=dtype)
    for layer in inner:
        hidden = layer(hidden)
    model = keras.Model(start, layers.Dense(units, dtype="float32")(hidden))
    model.compile("sgd", "mse", jit_compile=False)
    return model


def not_finite(model, x=X):
    return not np.isfinite(model.predict(x, verbose=0)).all()


def cannot_fit(model, x=X):
    try:
        model.fit(x, np.ones((len(x), 1), "float32"), verbose=0)
    except TypeError as error:
        return "list containing a tensor" in str(error)
    return False


# Which optimizer steps?


class Rivals(keras.Model):
    """Two networks, each with an optimizer of its own, as in Keras's GANs."""

    def __init__(self):
        super().__init__()
        self.maker, self.critic = (
            keras.Sequential(
                [
                    keras.Input((8,)),
                    layers.Dense(8, "relu"),
                    layers.Dense(8, dtype="float32"),
                ]
            )
            for _ in range(2)
        )

    def call(self, x):
        return self.critic(self.maker(x))

    def compile(self, makers, critics):
        super().compile(jit_compile=False)
        self.makers, self.critics = makers, critics

    def train_step(self, data):
        x = keras.utils.unpack_x_y_sample_weight(data)[0]
        for optimizer, network in (
            (self.critics, self.critic),
            (self.makers, self.maker),
        ):
            with tf.GradientTape() as tape:
                loss = 1e-7 * ops.mean(ops.square(self(x) - 1))
                scaled = self.scaled(optimizer, loss)
            weights = network.trainable_variables
            optimizer.apply(tape.gradient(scaled, weights), weights)
        return {"loss": loss}

    def scaled(self, optimizer, loss):
        return loss


class ScaledRivals(Rivals):
    def scaled(self, optimizer, loss):
        return optimizer.scale_loss(loss)


def rivals(kind, *optimizers):
    keras.utils.set_random_seed(0)
    model = kind()
    model(X)
    model.compile(*optimizers)
    return model


def stands(model):
    """Whether a step leaves the first weights of one of the networks as they are."""
    networks = model.maker, model.critic
    before = [network.layers[0].kernel.numpy() for network in networks]
    model.train_on_batch(X)
    after = [network.layers[0].kernel.numpy() for network in networks]
    assert np.isfinite(after).all()
    return any(map(np.array_equal, before, after))


class Teacher(layers.Layer):
    """A layer that trains its own Dense with its own optimizer."""

    def __init__(self, wrap):
        super().__init__()
        self.dense = layers.Dense(8)
        self.rule = wrap(SGD(1e5))

    def build(self, shape):
        self.dense.build(shape)

    def call(self, x):
        return self.dense(x)

    def learn(self, x):
        with tf.GradientTape() as tape:
            loss = 1e-8 * ops.mean(ops.square(ops.cast(self(x), "float32") - 1))
            scaled = self.rule.scale_loss(loss)
        weights = self.dense.trainable_variables
        self.rule.apply(tape.gradient(scaled, weights), weights)


def teaches_nothing(model):
    teacher = model.layers[1]
    before = teacher.dense.kernel.numpy()
    teacher.learn(ops.convert_to_tensor(X))
    return np.array_equal(before, teacher.dense.kernel.numpy())


def taught(wrap):
    with dtype_policy(F16):
        return chain(Teacher(wrap))


def twice(wrap):
    with dtype_policy(F16):
        model = chain(layers.Dense(8))
        model.compile(wrap(Scaled(SGD(1.0))), "mse", jit_compile=False)
    return model


def creeps(model):
    before = model.layers[-1].bias.numpy()
    model.train_on_batch(X, np.ones((16, 1), "float32"))
    return abs(float((model.layers[-1].bias.numpy() - before)[0])) < 1e-3


OPTIMIZERS = {
    "rivals, plain": (
        "MP002 self.critics", stands,
        lambda: rivals(Rivals, SGD(1e3), SGD(1e3)),
        lambda: rivals(ScaledRivals, Scaled(SGD(1e3)), Scaled(SGD(1e3)))),
    "rivals, scale_loss of a plain one": (
        "MP002 self.makers", stands,
        lambda: rivals(ScaledRivals, SGD(1e3), Scaled(SGD(1e3))),
        lambda: rivals(ScaledRivals, Scaled(SGD(1e3)), Scaled(SGD(1e3)))),
    "held by a layer": (
        "MP002 self.rule", teaches_nothing, lambda: taught(lambda o: o), lambda: taught(Scaled)),
    "wrapped twice": (
        "MP014 another one", creeps, lambda: twice(Scaled), lambda: twice(lambda o: o)),
}  # fmt: skip

# Losses beside the main loss


class Penalty(layers.Layer):
    def __init__(self, dtype=None):
        super().__init__()
        self.wide = dtype

    def call(self, x):
        self.add_loss(ops.cast(ops.mean(ops.abs(x)), self.wide or x.dtype))
        return x


class Entropy(layers.Layer):
    """Of attention, in a loss of its own."""

    def call(self, x):
        shares = ops.softmax(x)
        self.add_loss(self.kept(-ops.sum(shares * ops.log(shares + 1e-4))))
        return shares

    def kept(self, loss):
        return loss


class WideEntropy(Entropy):
    def kept(self, loss):
        return ops.cast(loss, "float32")


def regular(*inner, policy=F16):
    with dtype_policy(policy):
        return chain(*(make() for make in inner))


def dense(**options):
    return partial(layers.Dense, 8, **options)


def summed(**options):
    return partial(layers.ActivityRegularization, l1=1e-3, **options)


LOSSES = {
    "add_loss": (
        "MP027 add", cannot_fit,
        lambda: regular(dense(), Penalty), lambda: regular(dense(), lambda: Penalty("float32"))),
    "of attention, bfloat16": (
        "MP027 bfloat16", cannot_fit,
        lambda: regular(Entropy, policy=BF16), lambda: regular(WideEntropy, policy=BF16)),
    "activity_regularizer": (
        "MP027 after it", cannot_fit,
        lambda: regular(dense(activity_regularizer="l2"), policy=BF16),
        lambda: regular(dense(), summed(dtype="float32"), policy=BF16)),
    "ActivityRegularization": (
        "MP027 layers.ActivityRegularization", cannot_fit,
        lambda: regular(dense(), summed()), lambda: regular(dense(), summed(dtype="float32"))),
    "of weights in float16": (
        "MP027 mixed_float16", cannot_fit,
        lambda: regular(dense(kernel_regularizer="l2"), policy="float16"),
        lambda: regular(dense(kernel_regularizer="l2"))),
}  # fmt: skip

# Numbers, wherever they stand


def hide(scores, number):
    return scores + (1 - ops.cast(scores > 0, scores.dtype)) * number


class Hides(layers.Layer):
    """Calls a function beside it."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def call(self, x):
        return hide(x, self.number)


class Casts(Hides):
    def call(self, x):
        hidden = tf.cast(self.number, x.dtype)
        return x + tf.cast(x < 0, x.dtype) * hidden


def between(number):
    """The number is an operand of the functional model."""
    start = keras.Input((8,))
    hidden = layers.Dense(8)(start)
    hidden = hidden + (1 - ops.cast(hidden > 0, F16[6:])) * number
    model = keras.Model(start, layers.Dense(1, dtype="float32")(hidden))
    model.compile("sgd", "mse", jit_compile=False)
    return model


SERIES = np.full((4, 6, 2), -9999.0, "float32")
SERIES[:, :3] = np.random.default_rng(1).normal(size=(4, 3, 2))


def masked(value, **options):
    keras.utils.set_random_seed(0)
    return chain(
        layers.Masking(value, **options), layers.GRU(4, dtype="float32"), inputs=(6, 2)
    )


def masks_nothing(model):
    layer = model.layers[1]
    return bool(ops.any(layer(SERIES)._keras_mask[:, 3:]))


def binned(bounds, dtype):
    bins = layers.Discretization(bounds, dtype=dtype)
    # Keras 3.13 gives ones of "one_hot" the shape of numbers, and no model has them.
    return chain(
        bins, layers.Embedding(len(bounds) + 1, 4), layers.Flatten(), inputs=(1,)
    )


def in_wrong_bins(bounds, values, model):
    layer = model.layers[1]
    low = layer(ops.cast(values, layer.compute_dtype))
    return not np.array_equal(np.ravel(low), np.digitize(np.ravel(values), bounds))


YEARS = list(range(1980, 2020, 5))
DAYS = [19_000.0, 19_007.0, 19_014.0]


def learned(values, dtype=None):
    layer = layers.Normalization(dtype=dtype)
    layer.adapt(values)
    return chain(layer, inputs=(1,))


def flattens(values, model):
    out = ops.convert_to_numpy(ops.cast(model.layers[1](values), "float32"))
    return not (np.isfinite(out).all() and abs(out.std() - 1) < 0.1)


def numbers(policy, make, *wrong, **right):
    """One case: a maker under a policy, with what is wrong and what is right."""

    def under(*arguments, **options):
        with dtype_policy(policy):
            return make(*arguments, **options)

    return (lambda: under(*wrong)), (lambda: under(**right))


def made(code, harm, policy, make, wrong, right):
    def under(given):
        with dtype_policy(policy):
            return make(*given)

    return code, harm, lambda: under(wrong), lambda: under(right)


SALES = np.random.default_rng(2).uniform(2e4, 4e5, (64, 1)).astype("float32")
KELVIN = np.random.default_rng(3).normal(300, 0.2, (64, 1)).astype("float32")
NUMBERS = {
    "in a function": made(
        "MP009 -1e+09", not_finite, F16, lambda n: chain(Hides(n)), [-1e9], [-3e4]),
    "cast by itself": made(
        "MP009 -1e+09", not_finite, F16, lambda n: chain(Casts(n)), [-1e9], [-3e4]),
    "in a Lambda": made(
        "MP009 -70000", not_finite, F16,
        lambda n: chain(layers.Lambda(lambda x: hide(x, n))), [-7e4], [-3e4]),
    "between layers": made("MP009 -1e+09", not_finite, F16, between, [-1e9], [-3e4]),
    "in an activation": made(
        "MP009 -1e+09", not_finite, F16,
        lambda n: chain(layers.Dense(8, activation=lambda x: hide(x, n))), [-1e9], [-3e4]),
    "the smallest float32 in bfloat16": made(
        "MP009 bfloat16", not_finite, BF16,
        lambda n: chain(Hides(n)), [float(np.finfo("float32").min)], [-1e9]),
    "Masking": made(
        "MP028 nothing is masked", masks_nothing, F16, masked, [-9999.0], [-9999.0]),
    "Masking, by a whole number": made(
        "MP028 nothing is masked", masks_nothing, F16, masked, [-9999.0], [-9999]),
    "years": made(
        "MP028 wrong bins", partial(in_wrong_bins, YEARS, np.array([[1983], [1998], [2009.0]])),
        BF16, lambda dtype: binned(YEARS, dtype), ["bfloat16"], ["float32"]),
    "days": made(
        "MP028 wrong bins", partial(in_wrong_bins, DAYS, np.array([[19_003], [19_013.0]])),
        F16, lambda dtype: binned(DAYS, dtype), ["float16"], ["float32"]),
    "raw sales": made(
        "MP028 infinity", partial(flattens, SALES), F16, learned, [SALES], [SALES, "float32"]),
    "kelvin": made(
        "MP028 little of it", partial(flattens, KELVIN), BF16,
        learned, [KELVIN], [KELVIN, "float32"]),
}  # fmt: skip
code, harm, wrong, _ = NUMBERS["Masking"]


def masked_in_float32():
    with dtype_policy(F16):
        return masked(-9999.0, dtype="float32")


NUMBERS["Masking"] = code, harm, wrong, masked_in_float32

# What overflows inside, and sums one after another


class Standardizes(layers.Layer):
    """By the spread within each sample."""

    def call(self, x):
        x = self.kept(x)
        x = x - ops.mean(x, axis=-1, keepdims=True)
        spread = ops.mean(ops.square(x), axis=-1, keepdims=True)
        return ops.cast(x / ops.sqrt(spread + 1e-3), self.compute_dtype)

    def kept(self, x):
        return x


class StandardizesWide(Standardizes):
    def kept(self, x):
        return ops.cast(x, "float32")


class Poisson(layers.Layer):
    """A rate from its logarithm."""

    def __init__(self, dtype=None):
        super().__init__()
        self.wide = dtype

    def call(self, x):
        rate = ops.exp(ops.cast(x, self.wide or x.dtype))
        return ops.cast(ops.log(1 + rate), x.dtype)


class Groups(layers.Layer):
    """Adds up what belongs together."""

    def __init__(self, dtype=None):
        super().__init__()
        self.wide = dtype

    def call(self, x):
        values = ops.cast(x, self.wide or x.dtype)
        total = tf.math.unsorted_segment_sum(
            values, tf.zeros(tf.shape(x)[0], "int32"), 2
        )
        return ops.cast(total / 4096, x.dtype)


class Histogram(Groups):
    def call(self, x):
        values = ops.cast(x, self.wide or x.dtype)
        total = ops.cumsum(values, axis=0)[-1:]
        return ops.cast(total / 4096, x.dtype)


def stops_early(model):
    ones = np.ones((4096, 1), "float32")
    return abs(float(np.ravel(model.layers[1](ones))[0]) - 1) > 0.1


LONG = 300 * X


def all_zero(model):
    return not np.any(model.layers[1](LONG))


IDS = np.ones((2, 3000), "int32")


def pooled(**options):
    embed = layers.Embedding(3, 8, mask_zero=True, embeddings_initializer="ones")
    wider = layers.Rescaling(100.0)
    pool = layers.GlobalAveragePooling1D(**options)
    return chain(embed, wider, pool, inputs=(3000,), dtype="int32")


def average(**options):
    return chain(
        layers.AveragePooling2D(64, **options), layers.Flatten(), inputs=(64, 64, 1)
    )


INSIDE = {
    "spread": made(
        "MP029 Squares", all_zero, F16,
        lambda kind: chain(kind()), [Standardizes], [StandardizesWide]),
    "UnitNormalization": made(
        "MP029 Squares", all_zero, F16,
        lambda dtype: chain(layers.UnitNormalization(dtype=dtype)), [None], ["float32"]),
    "exp": made(
        "MP029 11.1", partial(not_finite, x=12 + 0 * X), F16,
        lambda dtype: chain(Poisson(dtype)), [None], ["float32"]),
    "masked pool": made(
        "MP029 divided by", partial(not_finite, x=IDS), F16,
        lambda dtype: pooled(dtype=dtype), [None], ["float32"]),
    "large pool": made(
        "MP029 4,096", partial(not_finite, x=np.full((1, 64, 64, 1), 100.0)), F16,
        lambda dtype: average(dtype=dtype), [None], ["float32"]),
    "segments": made(
        "MP033 2,048", stops_early, F16, lambda dtype: chain(Groups(dtype), inputs=(1,)),
        [None], ["float32"]),
    "cumsum, bfloat16": made(
        "MP033 256", stops_early, BF16, lambda dtype: chain(Histogram(dtype), inputs=(1,)),
        [None], ["float32"]),
}  # fmt: skip


EVERY = OPTIMIZERS | LOSSES | NUMBERS | INSIDE


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("name", EVERY)
def test_what_people_bring_is_named_and_its_fix_mends_it(name):
    said, harm, wrong, right = EVERY[name]
    code, _, words = said.partition(" ")
    with dtype_policy(F16):  # an optimizer is wrapped, or not, under it
        brought = wrong()
        found = [str(each) for each in examine(brought) if each.code == code]
        assert found and any(words in each for each in found), list(examine(brought))
        if name == "large pool" and not harm(brought):
            pytest.skip("This machine has a routine that pools float16 in float32.")
        assert harm(brought)
        mended = right()
        assert code not in codes(mended)
        assert not harm(mended)


# Update rules in pure 16 bits


@pytest.mark.parametrize(
    "policy, optimizer, said",
    [
        ("bfloat16", keras.optimizers.AdamW(), "AdamW moves no weight at all"),
        ("bfloat16", keras.optimizers.Lamb(), "Lamb moves no weight at all"),
        ("bfloat16", keras.optimizers.Nadam(), "Nadam makes NaN"),
        ("float16", keras.optimizers.Adam(), "times as far as in float32"),
        ("bfloat16", keras.optimizers.Adam(beta_2=0.99), "rounded away"),
        ("float16", SGD(), "rounded away"),
    ],
)
def test_mp008_says_what_the_update_rule_does_to_16_bit_weights(
    policy, optimizer, said
):
    with dtype_policy(policy):
        model = chain(layers.Dense(8))
    found = one("MP008", model, optimizer)
    assert said in found.message
    assert (found.severity == "error") == ("rounded" not in said)
    with dtype_policy(f"mixed_{policy}"):  # its fix
        assert "MP008" not in codes(chain(layers.Dense(8)), optimizer)


def test_an_update_rule_that_does_nothing_really_does_nothing():
    with dtype_policy("bfloat16"):
        model = chain(layers.Dense(8))
    model.compile("adam", "mse", jit_compile=False)
    before = model.get_weights()
    model.fit(X, np.ones((16, 1), "float32"), verbose=0, epochs=3)
    # but the float32 Dense at the end
    assert all(map(np.array_equal, before[:-2], model.get_weights()[:-2]))


# Models that cannot be called, and what they ask


class Pyramid(layers.Layer):
    """Joins a coarse picture with a fine one."""

    def __init__(self, dtype=None):
        super().__init__()
        self.wide = dtype

    def compute_output_shape(self, shape):
        return (*shape[:-1], 2 * shape[-1])

    def call(self, x):
        coarse = tf.image.resize(x[:, ::2, ::2], (4, 4))  # float32, whatever came
        return tf.concat([x, tf.cast(coarse, self.wide or coarse.dtype)], axis=-1)


class Joins(layers.Layer):
    """Adds a table that it was given in float32."""

    def __init__(self, follow):
        super().__init__()
        self.table = tf.constant(np.ones((1, 8), "float32"))
        self.follow = follow

    def compute_output_shape(self, shape):
        return shape

    def call(self, x):
        table = tf.cast(self.table, x.dtype) if self.follow else self.table
        return tf.add(x, table)


@pytest.mark.parametrize(
    "make, name, inputs",
    [
        (lambda right: Pyramid("float16" if right else None), "pyramid", (4, 4, 1)),
        (Joins, "joins", (8,)),
    ],
)
def test_a_model_that_cannot_be_called_is_one_finding_with_the_layers_words(
    make, name, inputs
):
    with dtype_policy(F16):
        broken, right = (chain(make(each), inputs=inputs) for each in (False, True))
    (found,) = (f for f in examine(broken) if f.severity == "error")
    assert (found.code, found.layer.rstrip("_0123456789")) == ("MP030", name)
    assert "float" in found.message or "half" in found.message
    assert "compute_dtype" in found.fix
    with pytest.raises((TypeError, ValueError, tf.errors.OpError)):
        broken.predict(np.ones((1, *inputs), "float32"), verbose=0)
    assert codes(right) == []
    right.predict(np.ones((1, *inputs), "float32"), verbose=0)


def test_keras_2_is_named_wherever_a_model_of_it_is_given():
    """Classes of one's own, too; tools/keras_2.py does it with tf_keras itself."""
    base = types.new_class("Model", (), {})
    base.__module__ = "tf_keras.src.engine.training"
    for kind in (base, type("Mine", (base,), {})):
        model = kind()
        build = lambda model=model: (model, SGD(0.1), print)  # noqa: E731
        for look in (examine, dtype_flow, lambda m, build=build: probe(build, X, Y)):
            with pytest.raises(ValueError, match="tf_keras .Keras 2. was given"):
                look(model)


class Asks(layers.Layer):
    def call(self, x):
        return ops.cast(x, keras.config.dtype_policy().compute_dtype)


class AsksItself(layers.Layer):
    def call(self, x):
        return ops.cast(x, self.dtype_policy.compute_dtype)


def test_a_global_policy_asked_inside_call_is_found():
    with dtype_policy(F16):
        asks, right = chain(Asks()), chain(AsksItself())
    assert one("MP031", asks).fix.startswith("self.dtype_policy")
    # outside of the policy it computes in another dtype than it was made for
    assert [ops.cast(m.layers[1](X), "float32").dtype for m in (asks, right)]
    assert asks.layers[1](X).dtype == "float32" != right.layers[1](X).dtype
    assert codes(right) == []


# No false alarm


def block(**options):
    """A layer of one's own that holds others, like an encoder's block."""

    class Block(layers.Layer):
        def __init__(self):
            super().__init__(**options)
            self.dense, self.norm = layers.Dense(8), layers.LayerNormalization()

        def build(self, shape):
            self.dense.build(shape)
            self.norm.build(shape)

        def call(self, x):
            return self.norm(self.dense(x))

    return Block()


def functional(*inner, inputs=(8,), compiled=False):
    hidden = start = keras.Input(inputs)
    for layer in inner:
        hidden = layer(hidden)
    model = keras.Model(start, hidden)
    if compiled:
        model.compile("sgd", "mse")
    return model


def test_a_backbone_and_a_preprocessing_have_no_logits():
    with dtype_policy(F16):
        backbone = functional(layers.Dense(8, "relu"), block())
        pictures = functional(layers.Rescaling(1 / 255), inputs=(4, 4, 3))
        pooled = functional(layers.Conv2D(8, 1, activation="relu"), inputs=(4, 4, 3))
        head = functional(block(), layers.Dense(8))
        shares = functional(block(), layers.Softmax())
        trained = functional(block(), compiled=True)
    assert codes(backbone) == codes(pictures) == codes(pooled) == []
    assert one("MP001", head).severity == "warning"
    assert one("MP001", shares).severity == "error"
    # The fix leaves the block in 16 bits.
    assert one("MP001", trained).fix.startswith('x = keras.layers.Activation("linear"')


def test_probabilities_are_seen_through_what_only_moves_them():
    with dtype_policy(F16):
        moved = functional(layers.Dense(8, "softmax"), layers.Reshape((2, 4)))
        cure = functional(layers.Dense(8), layers.Reshape((2, 4), dtype="float32"))
    found = one("MP001", moved)
    assert "The probabilities" in found.message and "from_logits=True" in found.fix
    assert "MP001" not in codes(cure)


@pytest.mark.parametrize("policy", ["float32", F16])
@pytest.mark.parametrize(
    "mover",
    [
        lambda x: layers.Reshape((1, 2), dtype="float32")(x),
        lambda x: ops.expand_dims(x, 1),
    ],
)
def test_a_crossentropy_finds_no_logits_behind_what_moves_them(policy, mover):
    """In float32 neither: a mistake with a gap of 18 has no gradient there."""

    def model(loss, activation):
        with dtype_policy(policy):
            head = layers.Dense(2, activation, dtype="float32")
            start = keras.Input((8,))
            made = keras.Model(start, mover(head(start)))
        made.compile("sgd", loss, auto_scale_loss=False)
        return made

    (found,) = [
        finding
        for finding in examine(model("categorical_crossentropy", "softmax"))
        if finding.code == "MP001"
    ]
    assert found.severity == "error" and "from_logits=True" in found.fix
    assert "MP001" not in codes(model("mse", "softmax"))
    fixed = keras.losses.CategoricalCrossentropy(from_logits=True)
    assert "MP001" not in codes(model(fixed, "linear"))

    def gradient(loss, activation):
        logits = tf.Variable([[18.0, 0.0]])
        with tf.GradientTape() as tape:
            value = loss(tf.constant([[[0.0, 1.0]]]), mover(activation(logits)))
        return tape.gradient(value, logits).numpy()

    assert not gradient(keras.losses.CategoricalCrossentropy(), ops.softmax).any()
    assert gradient(fixed, lambda x: x)[0] == pytest.approx([1, -1])


class Ready(keras.Model):
    """A task of a library, whose user cannot write its head anew."""

    def __init__(self):
        start = keras.Input((8,))
        head = layers.Dense(8, name="head")
        super().__init__(start, head(layers.Dense(8)(start)))
        self.output_dense = head


def test_a_ready_task_gets_a_fix_that_its_user_can_apply():
    with dtype_policy(F16):
        model = Ready()
    fix = one("MP001", model).fix
    assert fix == 'model.output_dense.dtype_policy = "float32"'
    exec(fix, {"model": model})
    assert "MP001" not in codes(model) and model(X).dtype == "float32"


def test_widths_are_one_finding_and_any_can_be_switched_off():
    with dtype_policy(F16):
        model = chain(*(layers.Dense(9 + 2 * n) for n in range(5)))
    found = one("MP010", model)
    assert "units=9" in found.message and "and 1 more" in found.message
    assert examine(model, ignore=["MP010"]) == []


@pytest.mark.parametrize(
    "safe",
    [
        lambda x: ops.exp(x - ops.max(x, axis=-1, keepdims=True)),
        lambda x: ops.exp(-ops.square(x)),
        lambda x: ops.where(x > 0, x, float("-inf")),
        lambda x: x * 0.044715 + 1e-4,
        lambda x: ops.exp(-ops.square(x) * 0.5),
        lambda x: ops.exp(5 * ops.tanh(x)) + ops.exp(-ops.relu(x)),
        lambda x: ops.exp(ops.clip(x, -5, 5) * 0.5) + ops.exp(ops.log_softmax(x)),
        lambda x: ops.mean(ops.square(ops.tanh(x)), axis=-1, keepdims=True),
        lambda x: ops.clip(x, -1e9, 1e9),
        lambda x: ops.cumsum(x, axis=-1),
    ],
)
def test_what_cannot_overflow_is_left_in_peace(safe):
    class Own(layers.Layer):
        def call(self, x):
            return safe(x)

    with dtype_policy(F16):
        assert codes(chain(layers.Dense(8), Own())) == []


# Loops


def built(make, policy=F16, optimizer="sgd", kind=None):
    def build():
        keras.utils.set_random_seed(0)
        with dtype_policy(policy):
            model = make()
        model.compile(optimizer, "mse", jit_compile=False)
        return model, model.optimizer, model.train_on_batch

    return build


class Plain(keras.Model):
    """A step as Keras's guide writes it."""

    def __init__(self):
        super().__init__()
        self.first, self.last = layers.Dense(8), layers.Dense(1, dtype="float32")
        self(X)

    def call(self, x):
        return self.last(self.first(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
            scaled = self.optimizer.scale_loss(loss)
        weights = self.trainable_variables
        self.optimizer.apply(tape.gradient(scaled, weights), weights)
        return {"loss": loss}


Y = np.ones((16, 1), "float32")


def test_a_step_that_fit_can_take_is_right():
    assert probe(built(Plain), X, Y) == []


def test_an_update_rule_that_makes_nan_is_an_error_whatever_the_gradients_were():
    build = built(
        lambda: chain(layers.Dense(8, dtype="bfloat16")), BF16, keras.optimizers.Nadam()
    )
    (found,) = probe(lambda: build(), X, Y)
    assert (found.code, found.severity) == ("MP021", "error")
    assert "update rule" in found.message


PICTURES = np.abs(np.random.default_rng(4).normal(size=(8, 8, 8, 1))).astype("float32")


def before_a_pool(dtype):
    class Spoils(layers.Layer):
        """A logarithm of zero, times zero, somewhere in the picture."""

        def call(self, x):
            return ops.where(ops.cast(x, "float32") > 1.5, x * 1e4 * 1e4 * 0, x)

    return chain(
        Spoils(dtype=dtype),
        layers.MaxPooling2D(4),
        layers.ReLU(),
        layers.Flatten(),
        inputs=(8, 8, 1),
    )


def test_a_nan_that_a_max_pooling_hides_is_seen_before_the_pool():
    y = np.ones((8, 1), "float32")
    spoiled = tf.constant([[[[np.nan], [1.0]]] * 2], "float16")
    if np.isnan(layers.MaxPooling2D(2, dtype="float16")(spoiled)).any():
        pytest.skip("This machine has a routine whose max pooling keeps NaN.")
    model = built(lambda: before_a_pool(None))()[0]
    assert np.isfinite(model.train_on_batch(PICTURES, y))  # as the learner sees it
    (found,) = probe(built(lambda: before_a_pool(None)), PICTURES, y)
    assert found.code == "MP034" and "spoils" in found.message
    assert probe(built(lambda: before_a_pool("float32")), PICTURES, y) == []


def deep(initializer):
    hidden = (
        layers.Dense(300, "relu", kernel_initializer=initializer) for _ in range(4)
    )
    return chain(*hidden)


@pytest.mark.slow
def test_steps_that_are_never_taken_name_the_layer_that_overflows_first():
    wild = keras.initializers.RandomNormal(stddev=1.0, seed=0)
    (found,) = probe(built(lambda: deep(wild)), 10 * X, Y)
    assert found.code == "MP021" and "What dense" in found.message
    assert probe(built(lambda: deep("he_normal")), 10 * X, Y) == []
    (found,) = probe(built(lambda: chain(layers.Rescaling(1e-6))), 1e6 + X, Y)
    assert "given 1e+06, beyond its 65,504" in found.message


def test_the_fix_for_an_error_is_for_this_error():
    fixes = {}
    for name, layer in (("loss", Penalty), ("shape", lambda: layers.Reshape((2, 4)))):
        build = built(lambda layer=layer: chain(layers.Dense(8), layer()))
        y = Y if name == "loss" else np.ones((16, 3), "float32")
        (found,) = probe(build, X, y)
        assert found.code == "MP021"
        fixes[name] = found.fix
    assert "add_loss" in fixes["loss"]
    assert "scale_loss" not in str(fixes)


# What hostile readers tried


class Hidden(Rivals):
    """A property hands out the optimizers, which a dictionary holds."""

    def compile(self, makers, critics):
        super(Rivals, self).compile(jit_compile=False)
        self.rules = {"makers": makers, "critics": critics}

    makers = property(lambda self: self.rules["makers"])
    critics = property(lambda self: self.rules["critics"])


def test_optimizers_behind_properties_and_in_dictionaries_are_named_one_by_one():
    with dtype_policy(F16):
        model = rivals(Hidden, SGD(0.1), Scaled(SGD(0.1)))
        (found,) = (f for f in examine(model) if f.code == "MP002")
    assert found.fix.startswith("self.rules['makers'] = keras.optimizers.LossScale")
    with dtype_policy(F16):  # and the other one does not get its scale_loss
        assert "self.rules['critics']" in one("MP015", model).fix


class Delegates(SGD):
    """Wraps an optimizer that scales, under a name of its own."""

    def __init__(self):
        super().__init__()
        self.own = Scaled(SGD(0.1))


class NoCopy(SGD):
    def __init__(self, model):
        super().__init__(0.1)


def test_optimizers_that_cannot_be_copied_or_wrap_others_are_no_reason_to_raise():
    with dtype_policy("bfloat16"):
        model = chain(layers.Dense(8))
    for optimizer in (NoCopy(model), SGD(learning_rate=lambda: 0.1)):
        assert "rounded away" in one("MP008", model, optimizer).message
    with dtype_policy(F16):
        model = chain(layers.Dense(8))
    assert codes(model, Delegates()) == []


def test_a_name_that_is_not_there_yet_is_no_reason_to_raise():
    def made():
        class Late(Plain):
            def train_step(self, data):
                return late

        with dtype_policy(F16):
            model = Late()
        model.compile("sgd", "mse", jit_compile=False)
        results = codes(model)
        late = {}
        return results

    assert made() == []


class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(8)
        self(X, X)

    def call(self, x, other=None):
        return ops.cast(self.dense(x) + self.dense(other), "float32")


def test_what_a_subclassed_model_is_not_called_with_is_no_fault_of_it():
    with dtype_policy(F16):
        model = Pair()
    model.compile("sgd", "mse", jit_compile=False)
    assert codes(model) == []


def test_a_text_model_is_built_though_its_lookup_never_says_so():
    text = layers.TextVectorization(20, output_sequence_length=4)
    text.adapt(["one two three"])
    start = keras.Input((), dtype="string")
    with dtype_policy(F16):
        hidden = layers.Flatten()(layers.Embedding(20, 8)(text(start)))
        model = keras.Model(start, layers.Dense(1)(hidden))
    model.compile("sgd", "mse", jit_compile=False)
    assert codes(model) == ["MP001"]


@pytest.mark.parametrize("number", [-(10**9), np.full(8, -1e9, "float32")])
def test_a_number_is_seen_whether_it_is_whole_or_many(number):
    with dtype_policy(F16):
        assert "MP009" in codes(chain(layers.Lambda(lambda x: hide(x, number))))


def test_exp_of_what_is_negated_may_overflow():
    with dtype_policy(F16):
        assert "MP029" in codes(chain(layers.Lambda(lambda x: ops.exp(-x))))


# Metrics, files and gradients of gradients


class Hits(keras.metrics.Metric):
    """How many predictions are near; the count in a dtype of its own."""

    def __init__(self, dtype):
        super().__init__(name="hits")
        self.hits = self.add_variable((), "zeros", dtype=dtype, name="hits")

    def update_state(self, y, prediction, sample_weight=None):
        near = ops.abs(y - ops.cast(prediction, y.dtype)) < 99.0
        self.hits.assign_add(ops.sum(ops.cast(near, self.hits.dtype)))

    def result(self):
        return ops.cast(self.hits, "float32")


@pytest.mark.slow
def test_a_metric_that_counts_in_16_bits_is_named_and_stops_counting():
    many = np.ones((2500, 8), "float32")
    counts = {}
    for dtype in ("float16", "float32"):
        with dtype_policy(F16):
            model = chain(layers.Dense(8))
        model.compile("sgd", "mse", metrics=[Hits(dtype)], jit_compile=False)
        assert codes(model) == ["MP033"] * (dtype == "float16")
        model.evaluate(many, np.ones((2500, 1), "float32"), batch_size=1, verbose=0)
        assert codes(model) == ["MP033"] * (dtype == "float16")
        counts[dtype] = float(model.get_metrics_result()["hits"])
    assert counts == {"float16": 2048, "float32": 2500}


def test_a_metric_of_the_model_s_own_is_seen_too():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.seen = Hits("bfloat16")
            self.dense = layers.Dense(1, dtype="float32")

        def call(self, x):
            return self.dense(x)

    model = Own()
    model(X)
    assert "bfloat16" in one("MP033", model).message


def test_a_saved_model_as_a_layer_is_named_when_it_gets_16_bits(tmp_path):
    keras.Sequential([keras.Input((8,)), layers.Dense(4)]).export(
        tmp_path, verbose=False
    )
    for dtype, wanted in ((None, ["MP030"]), ("float32", [])):
        with dtype_policy(F16):
            inside = layers.TFSMLayer(tmp_path, call_endpoint="serve", dtype=dtype)

            class Own(keras.Model):
                def __init__(self, inside):
                    super().__init__()
                    self.first, self.inside = layers.Dense(8), inside
                    self.last = layers.Dense(1, dtype="float32")

                def build(self, shape):
                    self.first.build(shape)
                    self.last.build((None, 4))
                    self.built = True

                def call(self, x):
                    return self.last(self.inside(self.first(x)))

            model = Own(inside)
            model.build((None, 8))
        model.compile("sgd", "mse", jit_compile=False)
        assert codes(model) == wanted
        if wanted:
            assert 'dtype="float32"' in one("MP030", model).fix
            with pytest.raises((TypeError, ValueError, tf.errors.OpError)):
                model.predict(X, verbose=0)
        else:
            assert np.isfinite(model.predict(X, verbose=0)).all()


def penalized(wide):
    """A step whose loss is the squared length of the output's slope by the input."""

    def build():
        keras.utils.set_random_seed(0)
        with dtype_policy(F16):
            model = keras.Sequential(
                [keras.Input((16,)), layers.Dense(32, "relu"), layers.Dense(1)]
            )
        optimizer = Scaled(SGD(0.01))
        weights = model.trainable_variables

        def step(x, y):
            with tf.GradientTape() as outer:
                x = tf.cast(x, "float32" if wide else "float16")
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    score = tf.reduce_sum(model(x)) * 3000.0
                slope = inner.gradient(score, x)
                lengths = tf.reduce_sum(tf.square(slope), axis=1)
                loss = 1e-7 * tf.reduce_mean(tf.cast(lengths, "float32"))
                scaled = optimizer.scale_loss(loss)
            gradients = outer.gradient(scaled, weights)
            pairs = [
                (g, w) for g, w in zip(gradients, weights, strict=True) if g is not None
            ]
            optimizer.apply_gradients(pairs)
            return loss

        return model, optimizer, step

    return build


def test_a_gradient_penalty_that_overflows_is_not_called_right():
    x = np.random.default_rng(0).normal(size=(8, 16)).astype("float32")
    y = np.zeros((8, 1), "float32")
    found = probe(penalized(wide=False), x, y)
    assert any(f.severity == "error" for f in found), found
    assert not any(
        "moves no weight" in f.message for f in probe(penalized(wide=True), x, y)
    )


@pytest.mark.slow
def test_what_no_longer_fails_is_left_in_peace():
    """Reports of years ago that do not hold with Keras 3.13 to 3.15."""
    sequence = (5, 4)
    for inner in (
        [layers.GaussianNoise(0.1), layers.AlphaDropout(0.1), layers.Flatten()],
        [layers.Bidirectional(layers.LSTM(4, recurrent_dropout=0.1))],
        [layers.GRU(4)],
    ):
        with dtype_policy(F16):
            made = [
                type(la).from_config(la.get_config() | {"dtype": F16}) for la in inner
            ]
            model = chain(*made, inputs=sequence)
            model.compile("sgd", "mse", jit_compile=False)
        x = np.ones((8, *sequence), "float32")
        assert codes(model) == []
        assert np.isfinite(model.train_on_batch(x, np.ones((8, 1), "float32")))


@pytest.mark.slow
def test_the_loss_for_aligned_texts_trains():
    """CTC of Keras casts by itself; one's own, on float16 logits, raises."""
    x = np.random.default_rng(0).normal(size=(4, 20, 8)).astype("float32")
    y = np.random.default_rng(0).integers(1, 6, (4, 5))

    def own(y, logits):
        lengths = tf.fill([4], 5), tf.fill([4], 20)
        return tf.nn.ctc_loss(tf.cast(y, "int32"), logits, *lengths, False)

    for dtype, loss, wanted in (
        (None, keras.losses.CTC(), ["MP001"]),
        ("float32", keras.losses.CTC(), []),
        ("float32", own, []),
    ):
        with dtype_policy(F16):
            start = keras.Input((20, 8))
            end = layers.Dense(6, dtype=dtype)(
                layers.GRU(8, return_sequences=True)(start)
            )
            model = keras.Model(start, end)
            model.compile("adam", loss, jit_compile=False)
        assert codes(model) == wanted
        assert all(f.severity == "warning" for f in examine(model))
        assert np.isfinite(model.train_on_batch(x, y))


# Where a sum is kept

# On this device, as it is asked: a GPU adds up in float32.
BIASES = pytest.mark.skipif(
    not bias_sums_stop(), reason="this device adds up in float32"
)


def rows_of(units, own=False, **options):
    """A layer with a bias over many positions, Keras's or one's own."""

    class Adds(layers.Layer):
        def build(self, shape):
            self.bias = self.add_weight(shape=(shape[-1],), name="bias")

        def call(self, x):
            return x + self.bias

    dense = layers.Dense(units, use_bias=not own, **options)
    return keras.Sequential([dense, Adds()]) if own else dense


def per_step(own=False, policy=BF16, optimizer="sgd", jit=False, steps=64):
    with dtype_policy(policy):
        start = keras.Input((steps, 8))
        model = keras.Model(start, rows_of(4, own)(start))
    model.compile(optimizer, "mse", jit_compile=jit)
    return model


@BIASES
def test_a_bias_over_many_positions_is_named_where_its_gradient_stops():
    found = one("MP035", per_step())
    assert found.severity == "advice" and "2,048 positions" in found.message
    for right in (
        per_step(own=True),
        per_step(policy=F16, optimizer="adam"),
        per_step(optimizer="adam"),
        per_step(jit=True),
        per_step(steps=8),
    ):
        assert "MP035" not in codes(right)
    # and so it is, by the gradient that a step takes; many positions, since how long the
    # right step is depends on weights that are drawn anew
    x = np.zeros((256, 64, 8), "float32")
    moved = {}
    for own in (False, True):
        model = per_step(own)
        before = model.trainable_variables[-1].numpy()
        model.train_on_batch(x, np.ones((256, 64, 4), "float32"))
        moved[own] = float((model.trainable_variables[-1].numpy() - before)[0])
    assert moved[False] < 0.5 * moved[True]


@BIASES
@pytest.mark.parametrize("options", [{}, {"dilation_rate": 2}, {"groups": 2}])
def test_a_convolution_is_named_where_its_step_loses_a_part_of_the_bias(options):
    """oneDNN merges this gradient with the filter's, and not in each convolution."""
    with dtype_policy(BF16):
        start = keras.Input((16, 16, 8))
        kinds = {"padding": "same", "kernel_initializer": "zeros", **options}
        conv = layers.Conv2D(8, 3, **kinds)
        model = keras.Model(start, conv(start))
    model.compile("sgd", "mse", jit_compile=False)
    named = "MP035" in codes(model)
    x = np.zeros((16, 16, 16, 8), "float32")
    model.train_on_batch(x, np.ones((16, 16, 16, 8), "float32"))
    right = 0.01 * 2 / 8
    assert named == (float(conv.bias.numpy()[0]) < 0.5 * right)


@BIASES
def test_probe_says_how_much_of_a_gradient_is_missing():
    x = np.random.default_rng(0).normal(size=(4096, 8)).astype("float32")
    y = np.full((4096, 4), 20.0, "float32")

    def net(own):
        return keras.Sequential([keras.Input((8,)), rows_of(4, own)])

    for own, optimizer, wanted in (
        (False, "sgd", ["MP035"]),
        (True, "sgd", []),
        (False, "adam", []),
    ):
        build = built(lambda own=own: net(own), BF16, optimizer)
        found = probe(build, x, y)
        assert [f.code for f in found] == wanted, list(map(str, found))
    few = probe(built(lambda: net(False), BF16, "sgd"), x[:128], y[:128])
    assert few == []


# Loops that need their whole batch, or more than one tape


class Graph(keras.Model):
    """A network whose batch is written into it."""

    def __init__(self):
        super().__init__()
        self.first, self.last = layers.Dense(8), layers.Dense(1, dtype="float32")
        self(X)

    def call(self, x):
        hidden = ops.matmul(ops.eye(16, dtype=self.compute_dtype), self.first(x))
        return self.last(hidden)


class Counts(Plain):
    """A step that never steps in a graph, where Python counts once."""

    count = 0

    def train_step(self, data):
        self.count += 1
        if self.count % 4 == 0:
            return super().train_step(data)
        return {"loss": ops.mean(self(data[0]))}


def test_a_loop_that_needs_its_batch_is_left_in_peace():
    assert probe(built(Graph), X, Y) == []


def test_what_python_does_in_a_train_step_is_done_once_as_in_fit():
    (found,) = probe(built(Counts), X, Y)
    assert found.code == "MP021" and "move no weight" in found.message


def test_what_is_shared_by_two_loops_is_refused_and_left_as_it_was():
    with dtype_policy(F16):
        base = keras.Sequential([keras.Input((8,)), layers.Dense(8)])
    before = base.get_weights()

    def build():
        with dtype_policy(F16):
            model = keras.Sequential([base, layers.Dense(1, dtype="float32")])
        model.compile("sgd", "mse", jit_compile=False)
        return model, model.optimizer, model.train_on_batch

    with pytest.raises(ValueError, match="has to make all of it afresh"):
        probe(build, X, Y)
    assert base.layers[0].dtype_policy.name == F16
    assert all(map(np.array_equal, before, base.get_weights()))


def test_a_mask_of_infinity_before_a_softmax_is_right():
    class Masks(layers.Layer):
        def call(self, x):
            return ops.where(ops.arange(8) < 4, x, -np.inf)

    build = built(
        lambda: chain(layers.Dense(8), Masks(), layers.Softmax(dtype="float32"))
    )
    assert [f.code for f in probe(build, X, Y)] == []


def test_a_sum_whose_mean_is_returned_is_right():
    def build():
        with dtype_policy(F16):
            model = chain(layers.Dense(8))
        optimizer, weights = Scaled(SGD(0.01)), model.trainable_variables

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((model(x) - y) ** 2)
                scaled = optimizer.scale_loss(loss)
            optimizer.apply(tape.gradient(scaled, weights), weights)
            return loss / len(x)

        return model, optimizer, step

    assert probe(build, X, Y) == []


def test_nothing_to_train_is_said_so():
    def build():
        model = keras.Sequential([keras.Input((8,)), layers.Flatten()])
        model.compile("sgd", "mse", jit_compile=False)
        return model, model.optimizer, model.train_on_batch

    with pytest.raises(ValueError, match="no trainable weights"):
        probe(build, X, Y)


@BIASES
def test_a_bias_whose_gradient_nearly_cancels_over_few_positions_is_no_finding():
    """Its parts differ by the rounding of what comes before."""
    source = np.random.default_rng(1)
    x = source.normal(size=(8, 4)).astype("float32")
    build = built(
        lambda: keras.Sequential(
            [keras.Input((4,)), layers.Dense(2), layers.Dense(1, dtype="float32")]
        ),
        BF16,
    )
    model, _, _ = build()
    y = model.predict(x, verbose=0) + source.normal(size=(8, 1)).astype("float32")
    y -= (y - model.predict(x, verbose=0)).mean()
    assert [f.code for f in probe(build, x, y)] == []


# What an audit of all these kinds found missing


def shown(call, units=16, inputs=(12,)):
    """A model of a Dense and a layer of one's own that calls a function."""

    class Own(layers.Layer):
        def call(self, x):
            return call(x)

    start = keras.Input(inputs)
    return keras.Model(start, Own()(layers.Dense(units)(start)))


def wide(call):
    """The fix of such findings: in float32, and back."""
    return lambda x: ops.cast(call(ops.cast(x, "float32")), x.dtype)


LENGTHS = {
    "a power of two": lambda x: ops.sqrt(ops.mean((x - 1) ** 2, -1, keepdims=True)),
    "half of the squares": lambda x: ops.zeros_like(x) + tf.nn.l2_loss(x),
    "the Euclidean norm": lambda x: tf.math.reduce_euclidean_norm(x, -1, keepdims=True),
    "within map_fn": lambda x: tf.map_fn(
        lambda v: ops.sqrt(ops.mean(v * v)) + 0 * v, x
    ),
    "in a branch": lambda x: ops.cond(
        ops.sum(x[:1] * 0) < 1, lambda: ops.sqrt(ops.mean(x * x)) + 0 * x, lambda: x
    ),
    "a Gram matrix over the batch": lambda x: tf.matmul(x, x, transpose_a=True),
    "a Gram matrix over pixels": lambda x: tf.einsum(
        "bpc,bpd->bcd", many := tf.repeat(x[:, None], 900, 1), many
    ),
    "hyperbolic": lambda x: ops.log(ops.cosh(x)),
    "exp minus 1": lambda x: ops.log(1 + ops.expm1(x)),
}
# Which are as large as their values are.
STEEP = {"hyperbolic": 14.0, "exp minus 1": 14.0}


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("name", LENGTHS)
def test_squares_and_exponentials_are_seen_however_they_are_written(name):
    call = LENGTHS[name]
    with dtype_policy(F16):
        assert "MP029" in codes(shown(call))
        assert "MP029" not in codes(shown(wide(call)))
    x = ops.full((3, 16), STEEP.get(name, 280.0), dtype="float16")
    if "Gram" in name:
        x = ops.full((300, 16), 20.0, dtype="float16")
    assert not np.isfinite(ops.convert_to_numpy(call(x))).all()
    if "Gram" in name or "half" in name:
        return  # the result itself is beyond float16: it has to stay in float32
    assert np.isfinite(ops.convert_to_numpy(wide(call)(x))).all()


def unit(x):
    return tf.nn.l2_normalize(tf.cast(x, "float32"), -1)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: (lambda u: ops.matmul(u, ops.transpose(u)))(
            ops.cast(unit(x), x.dtype)
        ),
        lambda x: ops.matmul(x, ops.transpose(x)),  # over 16 features
        lambda x: (lambda v: tf.matmul(v, v, transpose_a=True))(x / 64),
        lambda x: ops.cond(ops.sum(x) > 0, lambda: x + 1, lambda: x),
        lambda x: ops.mean(ops.sqrt(ops.abs(x)) ** 0.5, -1, keepdims=True),
    ],
)
def test_products_that_stay_small_are_left_in_peace(call):
    with dtype_policy(F16):
        assert codes(shown(call)) == []


def turns(x, count):
    return ops.ones((count, 1), dtype=x.dtype)


CARRIED = {
    "tf.scan": lambda x, n: tf.scan(lambda a, b: a + b, turns(x, n))[-1],
    "tf.foldl": lambda x, n: tf.foldl(lambda a, b: b + a, turns(x, n)),
    "keras.ops.scan": lambda x, n: ops.scan(
        lambda a, b: (a + b, a), ops.zeros(1, x.dtype), turns(x, n)
    )[0],
    "keras.ops.fori_loop": lambda x, n: ops.fori_loop(
        0, n, lambda turn, a: a + 1, ops.zeros(1, x.dtype)
    ),
}


@pytest.mark.parametrize("policy, ends", [(F16, 2048.0), (BF16, 256.0)])
@pytest.mark.parametrize("name", CARRIED)
def test_what_a_loop_carries_and_adds_to_is_a_sum_one_by_one(name, policy, ends):
    def call(x):
        return 0 * x + CARRIED[name](x, 3000)

    with dtype_policy(policy):
        found = one("MP033", shown(call))
        assert "A loop adds" in found.message and f"{ends:,.0f}" in found.message
        right = codes(shown(lambda x: ops.cast(call(ops.cast(x, "float32")), x.dtype)))
        assert "MP033" not in right
    assert float(CARRIED[name](ops.zeros(1, policy[6:]), 3000)[0]) == ends
    assert float(CARRIED[name](ops.zeros(1), 3000)[0]) == 3000


class Adds(layers.Layer):
    """A recurrent cell whose state is a sum."""

    state_size = output_size = 4

    def build(self, shape):
        self.dense = layers.Dense(4)
        self.dense.build(shape)

    def call(self, x, states):
        state = states[0] + self.dense(x)
        return state, [state]


def test_a_loop_of_few_turns_and_one_that_forgets_are_left_in_peace():
    def recurrent(cell, length):
        start = keras.Input((length, 3))
        return keras.Model(start, cell(start))

    with dtype_policy(F16):
        assert codes(recurrent(layers.RNN(Adds()), 4000)) == ["MP033"]
        assert codes(recurrent(layers.RNN(Adds()), 40)) == []
        assert codes(recurrent(layers.GRU(4), 4000)) == []
        fading = shown(
            lambda x: 0 * x + tf.scan(lambda a, b: a * 0.9 + b, turns(x, 3000))[-1]
        )
        assert codes(fading) == []


def ask_config():
    return keras.config.dtype_policy()


asked = keras.config.dtype_policy


@pytest.mark.parametrize(
    "ask",
    [
        ask_config,
        lambda: asked(),
        lambda: tf.keras.mixed_precision.global_policy(),
    ],
)
def test_a_global_policy_is_seen_by_whatever_name_it_is_asked(ask):
    with dtype_policy(F16):
        assert "MP031" in codes(shown(lambda x: ops.cast(x, ask().compute_dtype)))
        assert "MP031" not in codes(shown(lambda x: ops.cast(x, x.dtype)))
        # Keras itself asks, for a layer that is made there.
        assert "MP031" not in codes(shown(lambda x: layers.add([x, x])))


class Table(layers.Layer):
    """A mask that was made before, of more numbers than TensorFlow writes into a graph."""

    def __init__(self, low):
        super().__init__()
        self.table = tf.constant(np.triu(np.full((24, 24), low, "float32"), 1))

    def call(self, x):
        return x + tf.cast(self.table, x.dtype) * ops.cast(x > 0, x.dtype)


def test_a_table_of_numbers_that_a_layer_holds_is_seen():
    with dtype_policy(F16):
        wrong, right = (chain(Table(low), inputs=(24, 24)) for low in (-2e8, -3e4))
    assert "-30000" in one("MP009", wrong).fix
    assert "MP009" not in codes(right)
    x = np.random.default_rng(0).normal(size=(2, 24, 24)).astype("float32")
    assert not_finite(wrong, x) and not not_finite(right, x)


def test_a_limit_that_is_infinite_is_told_to_work_in_float32():
    """No mask: -30000 in its place would be another limit."""
    with dtype_policy(F16):
        model = shown(ops.normalize)
        assert 'cast(x, "float32")' in one("MP009", model).fix
        assert codes(shown(wide(ops.normalize))) == []
    zero = ops.zeros((1, 16), "float16")
    assert np.isnan(ops.convert_to_numpy(ops.normalize(zero))).all()
    assert not np.isnan(ops.convert_to_numpy(wide(ops.normalize)(zero))).any()


def test_an_error_that_names_no_two_dtypes_gets_no_cast_for_a_fix():
    with dtype_policy(F16):
        start = keras.Input((8,))

        class Late(layers.Layer):
            right = True

            def call(self, x):
                return x if self.right else ops.reshape(x, (-1, 3))

        late = Late()
        model = keras.Model(start, layers.Dense(8, dtype="float32")(late(start)))
    late.right = False
    found = one("MP030", model)
    assert "cast" not in found.fix and "float32" not in found.fix


class Crate:
    """Holds an optimizer where nobody looks."""

    def __init__(self, rule):
        self.rule = rule


class Crated(Plain):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = ops.mean(ops.square(self(x, training=True) - y))
        weights = self.trainable_variables
        self.crate.rule.apply(tape.gradient(loss, weights), weights)
        return {"loss": loss}


def test_a_compiled_optimizer_that_no_code_names_is_not_said_to_unscale():
    with dtype_policy(F16):
        model = Crated()
    model.crate = Crate(SGD(0.1))
    model.compile(jit_compile=False)  # wraps one that nobody uses
    before = model.last.bias.numpy()
    model.fit(X, Y, verbose=0)
    assert abs(model.last.bias.numpy() - before).max() > 1e-3
    assert "MP015" not in codes(model)


def test_probe_takes_few_steps_and_fewer_of_them_backward():
    """A ResNet's take seconds each; a high first scale costs two, not seven."""
    steps, gradients = [], []

    class Counted(SGD):
        def __init__(self):
            super().__init__(0.1)

        def apply(self, *arguments, **options):
            steps.append(1)
            return super().apply(*arguments, **options)

    former = tf.GradientTape.gradient

    def gradient(*arguments, **options):
        gradients.append(1)
        return former(*arguments, **options)

    def build():
        keras.utils.set_random_seed(0)
        with dtype_policy(F16):
            model = chain(layers.Rescaling(32.0), layers.Dense(8))
        model.compile(Scaled(Counted()), "mse", jit_compile=False)
        return model, model.optimizer, model.train_on_batch

    with mock.patch.object(tf.GradientTape, "gradient", gradient):
        assert probe(build, X, Y) == []
    assert len(steps) <= 20 and len(gradients) <= 10, (len(steps), len(gradients))
