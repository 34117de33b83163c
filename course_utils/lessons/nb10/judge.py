"""The judges of notebook 10's repaired model, of plans, and of a decision under limits."""

import itertools
import random
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.exercises.answers import (
    a_layer,
    attempt,
    call,
    describe,
    missing_key,
    number,
)

if TYPE_CHECKING:
    import keras
    import pandas as pd

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
# a part of what is said, and the edits that make the right parts wrong ones
REPAIR_SLIPS = {
    "still hands on float32": {SUM: "ops.add(x, waves)"},
    "of 2,048 positions": NARROW_PLACES,
    "computes in float32, whatever": {"    def call": FLOAT32_LAYER},
    "and keeps weights in bfloat16": {ATTENTION: '"attention": "bfloat16"'},
    "attention computes in float32": {ATTENTION: '"attention": "float32"'},
    "attention computes in bfloat16": {ATTENTION: '"attention": "mixed_bfloat16"'},
    "logits": [{'"head": "float32"': '"head": None'}, {'"head": "float32"': '"head": "float16"'}],
    "other numbers": {"waves = ops": "waves = 0 * ops"},
    "returns None": {f"return {SUM}": "pass"},
    "No finite gradient": {"return x +": "return ops.stop_gradient(x) +"},
    "cannot be loaded": {"    def call": FLOAT32_LAYER.replace("dtype='float32'", "")},
}  # fmt: skip


def twin(parts: dict) -> "keras.Model":
    """A small model of the parts under the policy in force: (n, 16, 49) to (n, 5)."""
    from keras import Input, Model, layers

    inputs = Input((16, 49))
    x = parts["positions"]()(layers.Dense(64)(inputs))
    y = layers.MultiHeadAttention(2, 32, dtype=parts["attention"], name="attention")(
        x, x
    )
    x = layers.GlobalAveragePooling1D()(layers.Add()([x, y]))
    return Model(inputs, layers.Dense(5, dtype=parts["head"], name="head")(x))


def repair_problem(parts: Any) -> str | None:
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
    zeros = np.zeros((1, 2048, 64), "float32")
    waves = call(layer, zeros, end="`return`", what=f"Under mixed_{dtype} your layer")
    if getattr(waves, "shape", None) != zeros.shape:
        return "your layer returns another shape: end `call` with `return` and the sum."
    if layer.compute_dtype == "float32":
        return "your layer computes in float32, whatever the policy: cast the waves, nothing else."
    if (output := keras.backend.standardize_dtype(waves.dtype)) != dtype:
        return (
            f"your layer still hands on {output}: cast the waves before you add them."
        )
    waves = np.asarray(waves, float)[0]
    angles = np.arange(2048)[:, None] * 1e-4 ** (np.arange(32) / 32)
    off = np.abs(waves - np.hstack([np.sin(angles), np.cos(angles)]))
    distinct = len(np.unique(waves, axis=0))
    if distinct < 2000 and off[:16].max() < 0.2:
        return (
            f"of 2,048 positions {distinct:,} are left: count and compute the angles in"
            " float32, and cast the finished waves."
        )
    if not off.max() < 0.05:
        return f"your waves are other numbers, off by {off.max():.2g}."
    return None


def _parts_problem(model, dtype):
    """What `examine` or the dtypes of the layers tell of the model, or None."""
    from course_utils.precision import examine

    attention = model.get_layer("attention")
    computes, keeps = attention.compute_dtype, attention.variable_dtype
    if (computes, keeps) != (dtype, "float32"):
        return (
            f"Under mixed_{dtype} attention computes in {computes} and keeps weights in {keeps}."
            " None follows the policy: 16 bits to compute in, float32 for weights."
        )
    if model.get_layer("head").compute_dtype != "float32":
        return "The logits are still rounded to 16 bits before the loss: the head needs float32."
    # What is slow here, and widths, are no faults of the model.
    for finding in examine(model, "adam"):
        if finding.code not in ("MP010", "MP012"):
            return f"examine still finds in {finding.layer}: {finding.message[:150]}"
    return None


def _works(model):
    """What is wrong with the gradients of a model, or with its file, or None."""
    import keras
    import tensorflow as tf

    x = np.random.default_rng(10).normal(size=(4, 16, 49)).astype("float32")
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    variables = model.trainable_variables
    gradients = tape.gradient(loss, variables)
    for variable, gradient in zip(variables, gradients, strict=True):
        if gradient is None or not np.isfinite(gradient).all():
            return f"No finite gradient reaches {variable.path}."
    own = {type(layer).__name__: type(layer) for layer in model.layers}
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/model.keras"
        model.save(file)
        if attempt(lambda: keras.saving.load_model(file, custom_objects=own)):
            return None
    cure = "let your layer's `__init__` hand `**options` on to `super().__init__`."
    return f"Saved, the model cannot be loaded: {cure}"


# --- plans, and a decision about an order ---------------------------------------------

