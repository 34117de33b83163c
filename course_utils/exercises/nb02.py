"""Predictions and exercises of notebook 02."""

from . import scaler, scales
from .engine import Curve, Exercise, Prediction, percentage

TITLE = "Why float16 loses small gradients, and how loss scaling saves them"

PREDICTION = Prediction(
    measures={"": ("gradients that float16 rounds to zero", "%")},
    example=10,
    read=percentage(
        "You expect that {value:g} % of them become zero.",
        ". For next to none, give 0.1",
    ),
)


def sketch(drawn):
    """The picture of a curve that is being drawn."""
    from course_utils import figures  # late, as all that brings matplotlib

    return figures.loss_scale(drawn=drawn)


CURVE = Curve(
    name="log2 of the scale at step",
    at=tuple(range(75, 451, 75)),
    start=15,
    low=0,
    high=60,
    picture=sketch,
)

EXERCISES = [
    Exercise(
        id=8,
        minutes=4,
        solution=scales.ARRAY
        + """

def error(s):
    with np.errstate(over="ignore"):
        rounded = (array * 2.0**s).astype(np.float16).astype(float) / 2.0**s
    return np.linalg.norm(rounded - array) / np.linalg.norm(array)


overflow = next(s for s in range(100) if not np.isfinite(error(s)))
answer = {"s": overflow - 4, "overflow": overflow}  # three powers of two stay free
print(f"{error(overflow - 4):.3%}")""",
        answer=scales.CHOSEN,
        hints=[
            "`(array * 2.0**s).astype(np.float16)` is what float16 keeps. How far is it, divided by"
            " `2.0**s`, from the array?",
            "`np.linalg.norm(a - array) / np.linalg.norm(array)` is the relative error of `a`.",
            "The relative error is infinite, or NaN, from `overflow` on. Eight is three powers of"
            " two.",
        ],
        right="s = 12 to 33 will do: on the floor every scale is as good. A large one is ready for"
        " gradients that shrink, a small one for gradients that grow.",
    ),
    Exercise(
        id=7,
        minutes=2,
        solution="""\
before = ["forward", "scale", "backward"]  # S goes in before the gradients are made
answer = [*before, "unscale", "clip", "update"]  # and out before anything looks at them""",
        answer=scales.ORDER,
        hints=[
            "What does the backward pass need, and what does the update?",
            "A limit for clipping is meant for true gradients. So is a learning rate.",
        ],
        wrong=[(["forward", "scale"], "give a list with the six names")],
        right="S lives from the loss to the unscaling alone: nothing behind it knows S.",
    ),
    Exercise(
        id=9,
        minutes=8,
        solution=scaler.CODE,
        name="after_backward",
        answer=scaler.JUDGE,
        hints=[
            "There are three cases: a step to skip, a good step, and the good step that completes"
            " the row.",
            "`all(np.isfinite(g).all() for g in gradients)` sees infinities and NaN in each array.",
            "Divide by the scale that you were given, not by the new one.",
        ],
        slips=scaler.SLIPS,
        wrong=[
            (lambda *state: print(end=""), "returns None"),
            (lambda *state: state[:2], "a tuple of 2 items"),
            (lambda *state: (None, None, 0), "None as the scale"),
            (lambda *state: (state[0][0], 1.0, 0), "give two arrays or None"),
            (lambda *state: LossScaleOptimizer(state), "write the rule yourself"),  # type: ignore[name-defined] # noqa: F821
        ],
        right="Your network comes near what float32's restores, and no overflow reached its"
        " weights. Keras's own rule has no floor and restores nothing here.",
    ),
]
