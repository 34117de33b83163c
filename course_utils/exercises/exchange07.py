"""Exercises 4 to 6 of notebook 07: what replicas have to exchange, and what it costs.

Example: `exchange07.EXERCISES[0].checker(agree07.step)` is None.
"""

from . import agree07 as agree
from . import efficiency07 as model
from . import wire07 as wire
from . import wrong07 as wrong
from .engine import Exercise

EXERCISES = [
    Exercise(
        number=4,
        title="a step on which all agree",
        task="""\
Write in NumPy what a step with `AllDecide` does, for SGD with learning rate 0.1. `weights` and
`gradients` are lists with one array for each replica. The weights are the same on all replicas. The
gradients are those of the scaled loss. `step(weights, gradients, scale)` returns two values, the
list of new weights and the new scale.

If all gradients of all replicas are finite, each replica subtracts 0.1 times the sum of all
replicas' gradients, unscaled. If not, no weight changes, and the scale is halved once. Leave out
that the scale grows.""",
        stub="""\
import numpy as np


def step(weights, gradients, scale):
    ...  # return the list of new weights, the new scale


q[4].check(step)""",
        solution="""\
import numpy as np


def step(weights, gradients, scale):
    if not all(np.isfinite(gradient).all() for gradient in gradients):
        return weights, scale / 2
    total = sum(gradients) / scale
    return [weight - 0.1 * total for weight in weights], scale


q[4].check(step)""",
        checker=agree.check_step,
        hints=[
            "`np.isfinite(gradient).all()` is the flag of one replica. Decide once, from all.",
            "`sum(gradients)` adds up arrays. Divide the sum by the scale, once.",
        ],
        wrong=wrong.AGREED,
        right="Replicas that start alike and decide alike stay alike, whatever overflows.",
    ),
    Exercise(
        number=5,
        title="gradients in 16 bits",
        task="""\
To send less, two replicas cast their gradients to 16 bits. Three true gradients are 0.1, 1.5 and
1e-13, the same on both replicas. The loss scale is 32,768. Each replica casts its gradient of the
scaled loss, the two casts are added up in the same dtype, and the sum is divided by the scale in
`float32`. Exact would be 0.2, 3 and 2e-13.

Which three numbers come out with `float16`, and which with `bfloat16`? Give five digits; infinity
is `float("inf")`. In NumPy `bfloat16` is `ml_dtypes.bfloat16`.""",
        stub="""\
answer = {"float16": ..., "bfloat16": ...}  # lists of three numbers
q[5].check(answer)""",
        solution="""\
import ml_dtypes
import numpy as np

scaled = np.float32([0.1, 1.5, 1e-13]) * np.float32(32768)
answer = {}
for dtype in (np.float16, ml_dtypes.bfloat16):
    sent = scaled.astype(dtype)
    with np.errstate(over="ignore"):  # no warning about infinity
        total = sent + sent
    answer[np.dtype(dtype).name] = total.astype(np.float32) / 32768
q[5].check(answer)""",
        checker=wire.check_wire,
        hints=[
            "`(np.float32(0.1) * 32768).astype(np.float16)` is what one replica sends of the first"
            " gradient.",
            "The largest `float16` is 65,504, and half of its smallest is about 3e-8.",
        ],
        wrong=wrong.WIRE,
        right="float16 keeps more digits; bfloat16 has the range of float32, so nothing overflows.",
    ),
    Exercise(
        number=6,
        title="how well it scales",
        task="""\
Each device computes for `compute_ms` milliseconds on a batch of its own. Then a ring all-reduce
adds up `megabytes` MB of gradients over links that move `gb_per_s` GB/s (10⁹ bytes a second) in
each direction. Nothing overlaps, and latency is left out. Write
`efficiency(compute_ms, megabytes, devices, gb_per_s)`: it returns which share of the step is
computing.

For 100 ms, 40 MB, 4 devices and 1 GB/s it is 0.625. MB divided by GB/s are milliseconds.""",
        stub="""\
def efficiency(compute_ms, megabytes, devices, gb_per_s):
    ...  # return a number from 0 to 1


q[6].check(efficiency)""",
        solution="""\
def efficiency(compute_ms, megabytes, devices, gb_per_s):
    sent = 2 * (devices - 1) / devices * megabytes
    return compute_ms / (compute_ms + sent / gb_per_s)


q[6].check(efficiency)""",
        checker=model.check_efficiency,
        hints=[
            "What each device sends is that of exercise 2, with `megabytes` as the size.",
            "The step is `compute_ms` plus what is sent over `gb_per_s`. The share is `compute_ms`"
            " over the step.",
        ],
        wrong=wrong.EFFICIENCY,
        right="As many times as fast as one device is the number of devices times this share.",
    ),
]
