"""Exercises 4 to 6 of notebook 02: a scaler, a step and a scale of your own.

Example: `practice02.EXERCISES[1].checker(order02.true_step)` is None.
"""

from . import checks02 as checks
from . import order02 as order
from . import scaler02 as scaler
from .engine import Exercise

EXERCISES = [
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
