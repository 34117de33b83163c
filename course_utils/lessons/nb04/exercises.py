"""Prediction and exercises of notebook 04."""

from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.exercises.functions import parts
from course_utils.exercises.judges import Choice, Fields, Number, choices

TITLE = "The MNIST CNN, three ways"


PREDICTION = Prediction(
    measures=("peak memory of a CNN's step", "×"),
    example=0.5,
    parse=within(1e-6, 1.5),
    wanted="a share above 0 and up to 1.5, such as 0.9 for 90 %",
    respond="You expect {:g} times the memory of float32. The measurement comes below.".format,
)

# --- 1: which comparison is fair ------------------------------------------------------

FAULTS = ("fair", "steps", "batch", "order")
LOOK = {  # what to look at in each, and the right answer
    "A": ("steps", "after a minute each, the faster one has made more steps."),
    "B": ("batch", "a larger batch is often faster under float32 too."),
    "C": ("order", "the laptop was cool for the one and warm for the other."),
    "D": ("fair", "same steps, same batch, and a slow minute hits both."),
}
FAIR = Fields(
    choices(
        FAULTS,
        {
            letter: {
                other: f"Look at {letter} again: {why}"
                for other in FAULTS
                if other != right
            }
            for letter, (right, why) in LOOK.items()
        },
    )
)

# --- 2: from how many tokens on 16 bits save memory -----------------------------------

PAYS = Number(
    441,
    {
        658: "You left out the scores. For T tokens each of the 12 heads keeps T × T.",
        622: "That has one score for each pair. Each of the 12 heads keeps its own.",
        52: "That compares with one matrix. The block has 12 × 768² weights.",
        1: "One token keeps 14 × 768 activations, and the block has 12 × 768² weights.",
    },
    close=0.014,
    otherwise="For {value:g} tokens compare 14 × 768 × {value:g} + 12 × {value:g}² activations"
    " with 12 × 768² weights.",
)

# --- 3: which accuracy is better ------------------------------------------------------

FRACTION = "That standard error is a fraction. Multiply it by 100 to get points."
VERDICT = Fields(
    {
        "only float32": Number(
            75,
            {
                15: "That is b − c, the difference. b is 90.",
                105: "mixed_bfloat16 gets more right. So c is smaller than b = 90.",
                9725: "That is how many both get right. c is what float32 gets right alone.",
            },
            otherwise="With {value:g} the two would not differ by 15 images.",
        ),
        "standard error": Number(
            0.128,
            close=0.03,
            wrong={
                0.00128: FRACTION,
                (
                    0.19,
                    0.2,
                ): "That treats the two results as independent. Both models see the"
                " same images: count those that only one gets right.",
                0.095: "That has b alone. Add c before you take the root.",
                (
                    0.038,
                    0.04,
                ): "That is the root of b − c. What only one gets right adds up.",
            },
            otherwise="{value:g} does not fit. It is the root of b + c, divided by n.",
        ),
        "better": Choice(
            "cannot tell",
            {
                "mixed_bfloat16": "They differ by 0.15 points, and the standard error is 0.13."
                " Chance alone does that.",
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
        solution=parts(FAIR.right),
        answer=FAIR,
        hints=[
            "Ask for each: is the policy the only thing that differs?",
            "B has two batch sizes, A two numbers of steps, C two temperatures.",
        ],
        right="In D only the policy differs, and a slow minute hits both policies. A and B answer"
        " another question: what you gain in a minute, or at the largest batch that fits.",
    ),
    Exercise(
        id=8,
        minutes=4,
        solution="""\
tokens = 1
while 14 * 768 * tokens + 12 * tokens**2 < 12 * 768**2:
    tokens += 1
answer = tokens""",
        answer=PAYS,
        wrong=[(100, "For 100 tokens")],
        hints=[
            "With T tokens there are T × T pairs, and each of the 12 heads keeps a score for each.",
            "Find the T at which 14 × 768 × T + 12 × T² reaches 12 × 768².",
        ],
        right="By this sum 512 tokens pay at batch 1, and 256 do not. So it was on our CPU with"
        " dropout in MultiHeadAttention. Without, it keeps scores in float32, and saved little.",
    ),
    Exercise(
        id=5,
        minutes=3,
        solution="""\
b, c, n = 90, 90 - 15, 10_000
error = 100 * (b + c) ** 0.5 / n
answer = {"only float32": c, "standard error": error, "better": "cannot tell"}""",
        answer=VERDICT,
        wrong=[({**VERDICT.right, "standard error": 0.5}, "0.5 does not fit")],
        hints=[
            "The models differ by 15 images: b − c = 15, and b = 90.",
            "The standard error is √(b + c) / n, here √165 / 10,000. Times 100 gives points.",
        ],
        right="0.15 points are a little more than one standard error. That happens by chance.",
    ),
]
