"""Exercises 4 to 6 of notebook 01: large numbers, small updates and long sums that float16 loses.

Example: `losses01.EXERCISES[0].checker(65520)` is None.
"""

import math

from . import limits01 as limits
from . import sums01 as sums
from .engine import Exercise

EXERCISES = [
    Exercise(
        number=4,
        title="where infinity begins",
        task="""\
float16 rounds to nearest, and a tie goes to the even neighbor. Which is the smallest positive whole
number that float16 turns into infinity?""",
        stub="answer = ...  # a whole number\nq[4].check(answer)",
        solution="""\
largest = (2 - 2**-10) * 2**15
step = 2**-10 * 2**15
answer = largest + step / 2  # a tie: the largest number has an odd code
q[4].check(answer)""",
        checker=limits.check_limit,
        hints=[
            "The largest finite number is 65,504. How large is the step right below it?",
            "If the exponent went on, 65,536 would follow. What happens halfway?",
            "The fraction of 65,504 is all ones, so its last bit is odd.",
        ],
        wrong=[
            *limits.NOT_THE_LIMIT.items(),
            (65518, "to 65,504, a finite number"),
            (32768, "to 32,768, a finite number"),
            (65530, "not the smallest"),
            (-65520, "positive whole number"),
            (math.inf, "one whole number"),
        ],
        right="65,520 is the tie between 65,504 and 65,536. The even neighbor is beyond the range.",
    ),
    Exercise(
        number=5,
        title="updates that vanish",
        task="""\
Take all 1,024 float16 numbers w with 1 <= w < 2. A training step adds w / ratio to each of them,
and all of it happens in float16. For what share of them is w + w / ratio == w, so that the update
is lost? Once for the ratio 2048, once for 4096. Dividing by a power of two is exact here, so only
the sum is rounded.""",
        stub="""\
answer = {2048: ..., 4096: ...}  # shares between 0 and 1
q[5].check(answer)""",
        solution="""\
import numpy as np

w = (1 + np.arange(1024) / 1024).astype(np.float16)


def share(ratio):
    return np.mean(w + w / np.float16(ratio) == w)


answer = {2048: share(2048), 4096: share(4096)}
q[5].check(answer)""",
        checker=sums.check_shares,
        hints=[
            "From 1 to 2 the step of float16 is 2**-10. A sum goes back to w if less than half a"
            " step is added.",
            "w / 2048 reaches from 2**-11 to almost 2**-10, and half a step is 2**-11.",
            "`(1 + np.arange(1024) / 1024).astype(np.float16)` holds all of them: try it.",
        ],
        wrong=[
            *sums.NOT_THE_SHARES,
            ({2048: 1 / 1024, 4096: 0.75}, "Ratio 4096: 0.75 is too small"),
            ({2048: 2 / 1024, 4096: 1}, "Ratio 2048: 0.00195312 is too large"),
            ({2048: 0.1, 4096: 100}, "Those are percentages"),
            ({2048: -1, 4096: 1}, "between 0 and 1"),
            ({2048: "1/1024", 4096: 1}, "give a share"),
        ],
        right="From ratio 4096 on no update arrives; at 2048 only w = 1 stays, by the tie rule.",
    ),
    Exercise(
        number=6,
        title="where a sum stalls",
        task="""\
Start at 0 and add 0.25 ten thousand times. After each addition the sum is rounded to the format
(to nearest, a tie goes to even). What does the sum say at the end in float16, and what in
bfloat16?""",
        stub="""\
answer = {"float16": ..., "bfloat16": ...}
q[6].check(answer)""",
        solution="""\
def last_sum(fraction_bits):
    total = 0.25
    while 0.25 > 2.0**-fraction_bits * total / 2:  # more than half a step
        total *= 2  # the sum gets to the next power of two
    return total


answer = {"float16": last_sum(10), "bfloat16": last_sum(7)}
q[6].check(answer)""",
        checker=sums.check_sums,
        hints=[
            "From 2**e on the step of float16 is 2**(e - 10), and that of bfloat16 2**(e - 7).",
            "The sum stays where 0.25 is half a step: a tie, and a power of two is even.",
        ],
        wrong=[
            *(
                (dict(zip(sums.SUMS, ends, strict=True)), message)
                for ends, message in sums.NOT_THE_SUMS
            ),
            ({"float16": 511.75, "bfloat16": 64}, "float16: you gave 511.75"),
            ({"float16": 512, "bfloat16": 65}, "gets less far"),
            ({"float16": math.inf, "bfloat16": 64}, "one finite number"),
        ],
        right="At 512 and at 64 the step is 0.5. Adding half of it is a tie, and the sum stays.",
    ),
]
