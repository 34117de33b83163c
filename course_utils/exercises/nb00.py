"""Prediction and exercises of notebook 00."""

from .answers import describe, near
from .engine import Exercise, Prediction
from .functions import parts
from .judges import Choice, Fields, Number

TITLE = "Start here"


def read_guess(value):
    """Keep a speedup between 0.01 and 100."""
    if 10 <= value <= 100:
        return None, f"You gave {value:g}: if you mean {value:g} %, write {value / 100:g}."
    if not 0.01 <= value <= 100:
        given = describe(value)
        range_of_it = "a speedup lies between 0.01 and 100, and 1.0 means the same speed."
        return None, f"You gave {given}: {range_of_it}"
    return value, f"You expect {value:g} times the speed of float32. The measurement comes below."


PREDICTION = Prediction(
    task="""\
Some number formats in this course take 16 bits instead of float32's 32. How many times faster does
one training step get on **this** machine with the better of the two 16-bit policies, compared with
float32?

1.0 means the same speed, 2.0 twice as fast, 0.5 half as fast. Guess before you measure: a wrong
guess teaches more than none.""",
    comment="1.0 = as fast as float32, 0.5 = half as fast",
    example=2.0,
    read=read_guess,
)

# --- 1: a policy for each machine ---------------------------------------------------------------


def policy(right, also=(), **why_not):
    """The judge of one machine's policy; `why_not` says why each other one is not the fastest."""
    stores = "that one also stores its weights in 16 bits; choose mixed_{value}."
    wrong = {f"mixed_{name}" if name != "float32" else name: f"not `{{value}}`, because {why}"
             for name, why in why_not.items()}  # fmt: skip
    wrong |= dict.fromkeys([("float16", "bfloat16")], stores)
    names = ("float32", "mixed_float16", "mixed_bfloat16")
    asked = f"one policy name as text is needed. Choose from {', '.join(names)}"
    return Choice(right, wrong, options=(*names, "float16", "bfloat16"), also=also, asked=asked)


MACHINES = {
    "T4": policy(
        "mixed_float16",
        bfloat16="its compute capability is 7.5, which has no bfloat16 units; they start at 8.0.",
        float32="it has Tensor Cores for float16, and float32 leaves them idle.",
    ),
    "A100": policy(
        "mixed_float16",
        also=("mixed_bfloat16",),
        float32="its Tensor Cores run 16-bit products faster than float32 ones.",
    ),
    "AVX2 laptop": policy(
        "float32",
        float16="float16 goes a slow way on this CPU. float32 is fastest, and the 16-bit numerics"
        " stay the same to study.",
        bfloat16="a CPU's fast way for bfloat16 needs AVX-512 or newer; AVX2 alone converts back"
        " and forth.",
    ),
    "TPU": policy(
        "mixed_bfloat16",
        float16="its matrix units take bfloat16, not float16.",
        float32="its matrix units are built for bfloat16, and float32 moves more bytes.",
    ),
}

# --- 2: the speedup -----------------------------------------------------------------------------

SPEEDUP = Number(
    128 / 936,
    accept=lambda value: 0.13 <= value <= 0.14,  # rounded to two decimals, or cut off
    asked="give one number without quotes, such as 1.5",
    wrong={
        936 / 128: "That is the slowdown, 936 / 128. A speedup is time before over time after.",
        (1 - 128 / 936, 100 - 12800 / 936): "That is by how much the speed falls. Give what"
        " remains.",
        12800 / 936: "That is the speedup in percent. Give the ratio, such as 0.5 for half.",
        (6.3125, 631.25): "That is the extra time as a share of 128 ms. Divide the two times.",
        (808, -808): "That is the difference in ms. A speedup is a ratio and has no unit.",
        731.25: "That is the time after, in percent of the time before. Turn the ratio around.",
        0: "You gave 0; a ratio of two times is positive. Divide with `/`, not `//`.",
    },
    rules=(
        (
            -0.86,
            lambda value: value < 0,
            "That is a relative change. A speedup is the time before over the time after.",
        ),
        (
            2,
            lambda value: value >= 1,
            "You gave {value:g}. The step takes longer than before, so its speedup is below 1.",
        ),
    ),
    otherwise="You gave {value:g}, on the right side of 1. Divide the float32 time by the other"
    " one.",
)

# --- 3: megabytes -------------------------------------------------------------------------------

