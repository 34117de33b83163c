"""Prediction and exercises of notebook 06."""

import math

from . import checkpoint, small_training, training_step
from .answers import near
from .engine import Exercise, Prediction, percentage
from .functions import stub
from .judges import Fields, Number, nearly

TITLE = "Your own training loop"

PREDICTION = Prediction(
    task="""\
A network learns ten handwritten digits with Adam, under `mixed_float16` and in a loop of your own.
The right loop gets about 90 % of the test images right, more or less, depending on which digits
you have. Now a loop forgets to scale the loss, and the optimizer unscales all the same: every
gradient arrives 32,768 times too small.

After the same number of steps, what percentage of the test images does that loop get right? Blind
guessing gets 10 % of them. Guess before you run any code; section 2 measures it.""",
    comment="percent of the test images, 100 = all",
    example=10,
    read=percentage(
        "You expect that {value:g} % of the test images are right.", ", such as 10 for one in ten"
    ),
)

# --- 1: where Adam stops hiding -----------------------------------------------------------------

SCALE, EPSILON = 2**15, 1e-7
BETA = 0.999  # how much of its mean square Adam keeps in each step


def share(gradient, steps=math.inf, scale=SCALE):
    """Adam's update after `steps` steps of `gradient / scale`, over that of `gradient`.

    With a gradient that stays the same, the mean of the squares after t steps is (1 - 0.999**t) g²,
    and Keras adds epsilon to its root before it corrects for the beginning.

    Source: `update_step` in `keras/src/optimizers/adam.py` of Keras 3.15.

    >>> round(share(32768e-7), 3), round(share(0.001), 3), round(share(0.001, steps=1), 4)
    (0.5, 0.234, 0.0096)
    """
    root = (1 - BETA**steps) ** 0.5
    right, wrong = (g * root / (g * root + EPSILON) for g in (gradient, gradient / scale))
    return wrong / right


def left(size):
    """What is said of a size that is not near any other answer."""
    rest = share(size)
    shown = f"{rest:.3g}" if rest < 0.999 else "nearly 1"
    return f"With |g| = {size:.4g} the share that is left is {shown}."


LAST_UPDATE = """\
import keras
import tensorflow as tf

def last_update(gradients, steps=3000):
    weights, adam = keras.Variable([0.0, 0.0]), keras.optimizers.Adam(0.001)
    adam.build([weights])
    step = tf.function(lambda: adam.apply([tf.constant(gradients)], [weights]))
    for _ in range(steps):
        before = weights.numpy()
        step()
    return before - weights.numpy()

"""
HALF, LEFT = SCALE * EPSILON, share(0.001)
NOT_HALVED = {
    EPSILON: "That is ε, so that is what reaches Adam. The true gradient is 32,768 times as large.",
    EPSILON / SCALE: "That is ε / S. Divided by S the gradient is to be ε, so multiply.",
    1 / SCALE: "That is the factor 1 / S. At which |g| does |g| / S equal ε?",
    SCALE: "That is S. At which |g| does |g| / S equal ε?",
    HALF / (1 - BETA) ** 0.5: "That is where the first update is halved. Adam's mean of the squares"
    " is still small then: take many steps.",
    SCALE * 1e-8: "That is for ε = 1e-8. In Keras it is 1e-7.",
}
NOT_LEFT = {
    share(0.001, 1): "That is the first update. Go on until it changes no more.",
    0.001 / HALF: "That is |g| / S over ε. The gradient stands in the denominator too.",
    1 - LEFT: "That is what is lost. Give what remains.",
    100 * LEFT: "That is the percentage. Give the share, as 0.5 for one half.",
    1 / LEFT: "That is the right update over the small one. Turn it around.",
    1 / SCALE: "That is the factor for SGD. Adam divides by the size of its gradients.",
    1.0: "So Adam would hide it all. What you measure is less: the gradient is not far above ε.",
}
GROWS = "You gave {value:.4g}, and the share still grows. Take a few thousand steps."
ADAM = Fields(
    {
        "halved at": Number(
            HALF,
            NOT_HALVED,
            rules=(
                (0, lambda g: g <= 0, "You gave {value:.4g}, and |g| is a size above 0."),
                nearly(0.003, HALF, 0.1, "two digits"),
            ),
            otherwise=left,
            asked="Adam hides a factor only while the gradient is far above ε. Give the |g| as a"
            " number",
            close=0.02,
        ),
        "share at 0.001": Number(
            LEFT,
            NOT_LEFT,
            rules=((0.2, lambda rest: share(0.001, 1) < rest < LEFT, GROWS),),
            otherwise="You gave {value:.4g}. Divide the last update of g / S by that of g.",
            accept=lambda rest: near(rest, LEFT, 0.06),
            close=0.02,
        ),
    }
)

