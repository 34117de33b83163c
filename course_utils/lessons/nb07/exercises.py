"""Prediction and exercises of notebook 07."""

from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.exercises.functions import parts
from course_utils.exercises.judges import Fields, Number, choices
from course_utils.lessons.nb07 import judge

TITLE = "Train on many devices without losing the weights"


PREDICTION = Prediction(
    measures=("weights finite after one overflow", "%"),
    example=50,
    parse=within(0, 100),
    wanted="a percentage from 0 to 100",
    respond="You expect {:g} % of the weights to be finite. The measurement comes below.".format,
)

# --- 2: what the two orders send ------------------------------------------------------

WEIGHTS = 1_011_466
DEVICES = 8
GOOD_STEPS = 2_000
SIZE_MB = 4 * WEIGHTS / 1e6  # in float32
SENT_MB = 2 * (DEVICES - 1) / DEVICES * SIZE_MB
ALL_STEPS = GOOD_STEPS + 1
ONLY_ONE = "You gave {value:.6g}. Add up: one for each step that has it."
ORDERS = Fields(
    {
        "check first": Number(
            GOOD_STEPS + ALL_STEPS,
            {
                GOOD_STEPS: "the flag is an all-reduce too, in each step.",
                ALL_STEPS: "the gradients are one all-reduce more, in each step that is taken.",
                2 * ALL_STEPS: "in the step that is skipped no gradients are sent.",
            },
            otherwise=ONLY_ONE,
            close=0,
        ),
        "sum first": Number(
            ALL_STEPS,
            {
                GOOD_STEPS: "that the step is skipped comes out of its sum: it has been paid for.",
                (
                    GOOD_STEPS + ALL_STEPS,
                    2 * ALL_STEPS,
                ): "here nobody asks: the sum of the gradients tells.",
            },
            otherwise=ONLY_ONE,
            close=0,
        ),
        "MB": Number(
            SENT_MB,
            {
                SENT_MB
                / 2: "that is 2 bytes for each gradient, or the way around once. They are"
                " float32, and they go around twice.",
                (7, 7.1): "that is near: give two decimals.",
                SIZE_MB: "that is their size. A ring sends 2 (N − 1) / N times as much.",
                2
                * SIZE_MB: "that is twice their size. Each way around sends 7 of 8 parts.",
                8 * SENT_MB: "that is what all eight send together.",
                SENT_MB * 1e6: "that is in bytes. Divide by 10**6.",
            },
            otherwise="you gave {value:.6g}. How many rounds are there, and how large is a part?",
            close=0.002,
        ),
    }
)

# --- 4: which way fits ----------------------------------------------------------------

OWN = "Keras's own"
CURE = "all decide"
JAX = "Keras on JAX"
NO_SCALE = (
    "there is no loss scale here, so nothing is decided, and nothing can go wrong."
)
FAILS = "section 6 tried that: it fails on TensorFlow, whatever the optimizer."
LOST_BY = "one overflow of another replica, and {}. Who asks the others?"
SMALLER = "it would be right. Which smaller change makes TensorFlow right too?"
PLAN = Fields(
    choices(
        (OWN, CURE, JAX),
        {
            "A": {
                CURE: NO_SCALE,
                JAX: "it would be right. Does anything fail here without?",
            },
            "B": {OWN: LOST_BY.format("the weights are lost"), JAX: SMALLER},
            "C": {OWN: FAILS, CURE: FAILS},
            "D": {
                OWN: LOST_BY.format("the other process waits for good"),
                JAX: SMALLER,
            },
            "E": {OWN: FAILS, CURE: FAILS},
        },
    )
)

# --- 3: how far it scales -------------------------------------------------------------

AGAIN = (
    "you gave {value:.4g}. Add up the step of each first: products, then the exchange."
)
SCALING = Fields(
    {
        "speedup": Number(
            1.5,
            {
                2: "that is the products alone. The exchange takes as long as before.",
                3: "the exchange is part of the mixed step too.",
                2 / 3: "that is mixed over float32. Faster means more than 1.",
            },
            otherwise=AGAIN,
        ),
        "float32": Number(
            200 / 3,
            {(100 / 3, 0.667): "give the share that the device computes, in percent."},
            otherwise=AGAIN,
        ),
        "mixed": Number(
            50,
            {
                (
                    0.5,
                    100,
                ): "give the share of its own step that it computes, in percent.",
                200 / 3: "that is the share in float32.",
            },
            otherwise=AGAIN,
        ),
        "hidden": Number(
            2,
            {
                1.5: "that is without hiding. Each step takes as long as the longer of its parts.",
                3: "float32 hides its exchange too.",
            },
            otherwise="you gave {value:.4g}. Each step takes as long as the longer of its parts.",
        ),
    }
)

EXERCISES = [
    Exercise(
        id=7,
        minutes=5,
        solution=judge.CODE,
        name="check_finite",
        answer=judge.judge,
        slips=judge.SLIPS,
        hints=[
            "`tf.reduce_all(tf.math.is_finite(g))` is the flag of one gradient, and"
            " `tf.reduce_all` of a list joins several.",
            "Cast *not finite* to `tf.float32`, add it up over all replicas, and compare with 0.",
        ],
        right="Nobody returns before the all-reduce, so nobody waits in vain.",
    ),
    Exercise(
        id=8,
        minutes=3,
        solution="""\
answer = {
    "check first": 2001 + 2000,  # flags in all, gradients where the step is taken
    "sum first": 2001,  # the sum tells, and has been sent by then
    "MB": 2 * 7 / 8 * 1_011_466 * 4 / 1e6,  # float32
}""",
        answer=ORDERS,
        hints=[
            "Where is the bar of the gradients in the step that is skipped, and where is none?",
            "In each of 2 (N − 1) rounds a device sends one of N parts. Which dtype do gradients"
            " have where the variables are float32?",
        ],
        right="Check first waits 2,000 times for a short message, and sum first sends 7 MB once"
        " more. If a wait takes a two-thousandth of an exchange, both cost the same.",
    ),
    Exercise(
        id=10,
        minutes=3,
        solution="""\
answer = {
    "speedup": (40 + 20) / (20 + 20),
    "float32": 100 * 40 / (40 + 20),
    "mixed": 100 * 20 / (20 + 20),
    "hidden": max(40, 20) / max(20, 20),
}""",
        answer=SCALING,
        hints=[
            "A step is its products and its exchange, one after the other: 40 + 20 ms in float32.",
            "Hidden, the float32 step takes max(40, 20) ms.",
        ],
        right="In mixed precision the devices are faster and scale worse. Its products are shorter,"
        " so less of an exchange fits beside them.",
    ),
    Exercise(
        id=9,
        minutes=2,
        solution=parts(PLAN.right),
        answer=PLAN,
        hints=[
            "First: does TensorFlow run it at all? Section 6 has the list.",
            "Then: is there a loss scale? Only then something has to be decided by all.",
        ],
        right="Only a loss scale asks whether a step is taken. Where nothing is asked, nothing has"
        " to be agreed on.",
    ),
]