MEGABYTES = {"float32": 4, "TF32": 4, "float16": 2, "bfloat16": 2}
TF32 = "TF32 is a way to multiply; the number is stored as float32, in 4 bytes."
HALF = "TF32 does not save memory: a stored float32 is rounded on its way into the units."
UNITS = {  # a factor of all four numbers, and what it comes of
    1e6 / 2**20: "Those are MiB, of 1,048,576 bytes. Here an MB is 1,000,000 bytes.",
    1e6: "Those are bytes. Divide by 1,000,000 to get MB.",
    1e3: "Those are kB. Divide by 1,000 once more.",
    8: "Those are bits. A byte has 8 of them.",
    2: "8 bytes each is float64, which is Python's own float. A float32 has 32 bits.",
}


def in_unit(factor, message):
    """An answer in another unit, the condition that its first number is in it, and the message."""
    example = {name: factor * mb for name, mb in MEGABYTES.items()}
    return example, lambda given: near(given["float32"], 4 * factor), message


OTHER_SIZE = "you gave {value:g}. Multiply a million by the bytes of one number."
SIZES = Fields(
    {name: Number(mb, otherwise=OTHER_SIZE) for name, mb in MEGABYTES.items()},
    together=(
        (
            MEGABYTES | {"TF32": 2.4},
            lambda given: 2 < given["TF32"] < 4 and near(given["float32"], 4),
            TF32,
        ),
        *(in_unit(*each) for each in UNITS.items()),
        (MEGABYTES | {"TF32": 2}, lambda given: near(given["TF32"], 2), HALF),
    ),
)

EXERCISES = [
    Exercise(
        id=1,
        title="a policy for each machine",
        minutes=3,
        task="""\
You train a model with large layers. Which policy makes a training step fastest on each machine:
`"float32"`, `"mixed_float16"` or `"mixed_bfloat16"`?

- **T4**: a GPU with compute capability 7.5
- **A100**: a GPU with compute capability 8.0
- **AVX2 laptop**: a CPU that has AVX2 and not AVX-512, and no GPU
- **TPU**: Google's accelerator

Where two are equally good, either counts.""",
        stub=parts(dict.fromkeys(MACHINES, "...")),
        solution="""\
answer = {
    "T4": "mixed_float16",
    "A100": "mixed_bfloat16",  # mixed_float16 is as fast
    "AVX2 laptop": "float32",
    "TPU": "mixed_bfloat16",
}""",
        answer=Fields(MACHINES),
        wrong=[({**Fields(MACHINES).right, "T4": "fp16"}, "one policy name as text")],
        hints=[
            "Data-center GPUs have float16 Tensor Cores from 7.0 and bfloat16 ones from 8.0.",
            "A format is fast only where the chip has units for it. Elsewhere it is converted.",
        ],
        right="Each machine is fastest in the format that its multipliers are built for.",
    ),
    Exercise(
        id=2,
        title="a speedup below one",
        minutes=1,
        task="""\
On one CPU a training step takes 128 ms under `float32` and 936 ms under `mixed_float16`.
What is the speedup of `mixed_float16`? Two decimals are enough.""",
        stub="answer = ...  # a ratio",
        solution="answer = 128 / 936",
        answer=SPEEDUP,
        wrong=[(0.5, "right side of 1")],
        hints=[
            "A speedup of 2 means half the time, 1 the same time. On which side of 1 is this one?",
            "Speedup = time before / time after.",
        ],
        right="128 / 936 = 0.137: the 16-bit step takes 7.3 times as long on that CPU.",
    ),
    Exercise(
        id=3,
        title="bytes in memory",
        minutes=2,
        task="""\
How many megabytes (1 MB = 1,000,000 bytes) does a tensor of 1000 × 1000 numbers take in memory in
each format? TF32 is the format in which many GPUs multiply float32 matrices: 1 sign bit,
8 exponent bits and 10 fraction bits.""",
        stub='answer = {"float32": ..., "TF32": ..., "float16": ..., "bfloat16": ...}',
        solution='answer = {"float32": 4, "TF32": 4, "float16": 2, "bfloat16": 2}',
        answer=SIZES,
        wrong=[({**MEGABYTES, "bfloat16": 4}, "bfloat16: you gave 4")],
        hints=[
            "The digits in float32, float16 and bfloat16 count bits. A byte is 8 bits.",
            "No tensor has the dtype TF32. As what is a number stored before it is multiplied?",
        ],
        right="float16 and bfloat16 halve the memory; TF32 saves time alone.",
    ),
]
