"""Prediction and exercises of notebook 03."""

import functools
import tempfile
from pathlib import Path

import numpy as np

from course_utils.exercises.answers import call, describe
from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.exercises.functions import Function, parts
from course_utils.exercises.judges import Fields, Number, choices
from course_utils.lessons.nb03 import judge

TITLE = "Setting the policy"

PREDICTION = Prediction(
    measures=("weights under mixed_float16", "kB"),
    example=175,
    parse=within(1, 10_000),
    wanted="kilobytes between 1 and 10,000, where 1 kB is 1,000 bytes",
    respond="You expect {:g} kB, and float32 takes 349. Section 1 measures it.".format,
)

# --- 1: which policy to try first -----------------------------------------------------


PLAIN = ("float32", "mixed_float16", "mixed_bfloat16")
WIDE_IN_FLOAT32 = "mixed_float16, wide layers float32"


CONVERTS = "each number is converted there and back, and multiplied in float32."
MACHINES = {
    "T4": {
        "float32": "its tensor cores stand idle then.",
        "mixed_bfloat16": "its tensor cores multiply no bfloat16, and Keras does not"
        " warn.",
    },
    "H100": {
        "float32": "its tensor cores multiply 16 bits faster.",
        "mixed_float16": "as fast, with a loss scale that bfloat16 spares you.",
    },
    "laptop": dict.fromkeys(PLAIN[1:], CONVERTS),
}
TWO_LAYERS = {
    "T4, wide": {
        "float32": "its tensor cores stand idle then, for two layers of thirty.",
        "mixed_float16": "200,000 is infinity in float16, and a loss scale moves no"
        " activation.",
        "mixed_bfloat16": "it holds 200,000, but the T4 multiplies no bfloat16.",
    }
}
REFUSAL = "not `{value}`: "
CHOOSE = Fields(
    choices(PLAIN, MACHINES, REFUSAL)
    | choices((*PLAIN, WIDE_IN_FLOAT32), TWO_LAYERS, REFUSAL)
)

# --- 2: what a panel says; a test asks the model itself ---------------------------------

PANEL = {
    "most casts": {
        "embed": "it casts the rows that it looked up, once; another layer casts as many twice.",
        "pool": "its casts come second: it sums in float32 inside, over fewer numbers.",
        "conv": "it casts its weights alone, which are few.",
        "hidden": "it casts what the pooling left: one number for each filter.",
        "logits": "what arrives there is float32 already.",
    },
    "weight casts": {
        "embed": "it casts the rows that it looks up, after reading them:"
        " the diamond is in its box.",
        "norm": "it works in float32 inside, so it reads its weights as they are.",
        "pool": "it has no weights.",
        "hidden": "it computes in float32, so it reads its weights as they are.",
        "logits": "it computes in float32, so it reads its weights as they are.",
    },
    "first float32": {
        "embed": "its weights are float32, and it hands on float16.",
        "norm": "it works in float32 inside, and hands on float16.",
        "conv": "it hands on float16.",
        "pool": "it sums in float32 inside, and hands on float16.",
        "logits": "a layer before it does so too.",
    },
}
LAYERS = ("embed", "norm", "conv", "pool", "hidden", "logits")
PANEL_READING = Fields(
    {
        **choices(LAYERS, PANEL, REFUSAL),
        "kB at 64": Number(
            1881,
            {
                1992: "The casts of weights do not grow with the batch.",
                996: "That is for the panel's 32 texts.",
            },
        ),
    }
)

# --- 4: a file that keeps its loss scale ----------------------------------------------

LOAD = """\
import keras
from course_utils.training import dtype_policy


def load(path):
    with dtype_policy("mixed_float16"):
        return keras.saving.load_model(path)

"""
WITH_POLICY = "with dtype_policy"
READ_FILE = "return keras.saving.load_model(path)"
WRAP = (
    'model.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam()), "mse")'
)
WRAPPED_ANEW = (
    f"{READ_FILE.replace('return', 'model =')}\n        {WRAP}\n        return model"
)
# a part of what is said, and the edits that make the right function a wrong one
LOAD_SLIPS = {
    "not the saved one: Adam at step 0": {"mixed_float16": "float32"},
    "not the saved one: LossScaleOptimizer at step 0": {READ_FILE: WRAPPED_ANEW},
    "NoneType at step 0": {"l(path)": "l(path, compile=False)"},
    "is mixed_float16 now": {WITH_POLICY: "if not keras.config.set_dtype_policy"},
    "end it with `return`": {"return ": ""},
}


@functools.cache
def trained_file() -> bytes:
    """A .keras file of a model that took three steps, with a loss scale of 4096."""
    from course_utils.exercises.small_training import hidden_model
    from course_utils.training import dtype_policy

    with dtype_policy("float32"), tempfile.TemporaryDirectory() as folder:
        model = hidden_model("mixed_float16")
        model.compile("adam", "mse", jit_compile=False)
        model.fit(np.zeros((12, 6)), np.zeros((12, 3)), batch_size=4, verbose=0)
        model.optimizer.dynamic_scale.assign(4096)
        path = Path(folder) / "model.keras"
        model.save(path)
        return path.read_bytes()


def load_problem(function: object, _: object) -> str | None:
    """What is wrong with a function that loads a model trained under mixed_float16, or
    None.
    """
    import keras

    from course_utils.training import dtype_policy

    with dtype_policy("float32"), tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.keras"
        Path(path).write_bytes(trained_file())
        model = call(function, path, end="`return` and the model")
        policy_after = keras.config.dtype_policy().name
    if not isinstance(model, keras.Model):
        return f"Your function returns {describe(model)}: return the model."
    optimizer = getattr(model, "optimizer", None)
    steps = int(getattr(optimizer, "iterations", 0))
    scale = float(getattr(optimizer, "dynamic_scale", 0))
    if (steps, scale) != (3, 4096):
        kind = type(optimizer).__name__
        return (
            f"The optimizer of your model is not the saved one: {kind} at step {steps}."
            " Which policy is set while the file is read?"
        )
    if policy_after != "float32":
        return f"The model is right. But the global policy is {policy_after} now; it was float32."
    return None


EXERCISES = [
    Exercise(
        id=6,
        minutes=2,
        solution=parts(CHOOSE.right),
        answer=CHOOSE,
        hints=[
            "For each: does the machine multiply float16, bfloat16, both, or neither?",
            "Do the model's numbers fit into the format? float16 ends at 65,504. If two layers do"
            " not fit, have all others to run without tensor cores?",
        ],
        right="Where both are fast, bfloat16 is less work. Layers whose numbers leave float16"
        " stay in float32, and the others use the tensor cores.",
    ),
    Exercise(
        id=11,
        minutes=3,
        solution=parts(PANEL_READING.right),
        answer=PANEL_READING,
        hints=[
            "Diamonds stand in three places: on the way into a layer, below it at its weights, and"
            " in its box.",
            "Twice as many texts move twice as many bytes, except where weights are cast.",
        ],
        right="What works in float32 inside casts most here, and casts of weights do not grow with"
        " the batch.",
    ),
    Exercise(
        id=4,
        minutes=6,
        solution=judge.CODE + "\nanswer = Fade",
        answer=judge.judge,
        slips=judge.SLIPS,
        wrong=[(lambda units: units, "raises TypeError"), ("Fade", "class itself")],
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
