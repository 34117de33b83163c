"""An example of each rule that fires, and one that does not: the page RULES.md is made
of them, and a test runs them all.

Each makes `model`, for `examine`, or `build`, for `probe`. Before it stand the imports of
`BEFORE` and the policy mixed_float16.
"""

from typing import NamedTuple

BEFORE = """\
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

keras.config.set_dtype_policy("mixed_float16")
"""
# What `probe` gets beside `build`.
DATA = """\
x = np.random.default_rng(0).normal(size=(16, 8)).astype("float32")
y = np.ones((16, 1), "float32")
"""


class Example(NamedTuple):
    """How a rule is shown."""

    severity: str
    why: str  # what it costs to leave it
    wrong: str
    right: str
    cell: str = ""  # of the course, which teaches it: "03_policy.ipynb#wrapped"


def _dense(last, optimizer='"sgd"', inner="layers.Dense(8)", **compiled):
    more = "".join(f", {name}={value}" for name, value in compiled.items())
    return (
        f"model = keras.Sequential([keras.Input((8,)), {inner}, {last}])\n"
        f'model.compile({optimizer}, "mse"{more})'
    )


HEAD = 'layers.Dense(1, dtype="float32")'


def _layer(body, policy=""):
    return (
        f"{policy}class Mine(layers.Layer):\n    def call(self, x):\n        {body}\n\n"
        f"model = keras.Sequential([keras.Input((8,)), Mine(), {HEAD}])"
    )


def _loop(
    lines, optimizer="keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))"
):
    step = "\n".join(f"        {line}" for line in lines)
    return f"""\
def build():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(8), {HEAD}])
    optimizer, weights = {optimizer}, model.trainable_variables

    def step(x, y):
{step}

    return model, optimizer, step"""


TAPE = [
    "with tf.GradientTape() as tape:",
    "    loss = tf.reduce_mean((model(x) - y) ** 2)",
    "    scaled = optimizer.scale_loss(loss)",
]
APPLY = "optimizer.apply(tape.gradient(scaled, weights), weights)"
RIGHT = _loop([*TAPE, APPLY, "return loss"])
BF16 = 'keras.config.set_dtype_policy("mixed_bfloat16")\n'
SGD = "keras.optimizers.SGD(0.1)"
SCALED = f"keras.optimizers.LossScaleOptimizer({SGD})"

