"""The judges of notebook 10's repaired model, and of a scale for its gradients."""

import tempfile

import numpy as np

from .answers import a_layer, attempt, call, describe, missing_key, number
from .functions import edited

# --- three repairs --------------------------------------------------------------------

PARTS = ("positions", "attention", "head")
CODE = """\
import keras
from keras import ops


class Positions(keras.layers.Layer):
    def call(self, x):
        places = ops.arange(x.shape[1], dtype="float32")[:, None]
        angles = places * 1e-4 ** (ops.arange(32, dtype="float32") / 32)
        waves = ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)
        return x + ops.cast(waves, self.compute_dtype)


answer = {"positions": Positions, "attention": None, "head": "float32"}"""
SUM = "x + ops.cast(waves, self.compute_dtype)"
ATTENTION = '"attention": None'
RATES = 'ops.arange(32, dtype="float32") / 32'
NARROW_PLACES = {
    'arange(x.shape[1], dtype="float32")': "arange(x.shape[1], dtype=x.dtype)",
    f"1e-4 ** ({RATES})": f"ops.cast(1e-4 ** ({RATES}), x.dtype)",
}
FLOAT32_LAYER = (  # clean in the eyes of examine, and no longer mixed
    "    def __init__(self):\n        super().__init__(dtype='float32')\n\n    def call"
)
DRAWN = {  # at each start other waves
    "import keras\n": "import keras\nimport random\n",
    "places * 1e-4": "self.by + places * 1e-4",
    "    def call": "    def __init__(self, **options):\n        super().__init__(**options)\n"
    "        self.by = random.random() / 50\n\n    def call",
}
# a part of what is said, and the edits that make the right parts wrong ones
REPAIR_SLIPS = {
    "still hands on float32": {SUM: "ops.add(x, waves)"},
    "of 2,048 positions": NARROW_PLACES,
    "computes in float32, whatever": {"    def call": FLOAT32_LAYER},
    "keeps its weights in": {ATTENTION: '"attention": "bfloat16"'},
    "attention computes in float32": {ATTENTION: '"attention": "float32"'},
    "it computes in bfloat16": {ATTENTION: '"attention": "mixed_bfloat16"'},
    "logits": [{'"head": "float32"': '"head": None'}, {'"head": "float32"': '"head": "float16"'}],
    "other numbers": [{"waves = ops": "waves = 0 * ops"}, {"places * 1e-4": "places + 1e-4"}],
    "returns None": {f"return {SUM}": "pass"},
    "No finite gradient": {"return x +": "return ops.stop_gradient(x) +"},
    "cannot be loaded": DRAWN | {"    def call": DRAWN["    def call"].replace("**options", "")},
    "loaded, the model gives other": DRAWN,
}  # fmt: skip


def repaired():
    """The parts of the repaired model: {"positions": a class, "attention": None,
    "head": …}.
    """
    return edited(CODE, "answer")


def twin(parts):
    """A small model of the parts under the policy in force: (n, 16, 49) to (n, 5)."""
    from keras import Input, Model, layers

    inputs = Input((16, 49))
    x = parts["positions"]()(layers.Dense(64)(inputs))
    y = layers.MultiHeadAttention(2, 32, dtype=parts["attention"], name="attention")(
        x, x
    )
    x = layers.GlobalAveragePooling1D()(layers.Add()([x, y]))
    return Model(inputs, layers.Dense(5, dtype=parts["head"], name="head")(x))


def repair_problem(parts):
    """What is wrong with the parts of the model, under each 16-bit policy, or None."""
    if problem := missing_key(parts, PARTS):
        return problem
    positions = parts["positions"]
    if not callable(positions) or a_layer(positions):
        return f"positions is {describe(positions)}: give the class itself, without parentheses."
    from course_utils.training import dtype_policy  # late: it loads TensorFlow

    for dtype in ("bfloat16", "float16"):
        with dtype_policy(f"mixed_{dtype}"):
            if problem := _places_problem(positions, dtype):
                return f"Under mixed_{dtype} {problem}"
            model = call(twin, parts, what="The model with your parts")
            if problem := _parts_problem(model, dtype) or _works(model):
                return problem
    return None


def _places_problem(kind, dtype):
    """What is wrong with the layer of positions under the policy of this dtype, or
    None.
    """
    import keras

    layer = call(kind)
    if not isinstance(layer, keras.layers.Layer):
        return f"positions makes {describe(layer)}: give the class of a layer."
    nothing = np.zeros((1, 2048, 64), "float32")
    waves = call(layer, nothing, end="`return`", what=f"Under mixed_{dtype} your layer")
    if getattr(waves, "shape", None) != nothing.shape:
        return "your layer returns another shape: end `call` with `return` and the sum."
    if layer.compute_dtype == "float32":
        return "your layer computes in float32, whatever the policy: cast the waves, nothing else."
    if (found := keras.backend.standardize_dtype(waves.dtype)) != dtype:
        return f"your layer still hands on {found}: cast the waves before you add them."
    waves = keras.ops.convert_to_numpy(keras.ops.cast(waves, "float32"))[0]
    angles = np.arange(2048)[:, None] * 1e-4 ** (np.arange(32) / 32)
    off = np.abs(waves - np.hstack([np.sin(angles), np.cos(angles)]))
    left = len(np.unique(waves, axis=0))
    if left < 2000 and off[:16].max() < 0.2:
        return (
            f"of 2,048 positions {left:,} are left: whole numbers and angles need float32. "
            "Cast the finished waves."
        )
    if not off.max() < 0.05:
        return f"your waves are other numbers, off by {off.max():.2g}."
    return None


