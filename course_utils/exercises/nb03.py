"""Prediction and exercises of notebook 03."""

from . import layer
from .answers import describe
from .engine import Exercise, Prediction
from .functions import edit, parts
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
    task="""\
A CNN has 1,011,466 weights. Made under the policy `float32`, it keeps them in 4.05 MB (1 MB =
1,000,000 bytes). Now you make the same model under `mixed_float16`. In how many MB does it keep its
weights?

Only the weights count, no gradients and no optimizer. Guess before you run any code: a wrong guess
teaches more than none. Section 1 measures it.""",
    comment="MB; under float32 it is 4.05",
    example=2.02,
    read=read_guess,
)

# --- 1: which layer computes in what ------------------------------------------------------------

DTYPES = ("float32", "float16", "bfloat16")


def dtype(right, **wrong):
    """The judge of a compute dtype; `wrong` says why each other one is not it."""
    policies = dict.fromkeys(
        [("mixed_float16", "mixed_bfloat16")],
        "you gave a policy, `{value}`. Give the dtype it computes in.",
    )
    why = {name: f"not `{{value}}`: {message}" for name, message in wrong.items()}
    options = (*DTYPES, "mixed_float16", "mixed_bfloat16")
    return Choice(right, policies | why, options=options, asked=f"choose from {', '.join(DTYPES)}")


COMPUTE = Fields(
    {
        "first": dtype(
            "float32",
            float16="the policy holds only for the layers made after it, and it came later.",
            bfloat16="a layer keeps the policy it was made under, here float32.",
        ),
        "second": dtype(
            "float16",
            float32="it stores its weights in float32, and computes in another dtype.",
            bfloat16="the last switch comes when all three layers are made.",
        ),
        "third": dtype(
            "float32",
            float16="it has a `dtype` of its own, which goes before the global policy.",
            bfloat16="neither the last switch nor the model changes a layer's own `dtype`.",
        ),
    }
)

# --- 2: when compile adds loss scaling ----------------------------------------------------------

WHY = {
    "global": "under a global mixed_float16 `compile` wraps the optimizer by itself.",
    "per layer": "`compile` asks the model for its policy, not the layers, and that is float32.",
    "mixed": "bfloat16 has float32's exponents, so no gradient needs rescue.",
    "pure": "`compile` waits for the name mixed_float16, although float16 gradients need it here.",
    "reset": "the model keeps the policy that it was made under, and `compile` asks the model.",
}


def scaled(name):
    """The judge of whether `compile` adds loss scaling to a model."""
    right = name in ("global", "reset")
    wrong = {not right: f"not {{value}}: {WHY[name]}"}
    asked = "give True or False, without quotes"
    return Choice(right, wrong, options=(True, False), asked=asked)


SCALED = Fields({name: scaled(name) for name in WHY})

EXERCISES = [
    Exercise(
        id=1,
        title="which layer computes in what",
        minutes=3,
        task="""\
A fresh kernel runs these lines. No policy was set before.

```python
first = keras.layers.Dense(64)
keras.config.set_dtype_policy("mixed_float16")
second = keras.layers.Dense(64)
third = keras.layers.Dense(10, dtype="float32")
keras.config.set_dtype_policy("mixed_bfloat16")
model = keras.Sequential([keras.Input((784,)), first, second, third])
keras.config.set_dtype_policy("float32")  # as it was
```

In which dtype does each layer of the model compute? Answer before you run them.""",
        stub='answer = {"first": ..., "second": ..., "third": ...}'
        '  # "float32", "float16" or "bfloat16"',
        solution='answer = {"first": "float32", "second": "float16", "third": "float32"}',
        answer=COMPUTE,
        hints=[
            "When does a layer get its policy: when it is made, when it gets its weights, or when"
            " it is called?",
            "Go down line by line and write beside each layer the policy in force at its line."
            " A `dtype` in the parentheses goes first.",
        ],
        right="Where two dtypes meet, the later layer casts its inputs to its own compute dtype.",
    ),
    Exercise(
        id=3,
        title="when compile scales the loss",
        minutes=3,
        task="""\
Five models, each a `keras.Sequential` with two Dense layers. Each is compiled with
`model.compile(optimizer="sgd", loss="mse")`. Which of them get loss scaling from `compile`?

- **global**: the global policy is `mixed_float16`; the model is made and compiled under it
- **per layer**: the global policy is `float32`, and both layers have `dtype="mixed_float16"`
- **mixed**: like global, with the policy `mixed_bfloat16`
- **pure**: like global, with the policy `float16`
- **reset**: made under `mixed_float16`; the global policy is set to `float32`; then compiled""",
        stub=parts(dict.fromkeys(SCALED.judges, "..."), "  # True or False"),
        solution=parts(SCALED.right, "  # True or False"),
        answer=SCALED,
        wrong=[({**SCALED.right, "reset": 1}, "the number 1: give True or False")],
        hints=[
            "`compile` compares one name, that of `model.dtype_policy`. When does a model get it?",
            "After `compile`, a scaled model shows a `LossScaleOptimizer` in"
            " `type(model.optimizer)`.",
        ],
        right="For the model with the policy in its layers, wrap the optimizer yourself:"
        " `keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())` as `optimizer`.",
    ),
    Exercise(
        id=4,
        title="repair a layer",
        minutes=7,
        task="""\
The layer below multiplies each feature by a gain of its own and adds a ramp from 0 to 1. In float32
it works. Under a mixed policy it computes in float32 all the same, and Keras never trains its gain.

Repair it for the policies `mixed_float16`, `mixed_bfloat16` and `float32`, with one class for all:

- the gain is a float32 weight that Keras trains, and it begins at 1,
- it computes, and returns, in the compute dtype of the policy,
- the values stay within 0.01 of float32's.

The check makes the layer under each policy and calls it.""",
        stub=edit(layer.CODE, layer.GIVEN)
        + "\nanswer = ...  # repair Fade above, then put Fade here",
        solution=layer.CODE + "\nanswer = Fade",
        answer=layer.judge,
        slips=layer.SLIPS,
        wrong=[(lambda units: units, "raises TypeError"), ("Fade", "give the class itself")],
        hints=[
            "`self.add_weight` makes a float32 weight that Keras trains, saves, and casts whenever"
            " `call` reads it.",
            "The inputs reach `call` in the compute dtype already. Of the three parts, only the"
            " ramp is left in float32, and `self.compute_dtype` names what it has to become.",
        ],
        right="Only the ramp needed a cast: Keras casts a layer's inputs and its weights, and"
        " constants are yours.",
    ),
]
