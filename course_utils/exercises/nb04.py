"""Prediction and exercises of notebook 04."""

from .answers import call, describe, near, number
from .engine import Exercise, Prediction
from .functions import Function, parts
from .judges import Choice, Fields, Number

TITLE = "The MNIST CNN, three ways"


def read_guess(value):
    """Keep a share of float32's memory; 10 to 150 is read as percent."""
    share = value / 100 if 10 <= value <= 150 else value
    if not 0 < share <= 1.5:
        given = describe(value)
        return (
            None,
            f"You gave {given}: give a share between 0 and 1.5, such as 0.9 for 90 %.",
        )
    read = "You expect" if share == value else f"Read as {value:g} %: you expect"
    return (
        share,
        f"{read} {share:g} times the memory of float32. The measurement comes below.",
    )


PREDICTION = Prediction(
    measures={"": ("peak memory of a CNN's step", "×")},
    example=0.5,
    read=read_guess,
)

# --- 1: which comparison is fair ------------------------------------------------------

FAULTS = ("fair", "steps", "batch", "order")
FAIR = Fields(
    {
        letter: Choice(
            right,
            {
                other: f"Look at {letter} again: {said}"
                for other in FAULTS
                if other != right
            },
            options=FAULTS,
        )
        for letter, right, said in (
            ("A", "steps", "after a minute each, the faster one has trained longer."),
            ("B", "batch", "a larger batch is often faster under float32 too."),
            ("C", "order", "the laptop was cool for the one and warm for the other."),
            ("D", "fair", "same steps, same batch, and what drifts hits both."),
        )
    }
)

# --- 2: the peak of a batch that was not measured -------------------------------------

PREDICT = """\
import numpy as np

def predict(batch_sizes, peaks, batch):
    slope, intercept = np.polyfit(batch_sizes, peaks, 1)
    return intercept + slope * batch"""
PREDICT_SLIPS = {
    "does not grow with the batch": [
        {"np.polyfit(batch_sizes, peaks, 1)": "peaks[0] / batch_sizes[0], 0"},
        {"np.polyfit(batch_sizes, peaks, 1)": "peaks[-1] / batch_sizes[-1], 0"},
    ],
    "left out what is there at batch 0": {"intercept + slope": "slope"},
    "the slope first": {"slope, intercept =": "intercept, slope ="},
    "beyond the largest": {
        "slope, intercept = np.polyfit(batch_sizes, peaks, 1)\n": "",
        "intercept + slope * batch": "np.interp(batch, batch_sizes, peaks)",
    },
}
# Batch sizes, MB at batch 0, MB for each image, the batch to predict.
LINES = (
    ((64, 256, 1024), 16.0, 0.25, 512),
    ((8, 16, 32, 64), 400.0, 2.0, 128),
    ((128, 512), 20.0, 0.5, 64),
)


def predict_problem(predict, line):
    """What is wrong with the predicted peak of a step whose peaks lie on this line, or
    None.
    """
    sizes, fixed, each, batch = line
    peaks = [fixed + each * size for size in sizes]
    found, problem = call(predict, list(sizes), list(peaks), batch)
    value = number(found)
    right = fixed + each * batch
    if problem or value is None:
        return problem or f"It returns {describe(found)}: return one number, in MB."
    if near(value, right, 0.02):
        return None
    seen = (
        f"From {peaks} MB at batch {list(sizes)} you predict {value:.4g} MB at {batch}."
    )
    some = [share * batch for share in (peaks[0] / sizes[0], peaks[-1] / sizes[-1])]
    why = (
        (
            near(value, each * batch, 0.02),
            "You left out what is there at batch 0: the intercept.",
        ),
        (near(value, each + fixed * batch, 0.02), "np.polyfit gives the slope first."),
        (
            any(near(value, s, 0.02) for s in some),
            "A part of the peak does not grow with the batch.",
        ),
        (value == peaks[-1], "The line goes on beyond the largest measured batch."),
    )
    return " ".join([seen, *(said for holds, said in why if holds)][:2])


# --- 3: from which batch on 16 bits save memory ---------------------------------------

