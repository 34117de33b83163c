"""Prediction and exercises of notebook 06.

Example: `exercises.load("06")[2].check((0.6, 0.8))`
"""

from . import adam06 as adam
from . import checks06 as checks
from . import loop06 as loop
from . import metric06 as metric
from . import resume06 as resume
from . import wrong06 as wrong
from .answers import describe
from .engine import Exercise, Prediction

TITLE = "Your own training loop"


def read_guess(value):
    """Keep a percentage above 0 and up to 100; a number up to 1 is a percentage too.

    >>> read_guess(10.0)
    (10.0, 'You expect that 10 % of the test images are right. Section 2 measures it.')
    """
    if not 0 < value <= 100:
        return (
            None,
            f"You gave {describe(value)}: give a percentage above 0 and up to 100, such as 10 for"
            " one in ten.",
        )
    if value <= 1:
        return value, (
            f"Read as {value:g} %. If you mean a share of {value:g}, give {100 * value:g};"
            " section 2 measures it."
        )
    return value, (
        f"You expect that {value:g} % of the test images are right. Section 2 measures it."
    )


PREDICTION = Prediction(
    task="""\
A network learns ten handwritten digits with Adam, under `mixed_float16` and in a loop of your own.
The right loop gets about 90 % of the test images right, more or less, depending on which digits
you have. Now a loop forgets to scale the loss, and the optimizer unscales all the same: every
gradient arrives 32,768 times too small.

After the same number of steps, what percentage of the test images does that loop get right? Blind
guessing gets 10 % of them. Guess before you run any code; section 2 measures it.""",
    stub="guess = ...  # percent of the test images, 100 = all\nq.predict(guess)",
    solution="guess = 10\nq.predict(guess)",
    read=read_guess,
)

