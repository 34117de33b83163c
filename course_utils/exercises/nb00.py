"""Prediction and exercises of notebook 00."""

from .answers import call, describe
from .engine import Exercise, Prediction
from .functions import Function
from .judges import Choice, Fields, Number

TITLE = "Start here"


def read_guess(value):
    """Keep a speedup between 0.01 and 100."""
    if 10 <= value <= 100:
        return (
            None,
            f"You gave {value:g}: if you mean {value:g} %, write {value / 100:g}.",
        )
    if not 0.01 <= value <= 100:
        given = describe(value)
        range_of_it = (
            "a speedup lies between 0.01 and 100, and 1.0 means the same speed."
        )
        return None, f"You gave {given}: {range_of_it}"
    return (
        value,
        f"You expect {value:g} times the speed of float32. The measurement comes below.",
    )


PREDICTION = Prediction(
    measures={"": ("speedup of the better 16 bits", "×")},
    example=2.0,
    read=read_guess,
)

# --- 1: which policy to train in ------------------------------------------------------

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16", "cannot tell")
HOLDS_ONE = (
    "both intervals hold 1, and reach 15 % to either side. The next run may reverse it."
)
FIRST = "one step each is the first step, which traces the model. It says nothing of the others."


def run(right, **why_not):
    """The judge of one run; `why_not` says why each other policy does not follow from
    it.
    """
    names = {
        "bfloat16": "mixed_bfloat16",
        "float16": "mixed_float16",
        "tell": "cannot tell",
    }
    wrong = {
        names.get(name, name): f"not `{{value}}`: {why}"
        for name, why in why_not.items()
    }
    return Choice(right, wrong, options=POLICIES)


RUNS = {
    "A": run(
        "mixed_bfloat16",
        float32="bfloat16 is 1.43 times as fast, and its interval lies above 1.",
        float16="its step takes two and a half times as long as in float32.",
        tell="no interval holds 1, and there are 102 rounds.",
    ),
    "B": run(
        "float32",
        bfloat16="the chip has the circuits, and here TensorFlow does not use them. What was"
        " measured goes before what is listed.",
        float16="it beats bfloat16, and float32 beats both.",
        tell="both intervals lie far below 1.",
    ),
    "C": run("cannot tell", float32=HOLDS_ONE, bfloat16=HOLDS_ONE, float16=HOLDS_ONE),
    "D": run(
        "cannot tell",
        float32=FIRST,
        bfloat16=FIRST,
        float16=f"it is what you would try first on this chip, but {FIRST}",
    ),
}

# --- 2: a speedup to trust ------------------------------------------------------------

SPEEDUP = Number(
    0.25,
    # two decimals of it, and no other ratio's
    accept=lambda value: 0.245 <= value <= 0.255,
    asked="give one number without quotes, such as 1.5",
    wrong={
        4: "That is the slowdown. A speedup is the time before over the time after.",
        1600
        / 679: "That is a slowdown, of means with the first step in. Turn it around, and use"
        " medians of the later steps.",
        194
        / 53.4: "That is a slowdown, and of means. Turn it around, and use medians.",
        679
        / 1600: "That has the first steps in. They trace the model and are paid once.",
        412 / 630: "Those are the first steps. They trace the model and are paid once.",
        53.4 / 194: "Those are means: one slow step moves each of them. Use medians.",
        43
        / 179: "Those are the fastest steps. The median says what a step usually takes.",
        (0.75, 75): "That is by how much the speed falls. Give what remains.",
        25: "That is the speedup in percent. Give the ratio, such as 0.5 for half.",
        (
            3,
            300,
        ): "That is the extra time as a share of float32's. Divide the two times.",
        (
            135,
            -135,
        ): "That is the difference in ms. A speedup is a ratio and has no unit.",
        0: "You gave 0; a ratio of two times is positive. Divide with `/`, not `//`.",
    },
    rules=(
        (
            -0.7,
            lambda value: value < 0,
            "That is a relative change. A speedup is the time before over the time after.",
        ),
        (
            2,
            lambda value: value >= 1,
            "You gave {value:g}. The step takes longer than before, so its speedup is below 1.",
        ),
    ),
    otherwise="You gave {value:g}, on the right side of 1. Divide float32's median by the other.",
)