PAYS = Number(
    2048,
    {
        1024: "That halves the gradients of the activations too. In a chain of equal layers few of"
        " them are there at once.",
        4096: "That is for copies of 4 bytes. In 16 bits a copied weight takes 2.",
        512: "That is the network of this section. Its layers are 512 wide.",
        (
            0,
            1,
        ): "At batch 1 the copies of the weights cost more than the activations save: look at"
        " the left end of the two lines.",
        16_384: "That counts the parameters of all 8 layers and the activations of one.",
        256: "That counts the parameters of one layer and the activations of all 8.",
    },
    accept=lambda value: 2040 <= value <= 2060,
    asked="give one batch size",
    otherwise="At batch {value:g} a layer saves 2 × {value:g} × 2,048 bytes and adds 2 × 2,048²"
    " bytes for its copied weights.",
)

# --- 4: which accuracy is better ------------------------------------------------------

FRACTION = "That standard error is a fraction. Multiply it by 100 to get points."
VERDICT = Fields(
    {
        "standard error": Number(
            0.196,
            accept=lambda value: 0.19 <= value <= 0.205,
            asked="give a number",
            close=0.05,
            wrong={
                (0.0014, 0.00196): FRACTION,
                0.14: "That is the standard error of one accuracy. A difference carries that of"
                " both.",
                0.28: "You add the two standard errors. Add their squares and take the root.",
            },
            otherwise="{value:g} does not fit. For one accuracy p: root of p (1 - p) / n.",
        ),
        "better": Choice(
            "cannot tell",
            {
                "mixed_bfloat16": "They differ by 10 images, 0.10 points; the standard error is"
                " 0.20. Chance alone does that.",
                "float32": "float32 has the lower accuracy here. Compare their distance with its"
                " error.",
            },
            options=("float32", "mixed_bfloat16", "cannot tell"),
        ),
    }
)

EXERCISES = [
    Exercise(
        id=6,
        minutes=2,
        solution=parts({"A": '"steps"', "B": '"batch"', "C": '"order"', "D": '"fair"'}),
        answer=FAIR,
        wrong=[({"A": "steps"}, "key 'B' is missing")],
        hints=[
            "Ask for each: is the policy the only thing that differs?",
            "B has two batch sizes, A two numbers of steps, C two temperatures.",
        ],
        right="One thing differs, and it hits both alike: that is a comparison.",
    ),
    Exercise(
        id=7,
        minutes=3,
        solution=PREDICT,
        name="predict",
        answer=Function(predict_problem, LINES),
        slips=PREDICT_SLIPS,
        wrong=[
            (lambda *given: "many", "one number"),
            (lambda *given: 1 / 0, "ZeroDivisionError"),
        ],
        hints=[
            "The figure above: a line with an intercept and a slope.",
            "`np.polyfit(x, y, 1)` returns slope and intercept of the line through the points.",
        ],
        right="An intercept that training cannot avoid, and a slope that 16 bits halve.",
    ),
    Exercise(
        id=8,
        minutes=2,
        solution="answer = 2 * 2048**2 / (2 * 2048)",
        answer=PAYS,
        wrong=[(100, "At batch 100")],
        hints=[
            "Compare what one layer adds with what one layer saves.",
            "It adds 2 × 2048² bytes. Each image saves 2 × 2048.",
        ],
        right="For layers of one width it is the width. A convolution uses few weights at many"
        " places, so it pays at a few images already.",
    ),
    Exercise(
        id=5,
        minutes=3,
        solution="""\
variance = 0.980 * 0.020 / 10_000 + 0.981 * 0.019 / 10_000
answer = {"standard error": 100 * variance**0.5, "better": "cannot tell"}""",
        answer=VERDICT,
        wrong=[
            ({"standard error": 0.1, "better": "cannot tell"}, "0.1 does not fit"),
            ({"standard error": 0.2, "better": "bfloat16"}, "choose from"),
        ],
        hints=[
            "An accuracy p measured on n images has the variance p (1 - p) / n.",
            "The variances of independent results add up. The standard error is the root.",
        ],
        right="10 images are half a standard error: 10,000 other images may reverse the order.",
    ),
]