EXERCISES = [
    Exercise(
        number=1,
        title="four loops, four results",
        task="""\
A weight w = 1 has the true gradient 0.5. The loss is multiplied by S = 1024, and plain SGD with
learning rate 0.1 takes one step. Four loops do it:

- `right`: the gradient is divided by S, then the weight is updated.
- `never unscaled`: the weight is updated with the gradient as the tape gives it.
- `unscaled twice`: the loop divides by S, and the optimizer divides once more.
- `updated then unscaled`: the weight is updated with the scaled gradient, then the weight is
  divided by S.

The four results are 0.95, −50.2, 0.99995 and −0.049. Which loop gives which?""",
        stub="""\
answer = {
    "right": ...,
    "never unscaled": ...,
    "unscaled twice": ...,
    "updated then unscaled": ...,
}
q[1].check(answer)""",
        solution="""\
w, gradient, lr, S = 1, 0.5, 0.1, 1024
answer = {
    "right": w - lr * gradient,
    "never unscaled": w - lr * (S * gradient),
    "unscaled twice": w - lr * (S * gradient) / S / S,
    "updated then unscaled": (w - lr * (S * gradient)) / S,
}
q[1].check(answer)""",
        checker=checks.check_results,
        hints=[
            "The tape gives S times the gradient, 512. What is the step of each loop?",
            "One loop takes a step of 0.05, two of 51.2, and one of 0.05 / 1024.",
        ],
        wrong=wrong.RESULTS,
        right="A loop that forgets `scale_loss` ends at 0.99995 too: the optimizer divides by S.",
    ),
    Exercise(
        number=2,
        title="clip, then unscale",
        task="""\
Two weights have the true gradient (3, 4). The loss is multiplied by S = 32,768. A loop clips the
gradient that the tape gives to the length 1, as `tf.clip_by_norm(gradient, 1.0)` does, and divides
it by S afterwards. Which two numbers reach the update? Three digits are enough.""",
        stub="answer = (..., ...)\nq[2].check(answer)",
        solution="""\
S = 2**15
scaled = (3 * S, 4 * S)
length = (scaled[0] ** 2 + scaled[1] ** 2) ** 0.5
answer = (scaled[0] / length / S, scaled[1] / length / S)
q[2].check(answer)""",
        checker=checks.check_clipped,
        hints=[
            "The tape gives S times (3, 4), of length 5 S. Clipping divides it by its length.",
            "After clipping it is (0.6, 0.8), whatever S is. Now the division by S.",
        ],
        wrong=wrong.CLIPPED,
        right="Every update has at most the length 1 / S. Clip after unscaling: on the inner"
        " optimizer.",
    ),
    Exercise(
        number=3,
        title="where Adam stops hiding",
        task="""\
A loop unscales twice with S = 32,768, so Adam sees g / S. Keras's Adam has ε = 1e-7. If the
gradient is the same in every step, then after many steps the update is lr · g / (|g| + ε).

**First**, on paper: at which true |g| is the update half of the right loop's?

**Then** measure: with g = 0.001, what share of the right update is left? `last_update([a, b])`
makes 3,000 steps with each of the two gradients and returns the two last updates: for which a and
b?""",
        stub="""\
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

answer = {"halved at": ..., "share at 0.001": ...}
q[3].check(answer)""",
        solution="""\
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

small, full = last_update([0.001 / 32768, 0.001])
answer = {"halved at": 32768 * 1e-7, "share at 0.001": small / full}
q[3].check(answer)""",
        checker=adam.check_adam,
        hints=[
            "x / (x + ε) is one half where x = ε. Here x is what reaches Adam: |g| / S.",
            "`last_update([0.001 / 32768, 0.001])` returns two updates: divide the first by the"
            " second.",
        ],
        wrong=wrong.ADAM,
        right="Far below S · ε Adam behaves like SGD. In the first step ε counts 32 times as much.",
    ),
    Exercise(
        number=4,
        title="one step for every policy",
        task="""\
Write `step(model, optimizer, loss_fn, x, y)`: one training step that updates the model and returns
the loss of the batch, unscaled. It has to be right under `float32`, `mixed_float16` and
`mixed_bfloat16`, with a plain optimizer and with a `LossScaleOptimizer`, without asking which one
it was given. `loss_fn(y, predictions)` returns one number.

Use `optimizer` as it comes; do not build it in the step. The check trains small networks of its
own and compares weights, loss scale and loss after each step. In the last run the first scale is
2³⁰, and gradients overflow. The networks have a `BatchNormalization`: call them with
`training=True`.""",
        stub="""\
import tensorflow as tf


def step(model, optimizer, loss_fn, x, y):
    ...  # update the model, return the loss


q[4].check(step)""",
        solution="""\
import tensorflow as tf


def step(model, optimizer, loss_fn, x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


q[4].check(step)""",
        checker=loop.check_step,
        hints=[
            "Every optimizer of Keras has `scale_loss`; a plain one gives the loss back unchanged.",
            "`apply` unscales, looks for infinity, skips and moves the scale. Give it the gradients"
            " as they are.",
        ],
        wrong=wrong.STEPS,
        right="Six combinations and an overflow: weights, scale and loss are those of the right"
        " loop.",
    ),
    Exercise(
        number=5,
        title="what must be in the checkpoint",
        task="""\
Write `checkpoint(model, optimizer, iterator)`. It returns a `tf.train.Checkpoint` from which a
stopped training goes on as if it had never stopped. The model computes under `mixed_float16`, the
optimizer is a `LossScaleOptimizer` around Adam and not built yet, the iterator goes over shuffled
data. There is no dropout.

The check calls your function, trains, saves, and trains on. Then it calls your function with a new
model, a new optimizer and a new iterator, restores, trains on, and compares.""",
        stub="""\
import tensorflow as tf


def checkpoint(model, optimizer, iterator):
    ...  # return a tf.train.Checkpoint


q[5].check(checkpoint)""",
        solution="""\
import tensorflow as tf


def checkpoint(model, optimizer, iterator):
    optimizer.build(model.trainable_variables)
    return tf.train.Checkpoint(model=model, optimizer=optimizer, iterator=iterator)


q[5].check(checkpoint)""",
        checker=resume.check_checkpoint,
        hints=[
            "What changes during a training? Each of these has to be an argument of"
            " `tf.train.Checkpoint`.",
            "A `LossScaleOptimizer` that is not built has no scale of its own:"
            " `optimizer.build(model.trainable_variables)`.",
        ],
        wrong=wrong.CHECKPOINTS,
        right="Weights, averages, moments, scale, counter and the place in the data: all go on.",
    ),
    Exercise(
        number=6,
        title="optional: a mean that is not poisoned",
        task="""\
A loop has collected the loss of each step of an epoch, a list of numbers. Where a forward pass
overflowed, the loss is NaN or infinity. Those steps were skipped. Write `epoch_loss(losses)`: it
returns two values, the mean of the finite losses and how many are not finite. If none is finite,
the mean is NaN.""",
        stub="""\
import numpy as np


def epoch_loss(losses):
    ...  # return the mean, the count


q[6].check(epoch_loss)""",
        solution="""\
import numpy as np


def epoch_loss(losses):
    losses = np.array(losses)
    finite = losses[np.isfinite(losses)]
    mean = finite.mean() if len(finite) else np.nan
    return mean, len(losses) - len(finite)


q[6].check(epoch_loss)""",
        checker=metric.check_epoch_loss,
        hints=[
            "`np.isfinite` is True for numbers that are neither NaN nor infinity.",
            "Select the finite ones: multiplying by 0 does not help, since NaN times 0 is NaN.",
        ],
        wrong=wrong.METRICS,
        right="The count belongs beside the mean: one bad step is normal, a hundred are a fault.",
    ),
]
