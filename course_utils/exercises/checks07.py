"""How the answers to exercises 1 to 3 of notebook 07 are judged."""

from .answers import describe, missing_key, near, number

# --- 1: one overflow on four replicas -----------------------------------------------------------

SCALE = 2**15
FLAGS = {"Keras steps": 4, "Keras scale": SCALE, "cure steps": 0, "cure scale": SCALE // 2}
SEPARATE = "Three that move and one that stays have different weights from then on."
NOT_THE_FLAGS = {  # key: {number: what to say}
    "Keras steps": {
        3: f"{SEPARATE} Keras takes one flag for all: whose?",
        1: "Nobody steps alone: Keras takes one flag for all four. Whose?",
        0: "So it should be. Keras looks at one replica only, and that one has no overflow.",
    },
    "Keras scale": {
        SCALE // 2: "The scale is halved where the step is skipped. Does Keras skip it here?",
        SCALE // 16: "That halves it once for each replica, and Keras sees no overflow here.",
        2 * SCALE: "It doubles after 2,000 good steps, and this is one.",
    },
    "cure steps": {
        3: f"{SEPARATE} All four have to do the same.",
        4: "So infinity reaches the sum, and with it the weights of all four.",
        1: "All four have to do the same. What is right when one gradient is not finite?",
    },
    "cure scale": {
        SCALE: "An overflow was seen and the step is skipped, so the scale has to move.",
        SCALE // 16: "That halves it once for each replica. It is one decision, so one halving.",
        SCALE // 4: "That halves it twice. One step is skipped, so it is halved once.",
        2 * SCALE: "It doubles after many good steps. An overflow makes it smaller.",
    },
}


def check_flags(answer):
    """Compare a dictionary with `FLAGS`.

    >>> check_flags({**FLAGS, "cure steps": 4})[:20]
    'cure steps: So infin'
    """
    if problem := missing_key(answer, list(FLAGS)):
        return problem
    given = {key: number(answer[key]) for key in FLAGS}
    for key, value in given.items():
        if value is None:
            return f"{key}: you gave {describe(answer[key])}; give one number."
    if list(given.values()) == [0, SCALE // 2, 4, SCALE]:
        return "Keras's own and the cure are swapped. Which of the two misses the overflow?"
    for key, right in FLAGS.items():
        if given[key] == right:
            continue
        if given[key] in NOT_THE_FLAGS[key]:
            return f"{key}: {NOT_THE_FLAGS[key][given[key]]}"
        if key.endswith("steps"):
            return f"{key}: you gave {given[key]:.6g}; give how many of the four replicas step."
        return f"{key}: you gave {given[key]:.6g}; from 32,768 it is doubled, halved or left."
    return None


# --- 2: bytes on the wire -----------------------------------------------------------------------

WEIGHTS, DEVICES = 1_011_466, 4
SIZE = 4 * WEIGHTS / 1e6  # MB in float32
RING = 2 * (DEVICES - 1) / DEVICES * SIZE
NOT_THE_RING = [  # (number, what to say)
    (
        RING / 2,
        "That is 2 bytes for each gradient, or the way around once. The gradients are float32, and"
        " they go around twice.",
    ),
    (SIZE, "That is the size of the gradients. A ring sends 2 (N − 1) / N times as much."),
    (2 * SIZE, "That is twice the size. In each way around a device sends 3 of the 4 parts."),
    (3 * SIZE, "That is all for each of the three others, or sent and received. Count one ring."),
    (4 * RING, "That is what all four send together. What does one of them send?"),
    (SIZE / 2, "That is the size in float16. The tape gives float32 gradients for the weights."),
    (SIZE / 4, "That is one part of four. How many parts does a device send?"),
    (RING / 4, "That is how many million numbers it sends. Each takes 4 bytes."),
    (RING / 1.048576, "That is in MiB, of 2**20 bytes. A MB is 10**6 bytes."),
    (RING * 1e6, "That is in bytes. Divide by 10**6."),
    (RING * 1e3, "That is in kB. Divide by 1,000."),
    (8 * RING, "That is in megabits. A byte is 8 bits."),
    (4 * SIZE, "That is the gradients of all four devices. What does one of them send?"),
    (SIZE * 4 / 3, "That is for three devices. Here N is 4."),
    (SIZE * 5 / 2, "That takes N + 1. It is N − 1: a device has one part of its own."),
]


def check_ring(answer):
    """Accept the megabytes to within 0.3 percent.

    >>> check_ring(6.07), check_ring(4.05)[:32]
    (None, 'That is the size of the gradient')
    """
    value = number(answer)
    if value is None:
        return f"You gave {describe(answer)}: give one number, without quotes or units."
    if near(value, RING, 0.003):
        return None
    for wrong, message in NOT_THE_RING:
        if near(value, wrong, 0.006):
            return message
    if near(value, RING, 0.02):
        return f"You gave {value:.4g}. That is near: give two decimals."
    return f"You gave {value:.6g}. How many rounds are there, and how large is a part?"


# --- 3: two workers decide alone ----------------------------------------------------------------

BAD_STEP = 4
WORKERS = {"worker 0": BAD_STEP - 1, "worker 1": BAD_STEP, "then": "hang"}
ENDINGS = {
    "to the end": "Worker 0 comes to the sum of step 4, and worker 1 does not. Can the sum end?",
    "nan": "Worker 1 skips the step, so its infinity is in no sum. Does the sum of step 4 end?",
    "error": "No worker gets an error. Worker 0 waits for gradients that never come.",
    "hang": None,
}
NOT_FINISHED = {
    "worker 0": {
        4: "Its gradients are finite, so it comes to the sum of step 4. Who else does?",
        5: "It does not get that far: in step 4 it comes to a sum that needs both workers.",
        9: "It needs the other worker in each sum. Who comes to that of step 4?",
        2: "Step 3 is like those before it, and both workers come to its sum.",
        0: "In steps 0 to 3 nothing overflows, and both workers finish them.",
    },
    "worker 1": {
        3: "It skips step 4 and comes to no sum, so nothing keeps it there.",
        5: "In step 5 its gradients are finite and it comes to a sum. Where is worker 0 then?",
        9: "After the skipped step it comes to sums again, and they need worker 0.",
        0: "In steps 0 to 3 nothing overflows, and both workers finish them.",
    },
}


def check_workers(answer):
    """Compare a dictionary with `WORKERS`.

    >>> check_workers({**WORKERS, "then": "NaN"})[:30]
    'then: Worker 1 skips the step,'
    """
    if problem := missing_key(answer, list(WORKERS)):
        return problem
    ending = answer["then"]
    name = ending.strip().lower() if isinstance(ending, str) else None
    if name not in ENDINGS:
        return (
            f"then: you gave {describe(ending)}; choose one of 'to the end', 'NaN', 'error',"
            " 'hang'."
        )
    if ENDINGS[name]:
        return f"then: {ENDINGS[name]}"
    given = {key: number(answer[key]) for key in NOT_FINISHED}
    if given == {"worker 0": BAD_STEP, "worker 1": BAD_STEP - 1}:
        return "The two workers are swapped. The one that skips step 4 waits for nobody there."
    if given == {"worker 0": BAD_STEP - 2, "worker 1": BAD_STEP - 1}:
        return "Both are one step too early. Nothing overflows in step 3; step 4 is the first."
    for key, value in given.items():
        if value is None:
            return f"{key}: you gave {describe(answer[key])}; give the number of a step."
        if value != WORKERS[key]:
            said = f"you gave {value:.6g}; give the last step, 0 to 9, that this worker finishes."
            return f"{key}: {NOT_FINISHED[key].get(value, said)}"
    return None
