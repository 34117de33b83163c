"""Prediction and exercises of notebook 11."""

from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.exercises.functions import Function
from course_utils.exercises.judges import Fields, Number
from course_utils.lessons.nb11 import judge

TITLE = "Train and store with eight bits and fewer"

PREDICTION = Prediction(
    measures=("the steps for which the network guesses", "steps"),
    example=10,
    parse=within(0, 10_000),
    wanted="a number from 0 to 10,000",
    respond="You expect that the network guesses for {:,.0f} steps.".format,
)

BLOCK = Fields(
    {
        "block": Number(
            16,
            {
                8: "Blocks of 8 keep all of them. A longer one does, too, with fewer bits.",
                (
                    32,
                    64,
                    128,
                ): "In blocks of {value:g} a third of the values and more become zero.",
            },
            otherwise="{value:g} is none of 8, 16, 32, 64 and 128.",
            asked="give one of 8, 16, 32, 64 and 128",
            close=0,
        ),
        "bits": Number(
            4.5,
            {
                4: "That is the value alone. Each block has a scale of 8 bits as well.",
                12: "That gives each value a scale of its own.",
                0.5: "That is the share of the scale. Add the 4 bits of the value.",
                4.25: "That is the share for a block of 32.",
                5: "That is the share for a block of 8.",
                72: "That is the whole block. Divide by its 16 values.",
            },
            otherwise="{value:g} does not fit: 4 bits, and a share of 8 more.",
            close=0.001,
        ),
    }
)

EXERCISES = [
    Exercise(
        id=1,
        minutes=5,
        solution=judge.SCALE,
        answer=judge.rounding_problem,
        slips=judge.SCALE_SLIPS,
        wrong=[({"scale": 0.25, "rounds": "up"}, "give the function")],
        hints=[
            "`np.floor(np.log2(largest, dtype=float))` is the exponent of the largest size.",
            "6, the largest number of MXFP4, lies between 2² and 2³. What stood there for E4M3?",
        ],
        right="Down is the rule of the standard's text, up that of several libraries. Section"
        " 6 compares them.",
    ),
    Exercise(
        id=3,
        minutes=5,
        solution=judge.DELAYED,
        name="next_scale",
        answer=Function(judge.delayed_problem, judge.SPIKES),
        slips=judge.DELAYED_SLIPS,
        wrong=[
            (lambda sizes: "1", "return one number"),
            (lambda sizes: -1.0, "above 0"),
        ],
        hints=[
            "One large size is a spike, two are a new size. What is the second largest?",
            "Leave a factor of 2 free: divide 448 by twice that size.",
        ],
        right="One spike is ignored, and two steps of growth are followed.",
    ),
    Exercise(
        id=2,
        minutes=3,
        solution=judge.GRADIENTS
        + """\

from course_utils.formats import blocks

for size in (8, 16, 32, 64, 128):
    kept = blocks.quantize(gradients, "mxfp4_e2m1", size).values
    print(f"blocks of {size:3}: {np.mean(kept == 0):.1%} become zero")
answer = {"block": 16, "bits": 4 + 8 / 16}""",
        answer=BLOCK,
        hints=[
            "Round with `blocks.quantize(gradients, 'mxfp4_e2m1', size).values`, and count zeros.",
            "A block of n values has n · 4 + 8 bits.",
        ],
        right="16 neighbors have about one size here. A longer block mixes such sizes.",
    ),
]