PLANS = """\
plans = [
    {"bits": 32, "remat": True},
    {"bits": 32, "accumulate": 4},
    {"bits": 16, "remat": True},
    {"bits": 16, "accumulate": 4},
    {"bits": 16, "accumulate": 2, "remat": True},
]"""
SETTINGS = {  # the values that each may have
    "bits": (16, 32),
    "accumulate": (2, 4, 8, 16, 32),
    "remat": (True, False),
}
PLAN_SLIPS = {
    "All your plans have 16 bits": {'"bits": 32': '"bits": 16'},
    "accumulate is the number 3": {'"accumulate": 4': '"accumulate": 3'},
    "bits is the text 'float32'": {'"bits": 32': '"bits": "float32"'},
    "The key 'bits' is missing": {'"bits": 32, ': ""},
}


def plans_problem(answer: Any) -> str | None:
    """What is wrong with plans of a training, or None."""
    if not isinstance(answer, list) or not answer:
        return f"plans is {describe(answer)}: give a list of plans, each a dictionary."
    for plan in answer:
        if problem := missing_key(plan, ("bits",)):
            return problem
        for key, value in plan.items():
            choices = SETTINGS.get(key, ())
            if not attempt(partial(choices.count, value)):
                return f"{key} is {describe(value)}: choose from {SETTINGS}."
    bits = {plan["bits"] for plan in answer}
    if len(bits) > 1:
        return None
    return (
        f"All your plans have {bits.pop()} bits: give each format a plan, so that your"
        " table tells whether the order needs 16."
    )


def draw_order(table: "pd.DataFrame", name: str) -> dict[str, float]:
    """Limits of MB and times that a name draws: a third of all names gets limits that
    float32 keeps, a third such that 16 bits alone keep, and a third such that no plan
    keeps.

    `table`: a row for each plan, with bits, MB and times. The limits are a tenth above
    what two of the rows take, or below what any takes, rounded to 0.1. Where a table has
    no limits of a kind, the others share its names.

    Example:
        >>> import pandas as pd
        >>> columns = {"bits": [32, 16], "MB": [40, 20], "times": [1, 1.2]}
        >>> draw_order(pd.DataFrame(columns), "Ada")
        {'MB': 22.0, 'times': 1.3}
    """
    sizes = [0.8 * min(table["MB"]), *table["MB"]]
    orders: dict = {}
    for size, times in itertools.product(sizes, table["times"]):
        order = {"MB": round(1.1 * size, 1), "times": round(1.1 * times, 1)}
        keeps = table[(table["MB"] <= order["MB"]) & (table["times"] <= order["times"])]
        orders.setdefault(max(keeps["bits"], default=0), []).append(order)
    draw = random.Random(name)
    return draw.choice(orders[draw.choice(sorted(orders))])


DECISION = """\
# The numbers of one run: take those of your own tables.
decision = {
    "plan": None,
    "difference": 0.0,
    "margin": 0.25,
    "accuracy": "the same",
}"""
SAYS = "the same", "better", "worse", "cannot tell"
POINTS = 2  # of accuracy, that matter
NUMBERS = '"difference": 0.0,\n    "margin": 0.25'
DECISION_SLIPS = {
    "You say 'better'": {'"the same"': '"better"'},
    "From -24.9 to +24.9": {'"margin": 0.25': '"margin": 24.9'},
    "From +1.5 to +51.3": {NUMBERS: '"difference": 26.4,\n    "margin": 24.9'},
    "From -4 to -2.2": {NUMBERS: '"difference": -3.1,\n    "margin": 0.9'},
    "a number, as your table": {"0.25": '"little"'},
    "the name of a row": {'"plan": None': '"plan": 4'},
    "choose from": {'"the same"': '"equal"'},
}


def allowed(difference: float, margin: float) -> str:
    """The word of `SAYS` that an interval of points allows."""
    low = difference - margin
    high = difference + margin
    if max(-low, high) <= POINTS:
        return "the same"
    if low > 0:
        return "better"
    return "worse" if high < 0 else "cannot tell"


def decision_problem(answer: Any) -> str | None:
    """What is wrong with a plan's name and with what is said of 16 bits, or None."""
    if problem := missing_key(answer, ("plan", "difference", "margin", "accuracy")):
        return problem
    plan = answer["plan"]
    if not (plan is None or isinstance(plan, str)):
        return (
            f"plan is {describe(plan)}: give the name of a row of your table, or None."
        )
    difference = number(answer["difference"])
    margin = number(answer["margin"])
    if difference is None or margin is None or margin < 0:
        return "Give difference and margin: a number, as your table has it."
    says = answer["accuracy"]
    word = attempt(lambda: says.strip().lower())
    if word not in SAYS:
        return f"accuracy is {describe(says)}: choose from {', '.join(SAYS)}."
    if word == allowed(difference, margin):
        return None
    return (
        f"From {difference - margin:+.3g} to {difference + margin:+.3g} points: is all of it "
        f"within {POINTS} of zero, or on one side of zero, or neither? You say {says!r}."
    )
