"""`probe`: right loops of many kinds are left in peace, wrong ones get their
finding.
"""

from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf
from mixed_precision_lint import probe
from policies import dtype_policy

layers = keras.layers
optimizers = keras.optimizers
SGD = optimizers.SGD
Scaled = optimizers.LossScaleOptimizer
SOURCE = np.random.default_rng(0)
X = SOURCE.normal(size=(32, 8)).astype("float32")
Y = np.arange(32) % 3
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
Embedding = partial(layers.Embedding, 50, 4)
XLA = tf.function(jit_compile=True)


class DynamicLossScale:
    """A scale of the loop's own, which Keras knows nothing of."""

    def __init__(self, scale=2.0**15):
        self.scale = scale

    def update(self, finite):
        self.scale /= 1 if finite else 2


def edit(code, edits):
    for old, new in edits.items():
        assert old in code, old
        code = code.replace(old, new)
    return code


LOOP = """
def build():
    m = network("mixed_float16")
    o, w, count = Scaled(SGD(0.1)), m.trainable_variables, [0]
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = LOSS(y, m(x, training=True))
            scaled = o.scale_loss(loss)
        g = tape.gradient(scaled, w)
        o.apply(g, w)
        return loss
    return m, o, step
"""
HAND = {  # a scale that is nobody's but the loop's own
    "Scaled(SGD(0.1))": "SGD(0.1)",
    "o.scale_loss(loss)": "loss * s.scale",
    "        o.apply(g, w)": "        S, fine = s.scale, finite(g)\n        s.update(fine)\n"
    "        if fine:\n            g = [each / S for each in g]\n            o.apply(g, w)",
    "def step": "s = DynamicLossScale()\n    def step",
}
SUMS = {  # four small batches to an update
    "def step": "sums = [tf.Variable(tf.zeros(v.shape)) for v in w]\n    def step",
    "    o.apply(g, w)": "    for s, each in zip(sums, g):\n            s.assign_add(each)\n"
    "        count.append(0)\n        if len(count) % 4 == 1:\n"
    "            o.apply([s / 4 for s in sums], w)\n"
    "            for s in sums:\n                s.assign(tf.zeros_like(s))",
}
FIT = {
    "    o, w": "    m.compile(SGD(0.1), LOSS, jit_compile=False)\n    o, w",
    "Scaled(SGD(0.1))": "m.optimizer",
    "m, o, step": "m, o, m.train_on_batch",
}
OWN = {"network(": "network(kind=Own, policy="}


class Subclassed(keras.Model):
    def __init__(self, layers):
        super().__init__()
        self.all = layers[1:]
        self(X)

    def call(self, x):
        for layer in self.all:
            x = layer(x)
        return x


class Own(keras.Sequential):
    def train_step(self, data):
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
            scaled = self.scaled(loss)
        self._loss_tracker.update_state(loss)
        self.optimizer.apply(tape.gradient(scaled, self.trainable_variables))
        return self.compute_metrics(x, y, None)

    def scaled(self, loss):
        return self.optimizer.scale_loss(loss)


class Forgetful(Own):
    def scaled(self, loss):
        return loss


def network(
    policy, *inside, kind=keras.Sequential, first=lambda: layers.Dense(16, "relu")
):
    with dtype_policy(policy):
        inside = [make() for make in (first, *inside)]
        return kind([keras.Input((8,)), *inside, layers.Dense(3, dtype="float32")])


def finite(gradients):
    return all(np.isfinite(g.numpy()).all() for g in gradients)


def loop(edits):
    names = {}
    exec(edit(LOOP, edits), globals(), names)
    return names["build"]


F16 = "mixed_float16"
GRAPH = {"def step": "@tf.function\n    def step"}
COMPILED = {"def step": "@XLA\n    def step"}


def edits(network=None, optimizer=None, before=None, instead=None):
    """Those for another network or optimizer, a line before `apply`, or one in its
    place.
    """
    new = {
        'network("mixed_float16")': network and f"network({network})",
        "SGD(0.1)": optimizer,
        "        o.apply": before and f"        {before}\n        o.apply",
        "        o.apply(g, w)": instead and f"        {instead}",
    }
    return {old: code for old, code in new.items() if code}


