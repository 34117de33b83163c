"""How sums of gradients that travelled in 16 bits are judged, an exercise of notebook 07."""

import math

from .answers import near
from .judges import Fields, Number

SCALE = 2**15
FLOAT16 = (2 * 3276 / SCALE, math.inf, 0.0)
BFLOAT16 = (2 * 3280 / SCALE, 3.0, 2 * 225 * 2.0**-36 / SCALE)
EXACT = (0.2, 3.0, 2e-13)
PLACES = ("first", "second", "third")


def wire(right, rows, *said):
    """The judge of three sums; `rows` are wrong triples, `said` is what to say of each number."""

    def of_the_first(given):
        n = next(n for n in range(3) if not near(given[n], right[n], 5e-5))
        return f"{PLACES[n]} number: you gave {given[n]:.6g}, and {said[n]}"

    wrong = ((*right[:n], 0.5, 1.0, 1.0)[:3] for n in range(3))
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
            "3,276.8 is between two numbers of float16, 3,276 and 3,278: give five digits.",
            "49,152 fits, but the sum of two is 98,304. The largest float16 is 65,504.",
            "scaled it is 3.3e-9. Below 3e-8 float16 rounds to 0.",
        ),
        "bfloat16": wire(
            BFLOAT16,
            {FLOAT16: "these are the numbers of `float16`."},
            "3,276.8 is between two numbers of bfloat16, 3,264 and 3,280: give five digits.",
            "bfloat16 has the exponents of float32: 98,304 is far below its largest, 3e38.",
            "3.2768e-9 is no number of bfloat16, and far from too small: give five digits.",
        ),
    },
    wrong={
        (EXACT, EXACT): "Those are the exact sums, twice. Cast 0.1 × 32,768 to each dtype: what is"
        " left?",
        (BFLOAT16, FLOAT16): "The two dtypes are swapped. Which of them has the exponents of"
        " `float32`?",
    },
)
