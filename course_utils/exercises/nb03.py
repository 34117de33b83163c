"""Prediction and exercises of notebook 03."""

import tempfile

import numpy as np

from . import layer, tensors
from .answers import call, describe
from .engine import Exercise, Prediction
from .functions import Function, parts
from .judges import Choice, Fields

TITLE = "Setting the policy"

FLOAT32_MB = 4 * 1_011_466 / 1e6


def read_guess(value):
    """Keep megabytes between 0.01 and 100."""
    if not 0.01 <= value <= 100:
        given = describe(value)
        wanted = "give megabytes between 0.01 and 100, where 1 MB is 1,000,000 bytes."
        return None, f"You gave {given}: {wanted}"
    times = f"{value / FLOAT32_MB:.2g} times as much as under float32"
    return value, f"You expect {value:g} MB, {times}. Section 1 measures it."


PREDICTION = Prediction(
    measures={"": ("weights under mixed_float16", "MB")},
    example=2.02,
    read=read_guess,
)

# --- 1: which policy to try first -----------------------------------------------------


def policy(right, **wrong):
    """The judge of a policy; `wrong` says why each other one is not it."""
    why = {name: f"not `{{value}}`: {message}" for name, message in wrong.items()}
    return Choice(right, why, options=("float32", "mixed_float16", "mixed_bfloat16"))


CONVERTS = "each number is converted there and back, which takes longer than it saves."
CHOOSE = Fields(
    {
        "T4": policy(
            "mixed_float16",
            float32="its tensor cores stand idle then.",
            mixed_bfloat16="its tensor cores multiply no bfloat16, and TensorFlow does not warn.",
        ),
        "H100": policy(
            "mixed_bfloat16",
            float32="its tensor cores multiply 16 bits faster.",
            mixed_float16="as fast, and it needs a loss scale that bfloat16 spares you.",
        ),
        "laptop": policy("float32", mixed_float16=CONVERTS, mixed_bfloat16=CONVERTS),
        "T4, wide": policy(
            "float32",
            mixed_float16="200,000 is infinity in float16, and a loss scale moves no activation.",
            mixed_bfloat16="it holds 200,000, but the T4 multiplies no bfloat16.",
        ),
    }
)

# held by a test
BITS = dict(zip(tensors.WHY, (32, 16, 16, 32, 16, 32, 32, 32), strict=True))

# --- 5: a file that keeps its loss scale ----------------------------------------------

LOAD = """\
import keras
from course_utils.training import dtype_policy


def load(path):
    with dtype_policy("mixed_float16"):
        return keras.saving.load_model(path)"""
WITH, READ = "with dtype_policy", "return keras.saving.load_model(path)"
WRAP = (
    'model.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam()), "mse")'
)
ANEW = f"{READ.replace('return', 'model =')}\n        {WRAP}\n        return model"
# a part of what is said, and the edits that make the right function a wrong one
LOAD_SLIPS = {
    "not the saved one: Adam at step 0": {"mixed_float16": "float32"},
    "not the saved one: LossScaleOptimizer at step 0": {READ: ANEW},
    "NoneType at step 0": {"l(path)": "l(path, compile=False)"},
    "is mixed_float16 now": {WITH: "if not keras.config.set_dtype_policy"},
    "end it with `return`": {"return ": ""},
}


def load_problem(function, _):
    """What is wrong with a function that loads a model trained under mixed_float16, or
    None.
    """
    import keras

    from course_utils.training import dtype_policy

    from .small_training import hidden_model

    with dtype_policy("float32"), tempfile.TemporaryDirectory() as folder:
        trained = hidden_model("mixed_float16")
        path = f"{folder}/model.keras"
        trained.compile("adam", "mse", jit_compile=False)
        trained.fit(np.zeros((12, 6)), np.zeros((12, 3)), batch_size=4, verbose=0)
        trained.optimizer.dynamic_scale.assign(4096)
        trained.save(path)
        model, problem = call(function, path, end="`return` and the model")
        left = keras.config.dtype_policy().name
    if problem or not isinstance(model, keras.Model):
        return problem or f"Your function returns {describe(model)}: return the model."
    optimizer = getattr(model, "optimizer", None)
    kind = type(optimizer).__name__
    steps = int(getattr(optimizer, "iterations", 0))
    if (
        kind != "LossScaleOptimizer"
        or steps != 3
        or float(optimizer.dynamic_scale) != 4096
    ):
        asked = "Which policy is set while the file is read?"
        return f"The optimizer of your model is not the saved one: {kind} at step {steps}. {asked}"
    if left != "float32":
        return (
            f"The model is right. But the global policy is {left} now; it was float32."
        )
    return None


EXERCISES = [
    Exercise(
        id=6,
        minutes=2,
        solution=parts({name: f'"{right}"' for name, right in CHOOSE.right.items()}),
        answer=CHOOSE,
        hints=[
            "For each: does the machine multiply float16, bfloat16, both, or neither?",
            "Do the model's numbers fit into the format? float16 ends at 65,504.",
        ],
        right="Where both are fast, bfloat16 is less work. float16 has to hold all activations.",
    ),
    Exercise(
        id=7,
        minutes=4,
        solution=parts({name: f'"float{bits}"' for name, bits in BITS.items()}),
        answer=tensors.judge,
        hints=[
            "Three of the eight are float16: what the layers compute in and hand on.",
            "What is kept, what is a sum of squares, and what the optimizer adds up is float32.",
        ],
        right="Stored, summed and updated in float32; multiplied and handed on in float16.",
    ),
    Exercise(
        id=4,
        minutes=6,
        solution=layer.CODE + "\nanswer = Fade",
        answer=layer.judge,
        slips=layer.SLIPS,
        wrong=[
            (lambda units: units, "raises TypeError"),
            ("Fade", "give the class itself"),
        ],
        hints=[
            "`self.add_weight` makes a float32 weight that Keras trains, saves, and casts whenever"
            " `call` reads it.",
            "The inputs reach `call` in the compute dtype already. Of the three parts, only the"
            " ramp is left in float32, and `self.compute_dtype` names what it has to become.",
        ],
        right="Only the ramp needed a cast: Keras casts a layer's inputs and its weights, and"
        " constants are yours.",
    ),
    Exercise(
        id=8,
        minutes=4,
        solution=LOAD,
        answer=Function(load_problem),
        name="load",
        slips=LOAD_SLIPS,
        hints=[
            "Reading a file makes the model, and compiles it. When does a model get its policy?",
            "`dtype_policy` of this notebook sets a policy and sets it back.",
        ],
        right="Adam's moments, its step and the loss scale are back.",
    ),
]