RIGHT = {
    "SGD": {},
    "weight decay": edits(optimizer="optimizers.AdamW(weight_decay=0.1)"),
    "clipping": edits(optimizer="SGD(0.1, global_clipnorm=0.1)"),
    "limit times S": edits(before="g, _ = tf.clip_by_global_norm(g, 0.1 * o.dynamic_scale)"),
    "accumulation": edits(optimizer="SGD(0.1, gradient_accumulation_steps=4)"),
    "accumulation by hand": SUMS,
    "two losses": {"training=True))": "training=True)) + 0.01 * tf.nn.l2_loss(w[0])"},
    "subclassed": edits("F16, kind=Subclassed"),
    "float32": {**edits("'float32'"), "Scaled(SGD(0.1))": "SGD(0.1)"},
    "bfloat16": {**edits("'mixed_bfloat16'"), "Scaled(SGD(0.1))": "optimizers.Adam()"},
    "in a graph": GRAPH,
    "XLA": COMPILED,
    "BatchNormalization": edits("F16, layers.BatchNormalization"),
    "Dropout": {**edits("F16, lambda: layers.Dropout(0.4)"), **GRAPH},
    "sparse gradients": edits("F16, layers.Flatten, first=Embedding"),
    "scale by hand": HAND,
    "by hand, far too high": HAND | {"LossScale()": "LossScale(2.0**21)"},
    "clipping by hand": HAND | {"o.apply(g,": "o.apply(tf.clip_by_global_norm(g, 0.1)[0],"},
    "first scale far too high": {"Scaled(SGD(0.1))": "Scaled(SGD(0.1), 2.0**24)"},
    "fit": FIT,
    "fit with a step of one's own": FIT | OWN,
    "warm-up": edits(optimizer="SGD(optimizers.schedules.PolynomialDecay(0.0, 10, 0.1))"),
}  # fmt: skip
UNSCALED, INNER = (
    "g = [each / o.dynamic_scale for each in g]",
    "o.inner_optimizer.apply(g, w)",
)
RAW = {"Scaled(SGD(0.1))": "SGD(0.1)"}
PLAIN = {"o.scale_loss(loss)": "loss"}
WRONG = {
    "MP002 raw": RAW | GRAPH,
    "MP002 fit": FIT | {"jit_compile": "auto_scale_loss=False, jit_compile"},
    "MP014 twice": edits(before=UNSCALED),
    "MP014 wrapped twice": edits(optimizer="Scaled(SGD(0.1))"),
    "MP015 forgotten": PLAIN,
    "MP015 fit": FIT | {"network(": "network(kind=Forgetful, policy="},
    "MP015 a part": {"o.scale_loss(loss)": "o.scale_loss(loss) + 0.01 * tf.nn.l2_loss(w[0])"},
    "MP016 never": edits(instead=INNER),
    "MP016 scaled twice": {"o.scale_loss(loss)": "o.scale_loss(o.scale_loss(loss))"},
    "MP016 doubled": edits(before="g = [2 * each for each in g]"),
    "MP016 by hand": HAND | {"each / S": "each"},
    "MP016 a fixed divisor": edits(instead=INNER.replace("g,", "[each / 2.0**15 for each in g],")),
    "MP015 a fixed factor": {"o.scale_loss(loss)": "2.0**15 * loss"},
    "MP017 clipped": edits(before="g, _ = tf.clip_by_global_norm(g, 1.0)") | GRAPH,
    "MP017 decay": edits(before="g = [each + 0.01 * v for each, v in zip(g, w)]"),
    "MP017 biases": edits(before="g[1] = g[1] / o.dynamic_scale"),
    "MP018 fixed scale": edits(optimizer="SGD(0.1, loss_scale_factor=128.0)") | {"Scaled": ""},
    "MP018 nobody looks": HAND | {"if fine": "if True"},
    "MP018 looks at the first": HAND | {"finite(g)": "finite(g[:1])"},
    "MP018 zeros": edits(before="g = [tf.where(tf.math.is_finite(each), each, 0.0) for each in g]"),
    "MP018 one by one": edits(instead="[o.apply([one], [v]) for one, v in zip(g, w)]"),
    "MP018 velocity": HAND | {
        "s = Dynamic": "V = [tf.Variable(tf.zeros(v.shape)) for v in w]\n    s = Dynamic",
        "if fine": "[v.assign(0.9 * v + each / S) for v, each in zip(V, g)]\n        if fine",
        "o.apply(g": "o.apply(V"},
    "MP019 does not fall": edits(instead="o.apply(g, w) if finite(g) else None"),
    "MP019 does not rise": edits(before="o.step_counter.assign(0)"),
    "MP020 scaled": {"return loss": "return scaled"},
    "MP021 pairs": edits(instead="o.apply(zip(g, w))"),
    "MP021 of an older Keras": {"scale_loss": "get_scaled_loss"},
    "MP021 no tape": {"tape.gradient(scaled, w)": "[0.1 * v for v in w]"},
    "MP022 uphill": edits(before="g = [-each for each in g]"),
    "MP022 mixed up": edits(before="g = [tf.reverse(each, [0]) for each in g]"),
}  # fmt: skip


def first_of_each(names, kind):
    """The cases, of which all but the first of its kind are left to `make full`."""
    firsts = {kind(name): name for name in reversed(names)}.values()
    return [
        pytest.param(n, marks=() if n in firsts else pytest.mark.slow) for n in names
    ]


@pytest.mark.parametrize("name", first_of_each(RIGHT, lambda name: "right"))
def test_a_right_loop_is_left_in_peace(name):
    x = np.abs(X * 9).astype("int32") if name == "sparse gradients" else X
    assert probe(loop(RIGHT[name]), x, Y) == []


@pytest.mark.parametrize("name", first_of_each(WRONG, lambda name: name[:5]))
def test_a_wrong_loop_gets_its_finding(name):
    found = probe(loop(WRONG[name]), X, Y)
    assert name[:5] in [finding.code for finding in found], list(map(str, found))
