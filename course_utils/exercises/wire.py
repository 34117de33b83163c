"""How sums of gradients that travelled in 16 bits are judged, an exercise of notebook 07."""

import math

from .answers import near
from .judges import Fields, Number

SCALE = 2**15
INF, NAN = math.inf, math.nan
FLOAT16 = (2 * 3276 / SCALE, INF, 0.0)
BFLOAT16 = (2 * 3280 / SCALE, 3.0, 2 * 225 * 2.0**-36 / SCALE)
EXACT = (0.2, 3.0, 2e-13)
PLACES = ("first", "second", "third")


def wire(right, rows, *places):
    """The judge of three sums; `rows` are wrong triples, `places` wrong numbers in each place."""

    def of_the_first(given):
        n = next(n for n in range(3) if not near(given[n], right[n], 5e-5))
        other = "you gave {:.6g}. Multiply by the scale, cast, add, divide: in this order."
        if 0 < abs(given[n] - right[n]) < 0.001 * abs(right[n]) < INF:
            other = "{:g} is near: give five digits."
        known = (said for wrong, said in places[n].items() if near(given[n], wrong, 5e-5))
        return f"{PLACES[n]} number: {next(known, other.format(given[n]))}"

    wrong = ((*right[:n], value, 1.0, 1.0)[:3] for n in range(3) for value in places[n])
    rules = [(example, lambda given: True, of_the_first) for example in wrong]
    rows |= {
        tuple(v / 2 for v in right): "that is what one replica sends, divided by the scale. Add up"
        " both.",
        tuple(v * SCALE for v in right): "that is the sum before it is divided by the scale.",
        EXACT: "those are the exact sums. What is left of them in 16 bits?",
    }
    asked = 'give a list of three numbers, infinity as `float("inf")`'
    return Number(right, rows, rules, asked=asked, close=5e-5, finite=False)


WIRE = Fields(
    {
        "float16": wire(
            FLOAT16,
            {
                (FLOAT16[0], 3.0, 0.0): "that comes out if each is divided by the scale before the"
                " cast. Here the scaled ones travel: 49,152 fits, and twice that?",
                BFLOAT16: "these are the numbers of `bfloat16`.",
            },
            {
                0.2: "3,276.8 is between two numbers of float16, 3,276 and 3,278: give five"
                " digits.",
            },
            {
                2 * 65504 / SCALE: "the largest float16 is not kept: beyond it comes infinity.",
                3.0: "49,152 fits, and the sum of two is 98,304. The largest float16 is 65,504.",
            },
            {
                2e-13: "scaled it is 3.3e-9, and below 3e-8 float16 rounds to 0.",
                2 * 2.0**-24 / SCALE: "scaled it is 3.3e-9, less than half of float16's smallest,"
                " 6e-8.",
            },
        ),
        "bfloat16": wire(
            BFLOAT16,
            {FLOAT16: "these are the numbers of `float16`."},
            {
                0.2: "3,276.8 is between two numbers of bfloat16, 3,264 and 3,280: give five"
                " digits.",
                2 * 3264 / SCALE: "3,276.8 is nearer to 3,280 than to 3,264.",
                FLOAT16[0]: "that is with float16. bfloat16 has fewer digits.",
            },
            {
                INF: "bfloat16 has the exponents of float32: 98,304 is far below its largest,"
                " 3e38.",
            },
            {
                0.0: "bfloat16 has the exponents of float32, so 3.3e-9 is not too small.",
                2e-13: "3.2768e-9 is not a number of bfloat16: give five digits.",
            },
        ),
    },
    wrong={
        (EXACT, EXACT): "Those are the exact sums, twice. Cast 0.1 × 32,768 to each dtype: what is"
        " left?",
        (BFLOAT16, FLOAT16): "The two dtypes are swapped. Which of them has the exponents of"
        " `float32`?",
    },
)
