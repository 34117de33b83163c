"""Predictions and exercises of notebook 02."""

from typing import TYPE_CHECKING

from course_utils.exercises.engine import Curve, Exercise, Prediction, within
from course_utils.lessons.nb02 import array_judge, scaler_judge

if TYPE_CHECKING:
    from course_utils.figures import Picture

TITLE = "Why float16 loses small gradients, and how loss scaling saves them"

PREDICTION = Prediction(
    measures=("gradients that float16 rounds to zero", "%"),
    example=10,
    parse=within(1e-6, 100),
    wanted="a percentage above 0 and up to 100. For next to none, give 0.1",
    respond="You expect that {:g} % of them become zero. The measurement comes below.".format,
)


def draw(scales: dict) -> "Picture":
    """The loss scale that a learner draws: {step: its log2}."""
    from course_utils.lessons.nb02 import figures  # late: it loads matplotlib

    return figures.draw_loss_scale(drawn=scales)


CURVE = Curve(
    start=dict.fromkeys(range(16, 97, 16), 15),
    low=0,
    high=30,
    label="log2 of the scale at step",
    figure=draw,
)

EXERCISES = [
    Exercise(
        id=9,
        minutes=8,
        solution=scaler_judge.CODE,
        name="after_backward",
        answer=scaler_judge.JUDGE,
        hints=[
            "There are three cases: a step to skip, a good step, and the good step that completes"
            " the row.",
            "`all(np.isfinite(g).all() for g in gradients)` sees infinities and NaN in each array.",
            "Print the scale at each step of the check: how far does it fall, and how long is"
            " the way back? `max` sets a limit.",
        ],
        slips=scaler_judge.SLIPS,
        wrong=[
            (lambda *state: print(end=""), "returns None"),
            (lambda *state: state[:2], "a tuple of 2 items"),
            (lambda *state: (None, None, 0), "None as the scale"),
            (lambda *state: (state[0][0], 1.0, 0), "give two arrays or None"),
        ],
        right="Your network comes near what float32's restores, and no overflow reached its"
        " weights. Keras 2's rule had a lowest scale, and Keras 3's has none:"
        " the figure below compares it with yours.",
    ),
    Exercise(
        id=8,
        minutes=4,
        solution=array_judge.ARRAY
        + """

def error(s):
    with np.errstate(over="ignore"):
        rounded = (array * 2.0**s).astype(np.float16).astype(float) / 2.0**s
    return np.linalg.norm(rounded - array) / np.linalg.norm(array)


overflow = next(s for s in range(100) if not np.isfinite(error(s)))
answer = {"s": overflow - 4, "overflow": overflow}  # three powers of two stay free
print(f"{error(overflow - 4):.3%}")""",
        answer=array_judge.SCALE_AND_OVERFLOW,
        hints=[
            "`(array * 2.0**s).astype(np.float16)` is what float16 keeps. How far is it, divided by"
            " `2.0**s`, from the array?",
            "`np.linalg.norm(a - array) / np.linalg.norm(array)` is the relative error of `a`.",
            "The relative error is infinite, or NaN, from `overflow` on. Eight is three powers of"
            " two.",
        ],
        right="s = 12 to 33 will do, and from 16 on one scale is as good as another. A large one is"
        " ready for gradients that shrink, a small one for gradients that grow.",
    ),
    Exercise(
        id=31,
        minutes=4,
        solution="""\
clipped = 0.1 * 1 / 1024  # cut from 512 to 1, then divided: how far the weights move
answer = {"clipped": clipped / 0.05, "kept": 1024, "adam": 1}""",
        answer=array_judge.WRONG_STEPS,
        hints=[
            "Follow the length of the gradient from line to line: it begins with 1024 times"
            " 0.5.",
            "Adam's first step is the rate times the gradient over the gradient's size.",
        ],
        right="Plain SGD steps by the wrong factor. Adam hides a constant one, until a limit for"
        " clipping, a norm that you log or epsilon meets it: so S has to be gone before anything"
        " looks at the gradients.",
    ),
]