EXERCISES = [
    Exercise(
        id=3,
        title="where Adam stops hiding",
        minutes=8,
        task="""\
A loop unscales twice with S = 32,768, so Adam sees g / S. Keras's Adam has ε = 1e-7. If the
gradient is the same in every step, then after many steps the update is lr · g / (|g| + ε).

**First**, on paper: at which true |g| is the update half of the right loop's?

**Then** measure: with g = 0.001, what share of the right update is left? `last_update([a, b])`
makes 3,000 steps with each of the two gradients and returns the two last updates: for which a and
b?""",
        stub=LAST_UPDATE + 'answer = {"halved at": ..., "share at 0.001": ...}',
        solution=LAST_UPDATE
        + """\
small, full = last_update([0.001 / 32768, 0.001])
answer = {"halved at": 32768 * 1e-7, "share at 0.001": small / full}""",
        answer=ADAM,
        hints=[
            "x / (x + ε) is one half where x = ε. Here x is what reaches Adam: |g| / S.",
            "`last_update([0.001 / 32768, 0.001])` returns two updates: divide the first by the"
            " second.",
        ],
        wrong=[
            ({**ADAM.right, "halved at": 0.1}, "the share that is left is 0.968"),
            ({**ADAM.right, "halved at": "never"}, "Adam hides"),
        ],
        right="Far below S · ε Adam behaves like SGD. In the first step ε counts 32 times as much.",
    ),
    Exercise(
        id=4,
        title="one step for every policy",
        minutes=10,
        task="""\
Write `step(model, optimizer, loss_fn, x, y)`: one training step that updates the model and returns
the loss of the batch, unscaled. It has to be right under `float32`, `mixed_float16` and
`mixed_bfloat16`, with a plain optimizer and with a `LossScaleOptimizer`, without asking which one
it was given. `loss_fn(y, predictions)` returns one number.

Use `optimizer` as it comes; do not build it in the step. The check trains small networks of its
own and compares weights, loss scale and loss after each step. In the last run the first scale is
2³⁰, and gradients overflow. The networks have a `BatchNormalization`: call them with
`training=True`.""",
        stub=stub(small_training.CODE, "update the model, return the loss"),
        solution=small_training.CODE,
        name="step",
        answer=training_step.judge,
        hints=[
            "Every optimizer of Keras has `scale_loss`; a plain one gives the loss back unchanged.",
            "`apply` unscales, looks for infinity, skips and moves the scale. Give it the gradients"
            " as they are.",
        ],
        slips=training_step.SLIPS,
        right="Six combinations and an overflow: weights, scale and loss are those of the right"
        " loop.",
    ),
    Exercise(
        id=5,
        title="what must be in the checkpoint",
        minutes=10,
        task="""\
Write `checkpoint(model, optimizer, iterator)`. It returns a `tf.train.Checkpoint` from which a
stopped training goes on as if it had never stopped. The model computes under `mixed_float16`, the
optimizer is a `LossScaleOptimizer` around Adam and not built yet, the iterator goes over shuffled
data. There is no dropout.

The check calls your function, trains, saves, and trains on. Then it calls your function with a new
model, a new optimizer and a new iterator, restores, trains on, and compares.""",
        stub=stub(checkpoint.CODE, "return a tf.train.Checkpoint"),
        solution=checkpoint.CODE,
        name="checkpoint",
        answer=checkpoint.judge,
        hints=[
            "What changes during a training? Each of these has to be an argument of"
            " `tf.train.Checkpoint`.",
            "A `LossScaleOptimizer` that is not built has no scale of its own:"
            " `optimizer.build(model.trainable_variables)`.",
        ],
        slips=checkpoint.SLIPS,
        right="Weights, averages, moments, scale, counter and the place in the data: all go on.",
    ),
]
