"""Prediction and exercises of notebook 04."""

from .answers import describe
from .engine import Exercise, Prediction
from .judges import Choice, Fields, Number

TITLE = "The MNIST CNN, three ways"


def read_guess(value):
    """Keep a share of float32's memory; 10 to 150 is read as percent."""
    share = value / 100 if 10 <= value <= 150 else value
    if not 0 < share <= 1.5:
        given = describe(value)
        return None, f"You gave {given}: give a share between 0 and 1.5, such as 0.9 for 90 %."
    read = "You expect" if share == value else f"Read as {value:g} %: you expect"
    return share, f"{read} {share:g} times the memory of float32. The measurement comes below."


PREDICTION = Prediction(
    task="""\
`mixed_float16` and `mixed_bfloat16` compute in 16 bits instead of 32. Take one training step of
this CNN with the batch of section 4 (256 images on a CPU). Its peak memory under the 16-bit policy
that needs less is what share of its peak memory under `float32`?

1.0 means the same memory, 0.25 a quarter of it. Guess before you measure.""",
    comment="a share: 1.0 = the same memory, 0.25 = a quarter",
    example=0.5,
    read=read_guess,
)

# The CNN, counted by hand; the tests count it again from the layers.
WEIGHTS = 1_011_466
OUTPUTS = 34_922  # numbers per image that the layers put out

# --- 1: where fixed arrays and activations meet -------------------------------------------------

NEAR = {  # an image more or less, and what it counts
    232: "That is the answer for outputs of 2 bytes. Under float32 each number takes 4.",
    29: "That counts the weights alone. Gradients and Adam's two slots count too.",
    58: "That counts two arrays, and Adam keeps two more, one for each moment. Or it counts the"
    " gradients of the outputs, which are left out here.",
    87: "That counts three arrays. Adam has two slots for each weight.",
    463: "You count an output as one byte. Under float32 it takes 4, like a weight.",
}
CUT_OFF = "You gave {value:g}. Round to the nearest image: the two meet at 115.85."
BATCH = Number(
    116,
    accept=lambda value: 115.8 <= value <= 116,  # or the fraction 115.85
    asked="give one number of images, without quotes",
    rules=tuple(
        (batch, lambda value, batch=batch: abs(value - batch) < 1, message)
        for batch, message in NEAR.items()
    )
    + (
        (0, lambda value: value <= 0, "You gave {value:g}. A batch has at least one image."),
        (115, lambda value: 115 <= value < 115.8, CUT_OFF),
    ),
    otherwise=lambda value: (
        f"At batch {value:g} the outputs take {value * 4 * OUTPUTS / 1e6:.4g} MB and the four"
        " arrays 16.18 MB."
    ),
)

# --- 2: the ideal memory ratio ------------------------------------------------------------------


def ratio(batch):
    """The judge of one batch's ratio, which may be rounded or cut off."""
    fixed, images = 4 * 4 * WEIGHTS, batch * OUTPUTS
    right = (fixed + 2 * WEIGHTS + 2 * images) / (fixed + 4 * images)
    return Number(
        right,
        accept=lambda value: -0.008 <= value - right <= 0.006,
        asked="give a share, such as 0.9",
        otherwise="{value:g} does not fit. Add up the bytes for each policy first.",
        close=0.02,
    )


RATIOS = Fields(
    {128: ratio(128), 1024: ratio(1024)},
    wrong={
        (0.5, 0.5): "Only the layer outputs halve. The four arrays stay in float32.",
        (0.74, 0.55): "Either the 16-bit copy of the weights is missing, 2 bytes for each, or you"
        " halved the gradients, which stay in float32.",
        (0.68, 0.54): "The float32 weights stay, and the 16-bit copy is added to them.",
        (0.695, 0.533): "You count the gradients of the outputs too. They are left out here.",
        (80, 56): "Those are percentages. Give shares, such as 0.9 for 90 %.",
        (1.25, 1.77): "That is float32 divided by the 16-bit policy. Turn it around.",
        (0.2, 0.44): "That is the share that is saved. The ratio is what remains.",
        (0.56, 0.8): "The two are swapped: the larger batch has more that halves.",
        (1.06, 1.01): "You add the 16-bit weights, but the outputs still take 4 bytes.",
    },
)

# --- 3: which accuracy is better ----------------------------------------------------------------

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
        id=3,
        title="where the layer outputs catch up",
        minutes=3,
        task="""\
Training this CNN with Adam keeps four arrays of 1,011,466 numbers each: the weights, their
gradients and two slots. They do not grow with the batch. The outputs of the layers do, and the
backward pass needs them. (Here their gradients, as many bytes again, are left out.)

| layer | numbers it puts out per image |
|---|---|
| convolution, 32 filters | 26 × 26 × 32 = 21,632 |
| max pooling | 13 × 13 × 32 = 5,408 |
| convolution, 64 filters | 11 × 11 × 64 = 7,744 |
| flatten | none: the same bytes in another shape |
| dense, 128 units | 128 |
| dense, 10 units | 10 |
| **together** | **34,922** |

Everything is float32. At which batch size do the layer outputs take as many bytes as the four
arrays? Round to the nearest image.""",
        stub="answer = ...  # images per batch",
        solution="answer = round(4 * 1_011_466 * 4 / (34_922 * 4))",
        answer=BATCH,
        wrong=[(100, "13.97 MB"), ("116", "without quotes")],
        hints=[
            "The four arrays take 4 × 1,011,466 × 4 bytes = 16.18 MB.",
            "One image takes 34,922 × 4 = 139,688 bytes. How many images fill 16.18 MB?",
        ],
        right="Below 116 images the four arrays take more memory, above it the layer outputs do."
        " With the gradients of the outputs it is half as many.",
    ),
    Exercise(
        id=4,
        title="the ideal memory ratio",
        minutes=4,
        task="""\
Now the same CNN under a 16-bit policy. The four arrays of 1,011,466 numbers stay in float32. The
34,922 layer outputs per image take 2 bytes each instead of 4. One thing is new: the layers compute
with a 16-bit copy of the weights, 2 bytes for each. Count the last layer like the others.

Counting these alone, again without the gradients of the outputs, what is the memory under the
16-bit policy divided by the memory under `float32`, for a batch of 128 and of 1024? Two decimals
are enough.""",
        stub="answer = {128: ..., 1024: ...}",
        solution="""\
def ratio(batch):
    fixed = 4 * 4 * 1_011_466
    outputs = batch * 34_922
    return (fixed + 2 * 1_011_466 + 2 * outputs) / (fixed + 4 * outputs)


answer = {128: ratio(128), 1024: ratio(1024)}""",
        answer=RATIOS,
        wrong=[({128: 0.8, 1024: 0.6}, "1024: 0.6"), ({128: 0.8}, "key 1024 is missing")],
        hints=[
            "At batch 128 under float32: 16.18 MB in the four arrays and 17.88 MB of outputs.",
            "Under the 16-bit policy: 16.18 MB + 2.02 MB of copied weights + half of 17.88 MB.",
        ],
        right="Only the layer outputs halve, so the ratio nears one half where they dominate.",
    ),
    Exercise(
        id=5,
        title="is it more accurate",
        minutes=3,
        task="""\
On 10,000 test images the `float32` model reaches 98.0 % and the `mixed_bfloat16` model 98.1 %.
What is the standard error of the difference, in percentage points, if you treat the two results
as independent? Two decimals are enough. And which model is better: `"float32"`,
`"mixed_bfloat16"` or `"cannot tell"`?""",
        stub='answer = {"standard error": ..., "better": ...}',
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