EXAMPLES = {
    "MP001": Example(
        "error for probabilities, warning for logits",
        "the gradient of a confident mistake is lost",
        _dense('layers.Dense(1, "sigmoid")'),
        _dense('layers.Dense(1, "sigmoid", dtype="float32")'),
        "03_policy.ipynb#softmax-cliff",
    ),
    "MP002": Example(
        "error",
        "gradients below 6e-08 become zero",
        "model = keras.Sequential([keras.Input((8,)), layers.Dense(8), "
        + HEAD
        + '])\nmodel.compile("sgd", "mse", auto_scale_loss=False)',
        _dense(HEAD),
        "03_policy.ipynb#wrapped",
    ),
    "MP007": Example(
        "warning",
        "what follows takes the memory and the time of float32",
        _layer('return ops.cast(x, "float32") * 2'),
        _layer("return ops.cast(x, self.compute_dtype) * 2"),
        "03_policy.ipynb#exercise-3",
    ),
    "MP008": Example(
        "warning, error where the update rule does nothing or harm",
        "small updates are rounded away; Adam moves nothing in bfloat16",
        'keras.config.set_dtype_policy("bfloat16")\n' + _dense(HEAD, '"adam"'),
        BF16 + _dense(HEAD, '"adam"'),
        "02_loss_scaling.ipynb#train-five",
    ),
    "MP009": Example(
        "warning",
        "an epsilon of 0 protects from nothing; infinity times 0 is NaN",
        _layer("return x / (ops.mean(ops.abs(x)) + 1e-9)"),
        _layer("return x / (ops.mean(ops.abs(x)) + 1e-4)"),
        "09_clinic.ipynb#gallery",
    ),
    "MP010": Example(
        "advice",
        "tensor cores are fed less than they could take",
        _dense(HEAD, inner="layers.Dense(30)"),
        _dense(HEAD, inner="layers.Dense(32)"),
    ),
    "MP014": Example(
        "error",
        "an update is 1/32,768 of the right one at first",
        _dense(HEAD, f"keras.optimizers.LossScaleOptimizer({SCALED})"),
        _dense(HEAD, SCALED),
        "06_training_loop.ipynb#table",
    ),
    "MP015": Example(
        "error",
        "SGD hardly moves, and Adam hides it",
        _loop([*TAPE[:2], "    scaled = loss", APPLY, "return loss"]),
        RIGHT,
        "06_training_loop.ipynb#table",
    ),
    "MP016": Example(
        "error",
        "an update is 32,768 times too long",
        _loop(
            [
                *TAPE,
                "optimizer.inner_optimizer.apply(tape.gradient(scaled, weights), weights)",
                "return loss",
            ]
        ),
        RIGHT,
        "06_training_loop.ipynb#table",
    ),
    "MP017": Example(
        "error",
        "what is clipped depends on the loss scale",
        _loop(
            [
                *TAPE,
                "gradients = tape.gradient(scaled, weights)",
                "gradients = [tf.clip_by_norm(g, 1.0) for g in gradients]",
                "optimizer.apply(gradients, weights)",
                "return loss",
            ]
        ),
        RIGHT.replace("SGD(0.1)", "SGD(0.1, clipnorm=1.0)"),
        "06_training_loop.ipynb#table",
    ),
    "MP018": Example(
        "error",
        "one overflow ends the training",
        _loop(
            [
                "with tf.GradientTape() as tape:",
                "    loss = tf.reduce_mean((model(x) - y) ** 2)",
                "    scaled = loss * 1024.0",
                "gradients = [g / 1024.0 for g in tape.gradient(scaled, weights)]",
                "optimizer.apply(gradients, weights)",
                "return loss",
            ],
            SGD,
        ),
        RIGHT,
        "06_training_loop.ipynb#table",
    ),
    "MP020": Example(
        "warning",
        "the loss that is shown jumps with the scale",
        _loop([*TAPE, APPLY, "return scaled"]),
        RIGHT,
        "06_training_loop.ipynb#table",
    ),
    "MP021": Example(
        "error",
        "nothing is trained",
        _loop([*TAPE, "return loss"]),
        RIGHT,
        "06_training_loop.ipynb#table",
    ),
    "MP022": Example(
        "error",
        "the loss goes up",
        _loop(
            [
                *TAPE,
                "gradients = tape.gradient(scaled, weights)",
                "optimizer.apply([-g for g in gradients], weights)",
                "return loss",
            ]
        ),
        RIGHT,
    ),
    "MP023": Example(
        "error",
        "other rows than those meant are learned",
        "tokens = keras.Input((16,))  # float32 at first\n"
        "vectors = layers.Embedding(50_000, 8)(layers.Reshape((16,))(tokens))\n"
        "model = keras.Model(tokens, vectors)",
        'tokens = keras.Input((16,), dtype="int32")\n'
        "vectors = layers.Embedding(50_000, 8)(layers.Reshape((16,))(tokens))\n"
        "model = keras.Model(tokens, vectors)",
        "09_clinic.ipynb#gallery",
    ),
    "MP026": Example(
        "warning",
        "four rules cannot be looked for",
        f"model = keras.Sequential([layers.Dense(8), {HEAD}])",
        f"model = keras.Sequential([keras.Input((8,)), layers.Dense(8), {HEAD}])",
    ),
    "MP027": Example(
        "error",
        "fit raises TypeError on TensorFlow",
        _dense(HEAD, inner='layers.Dense(8, activity_regularizer="l2")'),
        _dense(
            HEAD,
            inner='layers.Dense(8), layers.ActivityRegularization(l2=0.01, dtype="float32")',
        ),
    ),
    "MP028": Example(
        "warning",
        "a mask hides nothing, years land in wrong bins",
        "model = keras.Sequential([keras.Input((5, 8)), layers.Masking(-9999.0), "
        f"layers.LSTM(8), {HEAD}])",
        "model = keras.Sequential([keras.Input((5, 8)), "
        f'layers.Masking(-9999.0, dtype="float32"), layers.LSTM(8), {HEAD}])',
    ),
    "MP029": Example(
        "warning",
        "values from 256 on become infinity",
        _layer("return x / ops.sqrt(ops.mean(x * x, axis=-1, keepdims=True) + 1e-3)"),
        _layer(
            'w = ops.cast(x, "float32")\n'
            "        w = w / ops.sqrt(ops.mean(w * w, axis=-1, keepdims=True) + 1e-3)\n"
            "        return ops.cast(w, self.compute_dtype)"
        ),
        "02_loss_scaling.ipynb#variance",
    ),
    "MP030": Example(
        "error",
        "the model cannot be used",
        "class Mine(keras.Model):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.dense = layers.Dense(8)\n\n"
        "    def call(self, x):\n"
        "        return tf.concat([self.dense(x), tf.zeros((2, 8))], 1)\n\n"
        "model = Mine()\n"
        "model.dense.build((None, 8))\n"
        "model.build((None, 8))",
        f"model = keras.Sequential([keras.Input((8,)), layers.Dense(8), {HEAD}])",
    ),
    "MP031": Example(
        "warning",
        "another thread has another policy",
        _layer("return ops.cast(x, keras.config.dtype_policy().compute_dtype)"),
        _layer("return ops.cast(x, self.compute_dtype)"),
    ),
    "MP033": Example(
        "warning",
        "a sum of ones stops at 2,048, or at 256 in bfloat16",
        _layer("return ops.segment_sum(x, ops.zeros(2, 'int32'), 1)"),
        _layer(
            "wide = ops.segment_sum(ops.cast(x, 'float32'), ops.zeros(2, 'int32'), 1)\n"
            "        return ops.cast(wide, self.compute_dtype)"
        ),
        "01_floats.ipynb#long-sum",
    ),
    "MP034": Example(
        "error",
        "a broken layer looks like one that learns little",
        "class Spoils(layers.Layer):\n"
        "    def call(self, x):\n"
        "        first = ops.log(x[:, :1] * 0) * 0  # NaN\n"
        "        return ops.concatenate([first, x[:, 1:]], axis=1)\n\n"
        "def build():\n"
        "    kept = [keras.Input((8,)), layers.Reshape((2, 4, 1)), Spoils(), "
        "layers.MaxPooling2D(2),\n"
        f"            layers.Flatten(), layers.Dense(8), {HEAD}]\n"
        "    model = keras.Sequential(kept)\n"
        '    model.compile("sgd", "mse", jit_compile=False)\n'
        "    return model, model.optimizer, model.train_on_batch",
        RIGHT,
    ),
    "MP035": Example(
        "advice, warning of probe",
        "SGD learns an offset late",
        BF16
        + "model = keras.Sequential([keras.Input((64, 8)), layers.Dense(8), "
        + HEAD
        + '])\nmodel.compile("sgd", "mse", jit_compile=False)',
        BF16
        + "model = keras.Sequential([keras.Input((64, 8)), layers.Dense(8), "
        + HEAD
        + '])\nmodel.compile("adam", "mse", jit_compile=False)',
        "01_floats.ipynb#bias",
    ),
}
# Shown in words: what they need is more than some lines.
IN_WORDS = {
    "MP012": "a machine that says so: `examine(model, machine=...)`",
    "MP019": "a loop with a scale of its own that never falls, or never grows",
}
