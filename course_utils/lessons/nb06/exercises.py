"""Prediction and exercises of notebook 06."""

from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.exercises.functions import parts
from course_utils.exercises.judges import Fields, choices
from course_utils.lessons.nb06 import faulty_loops

TITLE = "Your own training loop"

PREDICTION = Prediction(
    measures=("right without scale_loss, by Adam", "%"),
    example=10,
    parse=within(1e-6, 100),
    wanted="a percentage above 0 and up to 100, such as 10 for one in ten",
    respond="You expect {:g} % of the test images to be read right. The measurement comes"
    " below.".format,
)

NAMES = (
    *sorted(name for name, _ in faulty_loops.FAULTS.values()),
    "the sum for the mean",
)
LOOK = {  # a wrong answer, and what speaks against it
    "right": "`probe` finds something: read its message.",
    "scaling forgotten": "Then the loss would not be multiplied.",
    "unscaled twice": "Then an update would be 1/S times as long at every size of the gradient.",
    "the limit meets scaled gradients": "Then long gradients would arrive shorter at a larger S.",
    "∞ moves the weights": "Then an infinite gradient would move them. Does it?",
    "the scale never falls": "Then S would stay after an overflow. Does the message say so?",
    "the sum for the mean": "Each of the six takes one gradient for an update.",
}
SIX_FAULTS = Fields(
    choices(
        NAMES,
        {
            letter: {name: LOOK[name] for name in NAMES if name != right}
            for letter, (right, _) in faulty_loops.FAULTS.items()
        },
    )
)

EXERCISES = [
    Exercise(
        id=7,
        minutes=6,
        solution="""\
from course_utils.lessons.nb06 import batch, six
from course_utils.precision import probe

for letter, build_loop in six.items():
    print(letter, *(finding.message for finding in probe(build_loop, *batch)))
"""
        + parts(SIX_FAULTS.right),
        answer=SIX_FAULTS,
        hints=[
            'Look at the messages: `print(*probe(six["A"], *batch), sep="\\n")`.',
            "The right loop is the one of which `probe` returns an empty list.",
        ],
        right="A, C and E begin like a right loop: only other sizes and infinities show"
        " their faults.",
    ),
    Exercise(
        id=8,
        minutes=7,
        solution=faulty_loops.CLIPPED,
        name="step",
        answer=faulty_loops.judge,
        hints=[
            "Every optimizer of Keras has `scale_loss`; a plain one gives the loss back unchanged.",
            "`scale_loss` multiplies any number: `optimizer.scale_loss(0.1)` is 0.1 · S, or 0.1.",
        ],
        slips=faulty_loops.SLIPS,
        right="At every scale the same step, under three policies, and none for an infinity.",
    ),
]