def _parts_problem(model, dtype):
    """What `examine` or the dtypes of the layers tell of the model, or None."""
    from course_utils.precision import examine

    attention = model.get_layer("attention")
    computes = attention.compute_dtype
    if attention.variable_dtype != "float32":
        return (
            f"attention keeps its weights in {attention.variable_dtype}: None follows the policy,"
            " which keeps them in float32."
        )
    if computes == "float32":
        return "Clean, and no longer mixed: attention computes in float32. None follows the policy."
    if computes != dtype:
        return (
            f"Under mixed_{dtype} attention does not follow: it computes in {computes}: None"
            " follows the policy."
        )
    if model.get_layer("head").compute_dtype != "float32":
        return "The logits are still rounded to 16 bits before the loss: the head needs float32."
    # What is slow here, and widths, are no faults of the model.
    for found in examine(model, "adam"):
        if found.code not in ("MP010", "MP012"):
            return f"examine still finds in {found.layer}: {found.message[:150]}"
    return None


def _works(model):
    """What is wrong with the gradients of a model, or with it once saved and loaded, or
    None.
    """
    import keras
    import tensorflow as tf

    x = np.random.default_rng(10).normal(size=(4, 16, 49)).astype("float32")
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    found = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(model.trainable_variables, found, strict=True):
        if gradient is None or not np.isfinite(gradient).all():
            return f"No finite gradient reaches {variable.path}."
    own = {type(layer).__name__: type(layer) for layer in model.layers}
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/model.keras"
        model.save(file)
        again = attempt(lambda: keras.saving.load_model(file, custom_objects=own))
    if again is None:
        cure = "let your layer's `__init__` hand `**options` on to `super().__init__`."
        return f"Saved, the model cannot be loaded: {cure}"
    same = np.array_equal(again(x), model(x))
    return None if same else "Saved and loaded, the model gives other numbers."


# --- a scale for gradients ------------------------------------------------------------

CHOOSE = """\
import numpy as np


def choose(gradients):
    largest = max(np.abs(g).max() for g in gradients)
    return 2.0 ** np.floor(np.log2(65504 / 8 / largest))

"""
CHOOSE_SLIPS = {
    "power of two": {
        "2.0 ** np.floor(np.log2(65504 / 8 / largest))": "65504 / 8 / largest"
    },
    "gradients eight times as large": [
        {" / 8": ""},
        {"max(np": "min(np"},
        {"for g in gradients": "for g in gradients[:1]"},
        {"np.abs(g).max()": "g.max()"},
        {"np.floor": "np.ceil"},
    ],
    "is lost": [
        {"2.0 ** np.floor(np.log2(65504 / 8 / largest))": "1.0"},
        {"2.0 ** np.floor(np.log2(65504 / 8 / largest))": "2.0 ** 7"},
    ],
    "may be its exponent": {"return 2.0 ** np.floor": "return -np.floor"},
}
SIZES = (-24, -12, -38, 4)  # log2 of what most gradients of a trial are near


def made_gradients(size):
    """Three arrays of gradients, log-normal around 2**size, the largest in the second,
    negative.
    """
    source = np.random.default_rng(10)
    gradients = [
        np.float32(source.choice([-1, 1], shape) * 2 ** source.normal(size, 2, shape))
        for shape in ((40, 30), (500,), (7, 7, 4))
    ]
    gradients[1][3] = -1.5 * 2.0 ** (size + 9)
    return gradients


def choose_problem(choose, size):
    """What is wrong with the scale that a learner's function chooses, or None."""
    from course_utils.gradients import OctaveHistogram

    gradients = made_gradients(size)
    given = call(choose, gradients, end="`return`")
    scale = number(given)
    if scale is None or scale <= 0:
        wanted = "return one number, the scale; a negative one may be its exponent."
        return f"It returns {describe(given)}: {wanted}"
    log2 = np.log2(scale)
    if log2 % 1:
        return f"It returns {scale:.6g}, which is no power of two: dividing again would round."
    every = OctaveHistogram.from_values(np.concatenate([g.ravel() for g in gradients]))
    said = f"For gradients around 2^{size} you choose 2^{log2:.0f}:"
    if every.survival("float16", int(log2) + 3).overflow:
        return f"{said} gradients eight times as large would overflow."
    if (lost := every.survival("float16", int(log2)).norm_lost) >= 1e-3:
        return f"{said} {lost:.1%} of their squares is lost as zeros, and 0.1 % is allowed."
    return None
