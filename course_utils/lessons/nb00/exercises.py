"""Prediction and exercises of notebook 00."""

from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.exercises.judges import Fields, Number, choices

TITLE = "Start here"


PREDICTION = Prediction(
    measures=("speedup of the better 16 bits", "×"),
    example=2.0,
    parse=within(0.01, 10),
    wanted="a speedup between 0.01 and 10, such as 0.5 for half the speed",
    respond="You expect {:g} times the speed of float32. The measurement comes below.".format,
)

# --- 1: which policy to train in ------------------------------------------------------

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
VERDICTS = (*POLICIES, "the same", "cannot tell")
WIDE_INTERVALS = (
    "both intervals hold 1 and reach 20 % to either side. The next run may reverse the"
    " order."
)
NARROW_INTERVALS = (
    "both intervals hold 1 and end within 2 % of it. More rounds would find no winner"
    " that matters."
)


RUNS = choices(
    VERDICTS,
    {
        "A": {
            "mixed_bfloat16": "the chip lists instructions for it, and yet its interval lies below"
            " 1. What was measured goes before what is listed.",
            "mixed_float16": "its interval lies below 1, so it is slower than float32.",
            "the same": "both intervals leave 1 out.",
            "cannot tell": "both intervals lie below 1, however near one of them comes.",
        },
        "B": {
            "float32": "an interval that lies above 1 belongs to a policy that is faster.",
            "mixed_bfloat16": "it was not timed.",
            "the same": "no interval holds 1.",
            "cannot tell": "no interval holds 1.",
        },
        "C": {
            **dict.fromkeys(POLICIES, WIDE_INTERVALS),
            "the same": "intervals this wide leave room for a gain of 20 % and for a loss.",
        },
        "D": {
            **dict.fromkeys(POLICIES, NARROW_INTERVALS),
            "cannot tell": "the run has told: whichever is ahead, it is ahead by less than 2 %.",
        },
    },
    "not `{value}`: ",
)

# --- 2: a speedup to trust ------------------------------------------------------------

FIRST = "That has the first steps in. They trace the model and are paid once."
RATIO_OF_TWO = (
    "That is the ratio of two {}. A slow moment of the laptop hit steps of the same round:"
    " divide round by round, then take the median."
)


SPEEDUP = Number(
    1.75,
    close=0.006,  # two decimals of it, and no other ratio's
    asked="give one number without quotes, such as 1.5",
    wrong={
        40
        / 76: "That is the best round, turned around. Take the median of the rounds.",
        1 / 1.75: "That is the slowdown. A speedup is float32's time over the other's.",
        120 / 92: RATIO_OF_TWO.format("medians"),
        357 / 228: RATIO_OF_TWO.format("means"),
        (1.5, 140.5 / 94, 310 / 900, 667 / 1128): FIRST,
        4.9
        / 3: "That is the mean of the ratios, which one round can move. Take the median.",
        76 / 40: "That is the best round. The median says what a round usually gives.",
        0.75: "That is by how much it is faster. Give the ratio of the two times.",
        (
            175,
            75,
        ): "That is in percent. Give the ratio, such as 1.2 for a fifth faster.",
        (36, 28): "That is a difference in ms. A speedup is a ratio and has no unit.",
        (1, 2): "A whole number is too coarse. Divide with `/`, and give two decimals.",
    },
    otherwise="You gave {value:g}. In each round after the first mixed_float16 is faster, so"
    " each ratio is above 1: divide float32's time by the other's, and take their median.",
)

EXERCISES = [
    Exercise(
        id=4,
        minutes=2,
        solution="""\
answer = {"A": "float32", "B": "mixed_float16", "C": "cannot tell", "D": "the same"}""",
        answer=Fields(RUNS),
        hints=[
            "Look at the intervals first: which of them hold 1?",
            "An interval that holds 1 and is narrow says that the two are the same.",
        ],
        right="What a chip lists says what to try; what you measure says what to keep. In D look"
        " at memory.",
    ),
    Exercise(
        id=2,
        minutes=2,
        solution="""\
from statistics import median

float32 = [310, 120, 161, 76]
mixed_float16 = [900, 96, 92, 40]
ratios = [one / other for one, other in zip(float32, mixed_float16, strict=True)]
answer = median(ratios[1:])""",
        answer=SPEEDUP,
        wrong=[(2.5, "take their median"), (0.7, "each ratio is above 1")],
        hints=[
            "A speedup of 2 means half the time, 1 the same time, 0.5 twice the time.",
            "Each round has a ratio of its own. Leave the first round out.",
        ],
        right="The ratios are 1.25, 1.75 and 1.9, and their median is 1.75. The ratio of the"
        " medians is 1.30: it compares steps of different moments.",
    ),
]
