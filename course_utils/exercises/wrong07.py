"""Wrong answers to the exercises of notebook 07 that people give, and a part of what each is told.

Example: `exercises.load("07")[2].check(wrong07.RING[0][0])` holds `wrong07.RING[0][1]`.
"""

import math

import numpy as np

from . import wire07 as wire
from .agree07 import step
from .agreed07 import NOT_AGREED
from .checks07 import ENDINGS, NOT_FINISHED, NOT_THE_FLAGS, NOT_THE_RING, SCALE, WORKERS
from .checks07 import FLAGS as FLAGS_RIGHT
from .efficiency07 import NOT_THE_SHARE, SHOWN, efficiency

# --- 1 to 3: numbers and names --------------------------------------------------------------

FLAGS = [
    *(
        ({**FLAGS_RIGHT, key: value}, f"{key}: {text}")
        for key, wrong in NOT_THE_FLAGS.items()
        for value, text in wrong.items()
    ),
    (dict(zip(FLAGS_RIGHT, (0, SCALE // 2, 4, SCALE), strict=True)), "are swapped"),
    ({**FLAGS_RIGHT, "Keras steps": 2}, "you gave 2; give how many of the four"),
    ({**FLAGS_RIGHT, "cure scale": 1}, "you gave 1; from 32,768"),
    ({**FLAGS_RIGHT, "Keras steps": "all"}, "the text 'all'"),
    ({**FLAGS_RIGHT, "cure steps": False}, "you gave False"),
    ({**FLAGS_RIGHT, "cure scale": math.nan}, "the number nan"),
    ({"Keras steps": 4, "Keras scale": SCALE}, "'cure steps' is missing"),
    ([4, SCALE, 0, SCALE // 2], "a list of 4 items"),
]

RING = [
    *NOT_THE_RING,
    (6, "give two decimals"),
    (5, "How many rounds"),
    (-6.07, "You gave -6.07"),
    ("6.07 MB", "the text '6.07 MB'"),
    ([6.07], "a list of 1 items"),
    (math.inf, "the number inf"),
    (None, "You gave None"),
]

WORKERS_WRONG = [
    *(({**WORKERS, "then": name}, text) for name, text in ENDINGS.items() if text),
    *(
        ({**WORKERS, key: value}, f"{key}: {text}")
        for key, wrong in NOT_FINISHED.items()
        for value, text in wrong.items()
    ),
    ({**WORKERS, "worker 0": 4, "worker 1": 3}, "The two workers are swapped"),
    ({**WORKERS, "worker 0": 2, "worker 1": 3}, "one step too early"),
    ({**WORKERS, "worker 1": 7}, "worker 1: you gave 7; give the last step"),
    ({**WORKERS, "worker 0": "three"}, "the text 'three'"),
    ({**WORKERS, "worker 1": None}, "worker 1: you gave None"),
    ({**WORKERS, "then": "crash"}, "the text 'crash'; choose one of"),
    ({"worker 0": 3, "worker 1": 4}, "'then' is missing"),
    ("hang", "the text 'hang'"),
]

# --- 4 and 6: functions -------------------------------------------------------------------------


def _overflows(gradients):
    return any(not np.isfinite(gradient).all() for gradient in gradients)


def _returns_one(weights, gradients, scale):
    return step(weights, gradients, scale)[0][0], scale


def _all_stay(weights, gradients, scale):
    return weights, scale / 2 if _overflows(gradients) else scale


def _restarts(weights, gradients, scale):
    return step(weights, gradients, scale)[0], 1.0 if _overflows(gradients) else scale


AGREED = [
    *NOT_AGREED,
    (_all_stay, "not those of one step with the unscaled sum"),
    (_restarts, "your scale becomes 1, and 512 is needed"),
    (_returns_one, "an array of shape (3,) as the weights of 2 replicas"),
    (lambda weights, gradients, scale: step(weights, gradients, scale)[0], "as the weights"),
    (lambda weights, gradients, scale: (scale, weights), "as the weights: return the list"),
    (lambda weights, gradients, scale: (weights, "512"), "the text '512' as the scale"),
    (lambda weights, gradients, scale: scale / 2, "the number 512: return"),
    (lambda weights, gradients, scale: print(end=""), "returns None"),
    (lambda weights, gradients, scale: gradients - scale, "raises TypeError"),
    (lambda gradients, scale: scale, "raises TypeError"),
    (0.5, "the function itself"),
]

EFFICIENCY = [
    *NOT_THE_SHARE,
    (lambda c, m, n, b: 0.625, "gives 0.625, and 0.8333 is needed"),
    (lambda c, m, n, b: efficiency(c, m, n, b) if n > 1 else 0.0, "one device sends nothing"),
    (lambda c, m, n, b: 1 / (n - 1) and efficiency(c, m, n, b), "you divide by 0"),
    (lambda c, m, n, b: 0.5, "gives 0.5, and 0.625 is needed: divide"),
    (lambda c, m, n, b: [efficiency(c, m, n, b)], "a list of 1 items: one number"),
    (lambda c, m, n, b: f"{efficiency(c, m, n, b):.0%}", "the text '62%'"),
    (lambda c, m, n, b: print(end=""), "returns None"),
    (lambda c, m, n, b: math.nan, "the number nan"),
    (lambda c, m, n: c, "raises TypeError"),
    (efficiency(*SHOWN), "the function itself"),
]

# --- 5: gradients in 16 bits --------------------------------------------------------------------


def _place(dtype, place, value):
    row = list(wire.RIGHT[dtype])
    row[place] = value
    return {**wire.RIGHT, dtype: row}


WIRE = [
    *(({**wire.RIGHT, dtype: row}, f"{dtype}: {text}") for dtype, row, text in wire.ROWS),
    *(
        (_place(*where, value), text)
        for where, wrong in wire.PLACES.items()
        for value, text in wrong
        if where != ("float16", 1) or value != 3.0  # that is the first of the rows
    ),
    (dict.fromkeys(wire.RIGHT, wire.EXACT), "the exact sums, twice"),
    (dict(zip(wire.RIGHT, reversed(wire.RIGHT.values()), strict=True)), "are swapped"),
    (_place("bfloat16", 1, 6.0), "you gave 6. Multiply by the scale, cast"),
    (_place("bfloat16", 2, 1.998e-13), "1.998e-13 is near: give five digits"),
    (_place("float16", 1, "inf"), 'infinity as `float("inf")`'),
    ({**wire.RIGHT, "float16": math.inf}, "float16: you gave the number inf"),
    ({**wire.RIGHT, "bfloat16": ["0.2", "3", "0"]}, "bfloat16: you gave a list of 3 items"),
    ({"float16": wire.RIGHT["float16"]}, "'bfloat16' is missing"),
    ([0.19995, math.inf, 0], "a list of 3 items"),
]