# --- 3: the policy that comes too late ------------------------------------------------


def switch_problem(build, _):
    """What is wrong with a `build` that should make a model in mixed_bfloat16, or None."""
    import keras

    from course_utils.training import dtype_policy

    with dtype_policy("float32"):  # and back, whatever the function does
        model, problem = call(build, end="`return model`")
        left = keras.config.dtype_policy().name
    if problem:
        return problem
    if not isinstance(model, keras.Model):
        return f"Your function returns {describe(model)}: return the model."
    layer = next((layer for layer in model.layers if layer.weights), None)
    if layer is None:
        return "Your model has no weights yet: keep `keras.Input((784,))` and the Dense layer."
    kept = layer.variable_dtype
    computes = layer.compute_dtype
    if kept != "float32":
        mixed = "The policies that begin with `mixed_` keep them in float32."
        return f"Your layer keeps its weights in {kept}. {mixed}"
    if computes == "float32":
        return "Your layer computes in float32. It took the policy that was set when it was made."
    if computes != "bfloat16":
        return f"Your layer computes in {computes}, and bfloat16 was asked for."
    if left != "float32":
        still = f"the policy is still {left} when your function ends, and the next model gets it."
        return f"The model is right. But {still}"
    return None


EXERCISES = [
    Exercise(
        id=4,
        minutes=2,
        solution="""\
answer = {
    "A": "mixed_bfloat16",
    "B": "float32",
    "C": "cannot tell",
    "D": "cannot tell",
}""",
        answer=Fields(RUNS),
        wrong=[({**Fields(RUNS).right, "A": "bf16"}, "choose from float32")],
        hints=[
            "Does the interval of a speedup hold 1? Then the next run may reverse it.",
            "What did section 2 say of the first call?",
        ],
        right="What a chip lists says what to try; what you measure says what to keep.",
    ),
    Exercise(
        id=2,
        minutes=1,
        solution="""\
from statistics import median

float32 = [412, 45, 44, 90, 45, 43]
mixed_float16 = [630, 181, 179, 250, 180, 180]
answer = median(float32[1:]) / median(mixed_float16[1:])""",
        answer=SPEEDUP,
        wrong=[(0.5, "right side of 1")],
        hints=[
            "A speedup of 2 means half the time, 1 the same time. On which side of 1 is this one?",
            "Leave the first step out and take the median of the others, as in section 2.",
        ],
        right="45 / 180 = 0.25: a 16-bit step takes four times as long there.",
    ),
    Exercise(
        id=5,
        minutes=2,
        solution="""\
import keras


def build():
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = keras.Sequential([keras.Input((784,)), keras.layers.Dense(10)])
    keras.config.set_dtype_policy("float32")
    return model
""",
        name="build",
        answer=Function(switch_problem),
        slips={
            "was set when it was made": {
                'keras.config.set_dtype_policy("mixed_bfloat16")\n    ': "",
                '"float32"': '"mixed_bfloat16"',
            },
            "The policies that begin with `mixed_`": {"mixed_bfloat16": "bfloat16"},
            "computes in float16": {"mixed_bfloat16": "mixed_float16"},
            "is still mixed_bfloat16": {
                '    keras.config.set_dtype_policy("float32")\n': ""
            },
            "returns None": {"    return model\n": ""},
            "has no weights": {"keras.Input((784,)), ": ""},
        },
        wrong=[(lambda: 3, "returns the number 3")],
        hints=[
            "A layer takes the policy once, when it is made. Which line makes it?",
            "Set the policy before the model, and set it back behind it.",
        ],
        right="A layer keeps the policy under which it was made.",
    ),
]
