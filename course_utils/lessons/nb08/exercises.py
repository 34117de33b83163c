"""Prediction and exercises of notebook 08."""

import math

from course_utils.exercises.engine import Exercise, Prediction, several
from course_utils.exercises.functions import Function
from course_utils.lessons.nb08 import judge

TITLE = "Make a network smaller still"

MEASURES = {
    "file": "the file as it is",
    "packed": "the packed file",
    "speed": "the time for an image",
}


SUMMARY = (
    "file {file:g} and packed file {packed:g} times smaller, {speed:g} times as fast"
)

PREDICTION = Prediction(
    measures={key: (quantity, "times") for key, quantity in MEASURES.items()},
    example={"file": 10, "packed": 10, "speed": 5},
    parse=several(dict.fromkeys(MEASURES, math.inf)),
    respond=f"{SUMMARY.capitalize()}. Section 5 measures it.".format_map,
    wanted='three factors, such as `guess = {"file": 2, "packed": 2, "speed": 2}`',
    show=SUMMARY.format_map,
)

EXERCISES = [
    Exercise(
        id=6,
        minutes=4,
        solution=judge.PRUNE,
        name="prune",
        answer=Function(judge.prune_problem, judge.PRUNINGS),
        slips=judge.PRUNE_SLIPS,
        hints=[
            "`np.argsort(abs(weights), axis=None)` lists the places from the smallest"
            " magnitude to the largest, as if the array were flat.",
            "Copy the array, then set the first `round(share * weights.size)` of these"
            " places to zero in its `.flat`.",
        ],
        right="The smallest are zero, exactly as many as asked, and the rest is as it was.",
    ),
    Exercise(
        id=3,
        minutes=2,
        solution=judge.AFFINE,
        name="affine",
        answer=Function(judge.affine_problem, judge.RANGES),
        slips=judge.AFFINE_SLIPS,
        wrong=[(lambda low, high: 1.0, "(scale, zero)")],
        hints=[
            "First widen the range: `low = min(low, 0.0)`, `high = max(high, 0.0)`.",
            "255 steps lie between 256 integers, and `low` must land on −128.",
        ],
        right="256 levels over the range, one of them exactly on 0.",
    ),
    Exercise(
        id=7,
        minutes=6,
        solution=judge.EVEN,
        name="even_out",
        answer=Function(judge.even_problem, (5,)),
        slips=judge.EVEN_SLIPS,
        hints=[
            "`abs(first).max(axis=(0, 1, 2))` has a number for each channel. Divided by f, it"
            " becomes a / f, and b, which reads it, becomes b · f. When are they equal?"
        ],
        right="Every channel is as large as the weights that read it, and the answers stay.",
    ),
    Exercise(
        id=4,
        minutes=2,
        solution=judge.FLOAT32,
        name="to_float32",
        answer=Function(judge.float32_problem, ("mixed_bfloat16", "mixed_float16")),
        slips=judge.FLOAT32_SLIPS,
        hints=[
            "The weights of a mixed policy are float32 already. Only the computation is not.",
            '`with dtype_policy("float32"):` around `build()`, then `set_weights`.',
        ],
        right="Nothing is lost: the variables were float32 all the time.",
    ),
]
