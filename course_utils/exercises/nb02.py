"""Prediction and exercises of notebook 02."""

from . import scaler, scales
from .engine import Exercise, Prediction, percentage
from .functions import stub

TITLE = "Why float16 loses small gradients, and how loss scaling saves them"

PREDICTION = Prediction(
    task="""\
Train a small network until it fits its data well. Late in that training, look at the gradients of
the loss with respect to its activations, the numbers that its layers put out. Float16 rounds the
smallest numbers to zero. With no loss scaling, what percentage of the nonzero gradients would it
round to zero?

Guess before you run any code: a wrong guess teaches more than none. Section 2 measures the
percentage.""",
    comment="percent: 1 = one in a hundred, 100 = all",
    example=10,
    read=percentage(
        "You expect that {value:g} % of them become zero.", ". For next to none, give 0.1"
    ),
)

EXERCISES = [
    Exercise(
        id=1,
        title="the scales that fit",
        minutes=4,
        task="""\
The nonzero gradients of a network spread from `2**-31` to `2**-9`: the smallest has exactly the
size `2**-31`, the largest exactly `2**-9`. Before the backward pass you multiply the loss by
`2**s`, with a whole number s.

With which s is every gradient a **normal** number of float16, and none becomes infinity? Here
a stricter rule than in the cell above: no gradient may even be subnormal. Give the smallest such s
and the largest.""",
        stub="""\
answer = {"smallest": ..., "largest": ...}  # s, not 2**s""",
        solution="""\
smallest_normal = -14  # float16's normal numbers begin at 2**-14
last_octave = 15  # its largest number, 65,504, lies between 2**15 and 2**16
answer = {"smallest": smallest_normal - -31, "largest": last_octave - -9}""",
        answer=scales.BRACKET,
        hints=[
            "Multiplying the loss by 2**s adds s to the exponent of every gradient.",
            "The smallest gradient has to reach 2**-14. The largest may reach 2**15, not 2**16.",
        ],
        wrong=[({"smallest": 17, "largest": 24.5}, "whole number is asked for")],
        right="8 scales fit. The spread takes 23 of the 30 octaves in which float16 is normal.",
    ),
    Exercise(
        id=4,
        title="write the scaler",
        minutes=8,
        task="""\
Write `update(scale, count, finite, growth_steps)`, the rule of a dynamic loss scale. `scale` and
`count` are the state before a step, `finite` says whether all gradients of the step are finite.
Return three values: the new scale, the new count, and True if the step is applied, else False.
`count` begins at 0.

The check runs Keras's own `LossScaleOptimizer` beside your function, 265 steps in five runs, and
compares the scale and what is applied at each step. The first check takes a second or two.""",
        stub=stub(scaler.CODE, "return the new scale, the new count, applied"),
        solution=scaler.CODE,
        name="update",
        answer=scaler.judge,
        hints=[
            "There are three cases: not finite, finite, and the finite step that completes the"
            " row.",
            "The count goes back to 0 in two of them. Only one of them is not applied.",
        ],
        slips=scaler.SLIPS | {"yours goes from 2**15 to 2**13. Write": {"/ 2": "/ 4"}},
        wrong=[
            (lambda *state: print(end=""), "returns None"),
            (lambda *state: state[:2], "a tuple of 2 items"),
            (lambda *state: (None, 0, True), "None as the scale"),
            (lambda *state: (state[0], 0, None), "None for `applied`"),
        ],
        right="All 265 steps agree with Keras. It keeps two numbers as you do: scale and counter.",
    ),
    Exercise(
        id=7,
        title="the order of a step",
        minutes=2,
        task="""\
These are the lines of a training step with a loss scale S, each under a name, in no order:

- `"update"`: `w = w - lr * g`
- `"scale"`: `scaled = S * loss`
- `"clip"`: `g = g * min(1, limit / length(g))`
- `"forward"`: `loss = loss_fn(y, model(x))`
- `"unscale"`: `g = g / S`
- `"backward"`: `g = gradient(scaled, w)`

Give the names in the order in which the step is right with every S and every limit.""",
        stub="answer = [..., ..., ..., ..., ..., ...]  # the six names, each once",
        solution="""\
before = ["forward", "scale", "backward"]  # S goes in before the gradients are made
answer = [*before, "unscale", "clip", "update"]  # and out before anything looks at them""",
        answer=scales.ORDER,
        hints=[
            "What does the backward pass need, and what does the update?",
            "A limit for clipping is meant for true gradients. So is a learning rate.",
        ],
        wrong=[(["forward", "scale"], "give a list with the six names")],
        right="S lives from the loss to the unscaling alone: nothing behind it knows S.",
    ),
    Exercise(
        id=3,
        title="going further: the first overflow",
        minutes=5,
        task="""\
The largest gradient of a network is 0.031, and suppose that it stays so. The scale begins at
`2**15`, and 2,000 finite steps in a row double it, as in Keras. A gradient overflows if
0.031 times the scale, rounded to float16, is infinity.

Count the steps from 1. Which is the first step that overflows?""",
        stub="step = ...  # a whole number",
        solution="""\
scale, step = 2**15, 1
while 0.031 * scale < 65520:  # from there on float16 rounds to infinity
    step += 2000
    scale *= 2""",
        name="step",
        answer=scales.FIRST_OVERFLOW,
        hints=[
            "Float16 rounds to infinity from 65,520 on. Which 0.031 × 2**k is the first beyond it?",
            "The steps 1 to 2,000 have the scale 2**15, the steps 2,001 to 4,000 have 2**16.",
        ],
        wrong=[(13999, "65,011.7 is finite"), (18001, "An earlier step"), (0, "counted 1, 2, 3")],
        right="Step 14,001 is skipped, and so is one in 2,001 from then on: a steady price.",
    ),
    Exercise(
        id=6,
        title="going further: a scale for an array",
        minutes=6,
        task="""\
The first lines below make an array of 100,000 gradients. Choose a whole number s, so that after
multiplying by `2**s` and rounding to float16

- no gradient is infinity, and
- the gradients that became zero hold less than 0.1 % of the sum of squares.

Many s do. Measure before you choose: how many gradients are lost, and how much of the sum of
squares?""",
        stub=scales.ARRAY + "s = ...  # a whole number: the loss is multiplied by 2**s",
        solution=scales.ARRAY
        + """\
s = 0
while True:
    zero = (array * 2.0**s).astype(np.float16) == 0
    if np.sum(array[zero] ** 2) < 0.001 * np.sum(array**2):
        break
    s += 1""",
        name="s",
        answer=scales.check_scale,
        hints=[
            "`(array * 2.0**s).astype(np.float16)` is what float16 keeps. Compare it with 0 and"
            " with `np.inf`.",
            "`gradients.OctaveHistogram.from_values(array)` counts for you: see `overflow` and"
            ' `norm_lost` of its `survival("float16", s)`.',
        ],
        wrong=[
            (0, "99.41 % of the gradients to zero, and with them 36.9 %"),
            (-15, "A negative s divides"),
            (37, "1 of 100,000 gradients overflows"),
            (64, "If 64 is the scale, give its exponent, 6."),
            (2**15, "If 32,768 is the scale, give its exponent, 15."),
            (1000, "float32 has no 2**1,000"),
            (-400, "every gradient becomes 0"),
            (15.5, "a whole number is asked for"),
        ],
        right="s = 6 to 36 will do. With 6, 31 % of the gradients are zero, and they hold 0.05 % of"
        " the sum of squares. 36 leaves no room: the next batch may overflow.",
    ),
]
