"""Prediction and exercises of notebook 00.

Example: `exercises.load("00")[2].check(0.137)`
"""

from .answers import describe, missing_key, near, number
from .engine import Exercise, Prediction

TITLE = "Start here"


def read_guess(value):
    """Keep a speedup between 0.01 and 100.

    >>> read_guess(2.0)
    (2.0, 'You expect 2 times the speed of float32. The measurement comes below.')
    """
    if 10 <= value <= 100:
        return None, f"You gave {value:g}: if you mean {value:g} %, write {value / 100:g}."
    if not 0.01 <= value <= 100:
        return (
            None,
            (
                f"You gave {describe(value)}: a speedup lies between 0.01 and 100, and 1.0 means"
                " the same speed."
            ),
        )
    return value, f"You expect {value:g} times the speed of float32. The measurement comes below."


PREDICTION = Prediction(
    task="""\
Some number formats in this course take 16 bits instead of float32's 32. How many times faster does
one training step get on **this** machine with the better of the two 16-bit policies, compared with
float32?

1.0 means the same speed, 2.0 twice as fast, 0.5 half as fast. Guess before you measure: a wrong
guess teaches more than none.""",
    stub="guess = ...  # 1.0 = as fast as float32, 0.5 = half as fast\nq.predict(guess)",
    solution="guess = 2.0\nq.predict(guess)",
    read=read_guess,
)

# --- 1: a policy for each machine ---------------------------------------------------------------

POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")
FASTEST = {
    "T4": ("mixed_float16",),
    "A100": ("mixed_float16", "mixed_bfloat16"),
    "AVX2 laptop": ("float32",),
    "TPU": ("mixed_bfloat16",),
}
WHY_NOT = {
    (
        "T4",
        "mixed_bfloat16",
    ): "its compute capability is 7.5, which has no bfloat16 units; they start at 8.0.",
    ("T4", "float32"): "it has Tensor Cores for float16, and float32 leaves them idle.",
    ("A100", "float32"): "its Tensor Cores run 16-bit products faster than float32 ones.",
    ("AVX2 laptop", "mixed_float16"): (
        "float16 goes a slow way on this CPU. float32 is fastest, and the 16-bit numerics stay the"
        " same to study."
    ),
    ("AVX2 laptop", "mixed_bfloat16"): (
        "a CPU's fast way for bfloat16 needs AVX-512 or newer; AVX2 alone converts back and forth."
    ),
    ("TPU", "mixed_float16"): "its matrix units take bfloat16, not float16.",
    ("TPU", "float32"): "its matrix units are built for bfloat16, and float32 moves more bytes.",
}


def check_policies(answer):
    """Compare a dictionary machine -> policy with what each machine runs fastest.

    >>> check_policies(dict.fromkeys(FASTEST, "mixed_float16"))[:33]
    'AVX2 laptop: not `mixed_float16`,'
    """
    if problem := missing_key(answer, list(FASTEST)):
        return problem
    for machine, fastest in FASTEST.items():
        policy = answer[machine]
        if isinstance(policy, str):
            policy = policy.strip().lower()
        if not isinstance(policy, str) or policy not in POLICIES:
            hint = "one policy name as text is needed"
            if isinstance(policy, str) and policy in ("float16", "bfloat16"):
                hint = "that one also stores its weights in 16 bits"
            names = ", ".join(POLICIES)
            return f"{machine}: you gave {describe(policy)}; {hint}. Choose from {names}."
        if policy not in fastest:
            return f"{machine}: not `{policy}`, because {WHY_NOT[machine, policy]}"
    return None


RIGHT_POLICIES = {
    "T4": "mixed_float16",
    "A100": "mixed_bfloat16",
    "AVX2 laptop": "float32",
    "TPU": "mixed_bfloat16",
}

# --- 2: the speedup -----------------------------------------------------------------------------

SPEEDUP = 128 / 936
NOT_THE_SPEEDUP = [  # answers that share a mistake, and what to say
    ([7.3125], "That is the slowdown, 936 / 128. A speedup is time before over time after."),
    ([1 - SPEEDUP, 100 - 100 * SPEEDUP], "That is by how much the speed falls. Give what remains."),
    ([100 * SPEEDUP], "That is the speedup in percent. Give the ratio, such as 0.5 for half."),
    ([6.3125, 631.25], "That is the extra time as a share of 128 ms. Divide the two times."),
    ([808, -808], "That is the difference in ms. A speedup is a ratio and has no unit."),
    ([731.25], "That is the time after, in percent of the time before. Turn the ratio around."),
]


def check_speedup(answer):
    """Accept 128 / 936, rounded to two decimals or cut off.

    >>> check_speedup(0.14), check_speedup(7.3)[:22]
    (None, 'That is the slowdown, ')
    """
    value = number(answer)
    if value is None:
        return f"You gave {describe(answer)}: give one number without quotes, such as 1.5."
    if 0.13 <= value <= 0.14:
        return None
    for results, message in NOT_THE_SPEEDUP:
        if any(near(value, result) for result in results):
            return message
    if value < 0:
        return "That is a relative change. A speedup is the time before over the time after."
    if value == 0:
        return "You gave 0; a ratio of two times is positive. Divide with `/`, not `//`."
    if value >= 1:
        return f"You gave {value:g}. The step takes longer than before, so its speedup is below 1."
    return f"You gave {value:g}, on the right side of 1. Divide the float32 time by the other one."


# --- 3: megabytes -------------------------------------------------------------------------------

MEGABYTES = {"float32": 4, "TF32": 4, "float16": 2, "bfloat16": 2}


