"""Prediction and exercises of notebook 07."""

from . import replicas, wire
from .answers import near
from .engine import Exercise, Prediction, percentage
from .functions import stub
from .judges import Fields, Number, nearly

TITLE = "Train on many devices without losing the weights"

PREDICTION = Prediction(
    task="""\
Two replicas train one model under `mixed_float16`, each on its half of every batch. Keras's own
`LossScaleOptimizer` looks for overflows, as it does on one device. In some steps the gradient
overflows on one of the two replicas, as often on the first as on the second.

After how many percent of these steps are all weights still finite numbers? Guess before you run
any code; section 3 measures it.""",
    comment="percent of these steps, 100 = all",
    example=100,
    read=percentage(
        "You expect the weights to stay finite in {value:g} % of these steps.",
        ", such as 90 for nine in ten",
        section=3,
    ),
)

# --- 1: one overflow on four replicas -----------------------------------------------------------

SCALE = 2**15
SEPARATE = "Three that move and one that stays have different weights from then on."

AFTER = {"Keras steps": 4, "Keras scale": SCALE, "cure steps": 0, "cure scale": SCALE // 2}
NOT_AFTER = {
    "Keras steps": {
        3: f"{SEPARATE} Keras takes one flag for all: whose?",
        1: "Nobody steps alone: Keras takes one flag for all four. Whose?",
        0: "So it should be. Keras looks at one replica only, and that one has no overflow.",
    },
    "Keras scale": {
        SCALE // 2: "The scale is halved where the step is skipped. Does Keras skip it here?",
        SCALE // 16: "That halves it once for each replica, and Keras sees no overflow here.",
    },
    "cure steps": {
        3: f"{SEPARATE} All four have to do the same.",
        4: "So infinity reaches the sum, and with it the weights of all four.",
        1: "All four have to do the same. What is right when one gradient is not finite?",
    },
    "cure scale": {
        SCALE: "An overflow was seen and the step is skipped, so the scale has to move.",
        SCALE // 16: "That halves it once for each replica. It is one decision, so one halving.",
    },
}
OTHERWISE = {
    "steps": "you gave {value:.6g}; give how many of the four replicas step.",
    "scale": "you gave {value:.6g}; from 32,768 it is doubled, halved or left.",
}
FLAGS = Fields(
    {
        name: Number(right, NOT_AFTER[name], otherwise=OTHERWISE[name.split()[1]], close=0)
        for name, right in AFTER.items()
    },
    wrong={
        (0, SCALE // 2, 4, SCALE): "Keras's own and the cure are swapped. Which of the two misses"
        " the overflow?"
    },
)

# --- 2: bytes on the wire -----------------------------------------------------------------------

WEIGHTS, DEVICES = 1_011_466, 4
SIZE = 4 * WEIGHTS / 1e6  # MB in float32
SENT = 2 * (DEVICES - 1) / DEVICES * SIZE
RING = Number(
    SENT,
    accept=lambda value: near(value, SENT, 0.003),
    close=0.006,
    asked="give one number, without quotes or units",
    wrong={
        SENT / 2: "That is 2 bytes for each gradient, or the way around once. The gradients are"
        " float32, and they go around twice.",
        SIZE: "That is the size of the gradients. A ring sends 2 (N − 1) / N times as much.",
        2 * SIZE: "That is twice the size. In each way around a device sends 3 of the 4 parts.",
        3 * SIZE: "That is all for each of the three others, or sent and received. Count one ring.",
        4 * SENT: "That is what all four send together. What does one of them send?",
        SIZE / 2: "That is the size in float16. The tape gives float32 gradients for the weights.",
        SIZE / 4: "That is one part of four. How many parts does a device send?",
        SENT * 1e6: "That is in bytes. Divide by 10**6.",
        4 * SIZE: "That is the gradients of all four devices. What does one of them send?",
    },
    rules=(nearly(6, SENT, 0.02),),
    otherwise="You gave {value:.6g}. How many rounds are there, and how large is a part?",
)

EXERCISES = [
    Exercise(
        id=1,
        title="one overflow on four replicas",
        minutes=3,
        task="""\
Four replicas train under `MirroredStrategy`, and the loss scale is 32,768. In one step the
gradients of replicas 0, 2 and 3 are finite, and those of replica 1 are not: T F T T.

How many of the four replicas change their weights in this step, and what is the loss scale after
it? Answer for Keras's own `LossScaleOptimizer`, and for the cure, `AllDecide`.""",
        stub="""\
answer = {
    "Keras steps": ...,  # replicas that change their weights
    "Keras scale": ...,
    "cure steps": ...,
    "cure scale": ...,
}""",
        solution="""\
answer = {
    "Keras steps": 4,  # the flag of replica 0 decides for all
    "Keras scale": 32768,
    "cure steps": 0,  # one overflow anywhere, and nobody steps
    "cure scale": 32768 / 2,
}""",
        answer=FLAGS,
        hints=[
            "In both, all four replicas do the same. Keras's own looks at one flag only: whose?",
            "Keras's own takes the flag of replica 0, which is T. The cure asks all four.",
        ],
        right="With F T T T Keras's own is right too: the overflow is on the replica that it looks"
        " at.",
    ),
    Exercise(
        id=2,
        title="bytes on the wire",
        minutes=3,
        task="""\
The CNN of notebook 04 has 1,011,466 weights. Four devices train it under `mixed_float16`, and after
each backward pass a ring all-reduce adds up the gradients that the tape gives for the weights. How
many MB (10⁶ bytes) does each device send in a step? Give two decimals.""",
        stub="answer = ...",
        solution="""\
devices = 4
size = 1_011_466 * 4 / 1e6  # MB: the gradients of the variables are float32
answer = 2 * (devices - 1) / devices * size""",
        answer=RING,
        hints=[
            "Which dtype do the gradients have where the variables are float32?",
            "In each of 2 (N − 1) rounds a device sends one of N parts.",
        ],
        right="With very many devices it comes close to 8.09 MB, twice the size, and stays below.",
    ),
    Exercise(
        id=7,
        title="a check on which all agree",
        minutes=4,
        task="""\
Write in NumPy what decides for `AllDecide`. `gradients` is a list with one entry for each replica,
and each entry is a list of arrays, one for each weight. `check_finite(gradients)` returns a list of
flags, one for each replica: True if that replica takes the step.

If all gradients of all replicas are finite, all take it. With one overflow anywhere, infinity or
NaN, nobody does.""",
        stub=stub(replicas.CODE, "return one flag for each replica"),
        solution=replicas.CODE,
        name="check_finite",
        answer=replicas.judge,
        slips=replicas.SLIPS
        | {
            "Return as many flags as": {"* len(gradients)": ""},
            "Your replicas do not agree.": {"* len(gradients)": "+ [False] * (len(gradients) - 1)"},
            "True: a list with one flag": {"[all(": "all(", "] * len(gradients)": ""},
        },
        hints=[
            "`np.isfinite(array).all()` is the flag of one array. Decide once, from all.",
            "`[flag] * len(gradients)` gives each replica the same flag.",
        ],
        right="Replicas that start alike and decide alike stay alike, whatever overflows. The sum"
        " of all gradients tells the same: infinity and NaN survive it.",
    ),
    Exercise(
        id=5,
        title="gradients in 16 bits",
        minutes=4,
        task="""\
To send less, two replicas cast their gradients to 16 bits. Three true gradients are 0.1, 1.5 and
1e-13, the same on both replicas. The loss scale is 32,768. Each replica casts its gradient of the
scaled loss, the two casts are added up in the same dtype, and the sum is divided by the scale in
`float32`. Exact would be 0.2, 3 and 2e-13.

Which three numbers come out with `float16`, and which with `bfloat16`? Give five digits; infinity
is `float("inf")`. In NumPy `bfloat16` is `ml_dtypes.bfloat16`.""",
        stub='answer = {"float16": ..., "bfloat16": ...}  # lists of three numbers',
        solution="""\
import ml_dtypes
import numpy as np

scaled = np.float32([0.1, 1.5, 1e-13]) * np.float32(32768)
answer = {}
for dtype in (np.float16, ml_dtypes.bfloat16):
    sent = scaled.astype(dtype)
    with np.errstate(over="ignore"):  # no warning about infinity
        total = sent + sent
    answer[np.dtype(dtype).name] = total.astype(np.float32) / 32768""",
        answer=wire.WIRE,
        hints=[
            "`(np.float32(0.1) * 32768).astype(np.float16)` is what one replica sends of the first"
            " gradient.",
            "The largest `float16` is 65,504, and half of its smallest is about 3e-8.",
        ],
        right="float16 keeps more digits; bfloat16 has the range of float32, so nothing overflows.",
    ),
]
