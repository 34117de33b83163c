"""Prediction and exercises of notebook 02.

Example: `exercises.load("02")[3].check(14001)`
"""

from . import checks02 as checks
from . import order02 as order
from . import scaler02 as scaler
from .answers import describe
from .engine import Exercise, Prediction

TITLE = "Why float16 loses small gradients, and how loss scaling saves them"


def read_guess(value):
    """Keep a percentage above 0 and up to 100; a number below 1 is a percentage too.

    >>> read_guess(20.0)
    (20.0, 'You expect that 20 % of them become zero. Section 2 measures it.')
    """
    if not 0 < value <= 100:
        return (
            None,
            f"You gave {describe(value)}: give a percentage above 0 and up to 100. For next to"
            " none, give 0.1.",
        )
    if value < 1:
        return value, (
            f"Read as {value:g} %. If you mean a share of {value:g}, give {100 * value:g};"
            " section 2 measures it."
        )
    return value, f"You expect that {value:g} % of them become zero. Section 2 measures it."


PREDICTION = Prediction(
    task="""\
Train a small network until it fits its data well. Late in that training, look at the gradients of
the loss with respect to its activations, the numbers that its layers put out. Float16 rounds the
smallest numbers to zero. With no loss scaling, what percentage of the nonzero gradients would it
round to zero?

Guess before you run any code: a wrong guess teaches more than none. Section 2 measures the
percentage.""",
    stub="guess = ...  # percent: 1 = one in a hundred, 100 = all\nq.predict(guess)",
    solution="guess = 10\nq.predict(guess)",
    read=read_guess,
)

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
    Exercise(
        number=4,
        title="write the scaler",
        task="""\
Write `update(scale, count, finite, growth_steps)`, the rule of a dynamic loss scale. `scale` and
`count` are the state before a step, `finite` says whether all gradients of the step are finite.
Return three values: the new scale, the new count, and True if the step is applied, else False.
`count` begins at 0.

The check runs Keras's own `LossScaleOptimizer` beside your function, 265 steps in five runs, and
compares the scale and what is applied at each step. The first check takes a second or two.""",
        stub="""\
def update(scale, count, finite, growth_steps):
    ...  # return the new scale, the new count, applied


q[4].check(update)""",
        solution="""\
def update(scale, count, finite, growth_steps):
    if not finite:
        return scale / 2, 0, False
    count += 1
    if count == growth_steps:
        return scale * 2, 0, True
    return scale, count, True


q[4].check(update)""",
        checker=scaler.check_update,
        hints=[
            "There are three cases: not finite, finite, and the finite step that completes the"
            " row.",
            "The count goes back to 0 in two of them. Only one of them is not applied.",
        ],
        wrong=[
            *(
                (update, message[:50])
                for updates, message in scaler.NOT_THE_UPDATE
                for update in updates[:1]
            ),
            (scaler.slip(bad=lambda scale: scale / 4), "yours goes from 2**15 to 2**13. Write"),
            (lambda scale, count, finite, growth_steps: print(end=""), "returns None"),
            (lambda scale, count, finite, growth_steps: (scale, count), "a tuple of 2 items"),
            (lambda scale, count, finite, growth_steps: (None, 0, True), "None as the scale"),
            (lambda scale, count, finite, growth_steps: (scale, 0, None), "None for `applied`"),
            (lambda scale, finite: (scale, 0, finite), "raises TypeError"),
            (15, "the function itself"),
        ],
        right="All 265 steps agree with Keras. It keeps two numbers as you do: scale and counter.",
    ),
    Exercise(
        number=5,
        title="repair the order",
        task="""\
Some articles describe the step so: the scaled gradient updates the weights, and the weights are
unscaled afterwards. As code, with plain gradient descent:

```python
def step(w, scaled_gradient, lr, S):
    w = w - lr * scaled_gradient
    return w / S
```

`scaled_gradient` is what the backward pass of S times the loss gives: S times the true gradient.
With w = 1, a true gradient of 0.5, lr = 0.1 and S = 1024 this gives −0.049. Without loss scaling
the step ends at 0.95. Write `step` so that it gives the same with every S, for numbers and for
NumPy arrays.""",
        stub="""\
def step(w, scaled_gradient, lr, S):
    ...  # return the new weight


q[5].check(step)""",
        solution="""\
def step(w, scaled_gradient, lr, S):
    gradient = scaled_gradient / S
    return w - lr * gradient


q[5].check(step)""",
        checker=order.check_step,
        hints=[
            "S belongs to the gradient. The weight was never multiplied by it.",
            "First get the true gradient back, then take the step without S.",
        ],
        wrong=[
            *((steps[0], message[:50]) for steps, _, message in order.NOT_THE_STEP),
            (lambda w, g, lr, S: w - lr * g / S**0.5, "then take the step"),
            (lambda w, g, lr, S: print(end=""), "returns None"),
            (lambda w, g, lr, S: (w, g), "one number is needed"),
            (lambda w, g: w - g, "raises TypeError"),
            (lambda w, g, lr, S: float(w - lr * g / S), "leave `float()` out"),
            (0.95, "the function itself"),
        ],
        right="Clipping comes after the unscaling too: it compares gradients with a fixed limit.",
    ),
    Exercise(
        number=6,
        title="going further: a scale for an array",
        task="""\
The first lines below make an array of 100,000 gradients. Choose a whole number s, so that after
multiplying by `2**s` and rounding to float16

- no gradient is infinity, and
- the gradients that became zero hold less than 0.1 % of the sum of squares.

Many s do. Measure before you choose: how many gradients are lost, and how much of the sum of
squares?""",
        stub="""\
import numpy as np

rng = np.random.default_rng(2)
array = rng.choice([-1, 1], 100_000) * 2 ** rng.normal(-30, 2, 100_000)
array = array.astype(np.float32)
s = ...  # a whole number: the loss is multiplied by 2**s
q[6].check(s)""",
        solution="""\
import numpy as np

rng = np.random.default_rng(2)
array = rng.choice([-1, 1], 100_000) * 2 ** rng.normal(-30, 2, 100_000)
array = array.astype(np.float32)
s = 0
while True:
    zero = (array * 2.0**s).astype(np.float16) == 0
    if np.sum(array[zero] ** 2) < 0.001 * np.sum(array**2):
        break
    s += 1
q[6].check(s)""",
        checker=checks.check_scale,
        hints=[
            "`(array * 2.0**s).astype(np.float16)` is what float16 keeps. Compare it with 0 and"
            " with `np.inf`.",
            "`gradients.OctaveHistogram.from_values(array)` counts for you: see `overflow` and"
            ' `norm_lost` of its `survival("float16", s)`.',
        ],
        wrong=[
            (0, "99.41 % of the gradients to zero, and with them 36.9 %"),
            (5, "0.26 % of the sum of squares"),
            (-15, "A negative s divides"),
            (37, "1 of 100,000 gradients overflows"),
            (40, "128 of 100,000 gradients overflow"),
            (64, "If 64 is the scale, give its exponent, 6."),
            (2**15, "If 32,768 is the scale, give its exponent, 15."),
            (1000, "float32 has no 2**1,000"),
            (-400, "every gradient becomes 0"),
            (15.5, "a whole number is asked for"),
            ("15", "the text '15'"),
        ],
        right="s = 6 to 36 will do. With 6, 31 % of the gradients are zero, and they hold 0.05 % of"
        " the sum of squares. 36 leaves no room: the next batch may overflow.",
    ),
]