def check_megabytes(answer):
    """Compare a dictionary format -> MB of 1000 × 1000 numbers with four and two bytes each.

    >>> check_megabytes({"float32": 4, "TF32": 2.4, "float16": 2, "bfloat16": 2})[:36]
    'TF32 is a way to multiply; the numbe'
    """
    if problem := missing_key(answer, list(MEGABYTES)):
        return problem
    given = {name: number(answer[name]) for name in MEGABYTES}
    for name, value in given.items():
        if value is None:
            return f"{name}: you gave {describe(answer[name])}; give a number of MB."
    if all(near(given[name], right) for name, right in MEGABYTES.items()):
        return None
    if 2 < given["TF32"] < 4 and near(given["float32"], 4):
        return "TF32 is a way to multiply; the number is stored as float32, in 4 bytes."
    if near(given["float32"], 4e6 / 2**20):
        return "Those are MiB, of 1,048,576 bytes. Here an MB is 1,000,000 bytes."
    if near(given["float32"], 4e6):
        return "Those are bytes. Divide by 1,000,000 to get MB."
    if near(given["float32"], 4e3):
        return "Those are kB. Divide by 1,000 once more."
    if near(given["float32"], 32):
        return "Those are bits. A byte has 8 of them."
    if near(given["float32"], 8):
        return "8 bytes each is float64, which is Python's own float. A float32 has 32 bits."
    if near(given["TF32"], 2):
        return "TF32 does not save memory: a stored float32 is rounded on its way into the units."
    wrong = next(name for name, right in MEGABYTES.items() if not near(given[name], right))
    return f"{wrong}: you gave {given[wrong]:g}. Multiply a million by the bytes of one number."


EXERCISES = [
    Exercise(
        number=1,
        title="a policy for each machine",
        task="""\
You train a model with large layers. Which policy makes a training step fastest on each machine:
`"float32"`, `"mixed_float16"` or `"mixed_bfloat16"`?

- **T4**: a GPU with compute capability 7.5
- **A100**: a GPU with compute capability 8.0
- **AVX2 laptop**: a CPU that has AVX2 and not AVX-512, and no GPU
- **TPU**: Google's accelerator

Where two are equally good, either counts.""",
        stub="""\
answer = {
    "T4": ...,
    "A100": ...,
    "AVX2 laptop": ...,
    "TPU": ...,
}
q[1].check(answer)""",
        solution="""\
answer = {
    "T4": "mixed_float16",
    "A100": "mixed_bfloat16",  # mixed_float16 is as fast
    "AVX2 laptop": "float32",
    "TPU": "mixed_bfloat16",
}
q[1].check(answer)""",
        checker=check_policies,
        hints=[
            "Data-center GPUs have float16 Tensor Cores from 7.0 and bfloat16 ones from 8.0.",
            "A format is fast only where the chip has units for it. Elsewhere it is converted.",
        ],
        wrong=[
            ({**RIGHT_POLICIES, machine: policy}, WHY_NOT[machine, policy])
            for machine, policy in WHY_NOT
        ]
        + [
            ({**RIGHT_POLICIES, "TPU": "bfloat16"}, "stores its weights in 16 bits"),
            ({**RIGHT_POLICIES, "T4": "fp16"}, "one policy name as text"),
        ],
        right="Each machine is fastest in the format that its multipliers are built for.",
    ),
    Exercise(
        number=2,
        title="a speedup below one",
        task="""\
On one CPU a training step takes 128 ms under `float32` and 936 ms under `mixed_float16`.
What is the speedup of `mixed_float16`? Two decimals are enough.""",
        stub="answer = ...  # a ratio\nq[2].check(answer)",
        solution="answer = 128 / 936\nq[2].check(answer)",
        checker=check_speedup,
        hints=[
            "A speedup of 2 means half the time, 1 the same time. On which side of 1 is this one?",
            "Speedup = time before / time after.",
        ],
        wrong=[(results[0], message) for results, message in NOT_THE_SPEEDUP]
        + [
            (-0.86, "relative change"),
            (0, "is positive"),
            (0.5, "right side of 1"),
            (2, "is below 1"),
        ],
        right="128 / 936 = 0.137: the 16-bit step takes 7.3 times as long on that CPU.",
    ),
    Exercise(
        number=3,
        title="bytes in memory",
        task="""\
How many megabytes (1 MB = 1,000,000 bytes) does a tensor of 1000 × 1000 numbers take in memory in
each format? TF32 is the format in which many GPUs multiply float32 matrices: 1 sign bit,
8 exponent bits and 10 fraction bits.""",
        stub="""\
answer = {"float32": ..., "TF32": ..., "float16": ..., "bfloat16": ...}
q[3].check(answer)""",
        solution="""\
answer = {"float32": 4, "TF32": 4, "float16": 2, "bfloat16": 2}
q[3].check(answer)""",
        checker=check_megabytes,
        hints=[
            "The digits in float32, float16 and bfloat16 count bits. A byte is 8 bits.",
            "No tensor has the dtype TF32. As what is a number stored before it is multiplied?",
        ],
        wrong=[
            ({**MEGABYTES, "TF32": 2.4}, "a way to multiply"),
            ({**MEGABYTES, "TF32": 2}, "does not save memory"),
            ({name: value * 1e6 / 2**20 for name, value in MEGABYTES.items()}, "MiB"),
            ({name: value * 1e6 for name, value in MEGABYTES.items()}, "Those are bytes"),
            ({name: value * 1e3 for name, value in MEGABYTES.items()}, "Those are kB"),
            ({"float32": 32, "TF32": 32, "float16": 16, "bfloat16": 16}, "Those are bits"),
            ({"float32": 8, "TF32": 8, "float16": 4, "bfloat16": 4}, "float64"),
            ({**MEGABYTES, "bfloat16": 4}, "bfloat16: you gave 4"),
        ],
        right="float16 and bfloat16 halve the memory; TF32 saves time alone.",
    ),
]
