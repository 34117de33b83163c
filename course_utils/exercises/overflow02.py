"""Exercises 1 to 3 of notebook 02: which loss scales fit, and what an overflow does to them.

Example: `overflow02.EXERCISES[2].checker(14001)` is None.
"""

from . import checks02 as checks
from .engine import Exercise

EXERCISES = [
    Exercise(
        number=1,
        title="the scales that fit",
        task="""\
The nonzero gradients of a network spread from `2**-31` to `2**-9`: the smallest has exactly the
size `2**-31`, the largest exactly `2**-9`. Before the backward pass you multiply the loss by
`2**s`, with a whole number s.

With which s is every gradient a **normal** number of float16, and none becomes infinity? Here
a stricter rule than in the cell above: no gradient may even be subnormal. Give the smallest such s
and the largest.""",
        stub="""\
answer = {"smallest": ..., "largest": ...}  # s, not 2**s
q[1].check(answer)""",
        solution="""\
smallest_normal = -14  # float16's normal numbers begin at 2**-14
last_octave = 15  # its largest number, 65,504, lies between 2**15 and 2**16
answer = {"smallest": smallest_normal - -31, "largest": last_octave - -9}
q[1].check(answer)""",
        checker=checks.check_bracket,
        hints=[
            "Multiplying the loss by 2**s adds s to the exponent of every gradient.",
            "The smallest gradient has to reach 2**-14. The largest may reach 2**15, not 2**16.",
        ],
        wrong=[
            ({"smallest": 7, "largest": 24}, "survives with one bit"),
            ({"smallest": 6, "largest": 24}, "The tie goes to 0"),
            ({"smallest": 2, "largest": 24}, "rounds to zero"),
            ({"smallest": 11, "largest": 24}, "5 bits, not 11"),
            ({"smallest": 16, "largest": 24}, "begin at 2**-14"),
            ({"smallest": 20, "largest": 24}, "a smaller s does so too"),
            ({"smallest": 31, "largest": 24}, "beyond the range"),
            ({"smallest": -5, "largest": 24}, "keeps the largest gradient normal"),
            ({"smallest": -17, "largest": 24}, "needs more, not less"),
            ({"smallest": -24, "largest": -17}, "you divide"),
            ({"smallest": 17, "largest": 25}, "rounds to infinity"),
            ({"smallest": 17, "largest": 40}, "2**31, infinity"),
            ({"smallest": 17, "largest": 46}, "brings the smallest gradient to 2**15"),
            ({"smallest": 17, "largest": 23}, "a larger s still avoids"),
            ({"smallest": 17, "largest": 10}, "not normal yet"),
            ({"smallest": 17, "largest": -24}, "divides by 2**24"),
            ({"smallest": 17, "largest": 24.5}, "whole number is asked for"),
            ({"smallest": 131072, "largest": 24}, "You gave a scale."),
            ({"smallest": 128, "largest": 256}, "You gave scales."),
            ({"smallest": 24, "largest": 17}, "are swapped"),
            ({"smallest": "17", "largest": 24}, "give the whole number s"),
        ],
        right="8 scales fit. The spread takes 23 of the 30 octaves in which float16 is normal.",
    ),
    Exercise(
        number=2,
        title="six steps of a dynamic scale",
        task="""\
A dynamic loss scale begins at `2**15` and has `growth_steps` = 3 here: three finite steps in a row
double it, and a step with a gradient that is not finite halves it. These are six steps:

`finite = [False, True, True, False, True, True]`

What is the scale after them, and how many of the six steps are applied to the weights?""",
        stub="""\
answer = {"scale": ..., "applied": ...}
q[2].check(answer)""",
        solution="""\
scale, count, applied = 2**15, 0, 0
for finite in [False, True, True, False, True, True]:
    count = count + 1 if finite else 0
    applied += finite
    if not finite:
        scale /= 2
    elif count == 3:
        scale, count = scale * 2, 0
answer = {"scale": scale, "applied": applied}
q[2].check(answer)""",
        checker=checks.check_run,
        hints=[
            "Write three columns: the step, the scale after it, the counter after it.",
            "The counter is 0 after a step that is not finite, and that step changes no weight.",
        ],
        wrong=[
            *(({"scale": s, "applied": 4}, text[:40]) for s, text in checks.NOT_THE_SCALE.items()),
            *(
                ({"scale": 8192, "applied": n}, text[:30])
                for n, text in checks.NOT_THE_APPLIED.items()
            ),
            ({"scale": 13, "applied": 4}, "13 reads like an exponent"),
            ({"scale": 15, "applied": 4}, "such as 2**15"),
            ({"scale": 1024, "applied": 4}, "you gave 1,024. Write"),
            ({"scale": 10000, "applied": 4}, "only halves or doubles"),
            ({"scale": 8192, "applied": 7}, "You gave 7 of six"),
            ({"scale": "2**13", "applied": 4}, "the text '2**13'"),
        ],
        right="Never three finite steps in a row: only the two overflows moved the scale.",
    ),
    Exercise(
        number=3,
        title="the first overflow",
        task="""\
The largest gradient of a network is 0.031, and suppose that it stays so. The scale begins at
`2**15`, and 2,000 finite steps in a row double it, as in Keras. A gradient overflows if
0.031 times the scale, rounded to float16, is infinity.

Count the steps from 1. Which is the first step that overflows?""",
        stub="step = ...  # a whole number\nq[3].check(step)",
        solution="""\
scale, step = 2**15, 1
while 0.031 * scale < 65520:  # from there on float16 rounds to infinity
    step += 2000
    scale *= 2
q[3].check(step)""",
        checker=checks.check_first_overflow,
        hints=[
            "Float16 rounds to infinity from 65,520 on. Which 0.031 × 2**k is the first beyond it?",
            "The steps 1 to 2,000 have the scale 2**15, the steps 2,001 to 4,000 have 2**16.",
        ],
        wrong=[
            *(
                (n, checks.NOT_THE_STEP[n][:50])
                for n in (12001, 14000, 14002, 16000, 16001, 16002, 14008, 7, 8, 6, 22, 2**22)
            ),
            (44001, "begins at 2**0"),
            (2001, "the scale is 2**16, and 0.031 × 2**16 = 2,031.6 is finite"),
            (13999, "65,011.7 is finite"),
            (18001, "An earlier step"),
            (0, "counted 1, 2, 3"),
            ("14001", "without quotes"),
        ],
        right="Step 14,001 is skipped, and so is one in 2,001 from then on: a steady price.",
    ),
]
