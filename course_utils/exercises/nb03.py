"""Prediction and exercises of notebook 03.

Example: `exercises.load("03")[5].check(774)`
"""

import functools

from . import checks03 as checks
from . import fade03 as layer
from .answers import describe
from .engine import Exercise, Prediction
from .layer03 import check_layer

TITLE = "Setting the policy"

FLOAT32_MB = 4 * 1_011_466 / 1e6


def read_guess(value):
    """Keep megabytes between 0.01 and 100.

    >>> read_guess(8.0)[1]
    'You expect 8 MB, 2 times as much as under float32. Section 1 measures it.'
    """
    if not 0.01 <= value <= 100:
        return None, (
            f"You gave {describe(value)}: give megabytes between 0.01 and 100, where 1 MB is"
            " 1,000,000 bytes."
        )
    return value, (
        f"You expect {value:g} MB, {value / FLOAT32_MB:.2g} times as much as under float32."
        " Section 1 measures it."
    )


PREDICTION = Prediction(
    task="""\
A CNN has 1,011,466 weights. Made under the policy `float32`, it keeps them in 4.05 MB (1 MB =
1,000,000 bytes). Now you make the same model under `mixed_float16`. In how many MB does it keep its
weights?

Only the weights count, no gradients and no optimizer. Guess before you run any code: a wrong guess
teaches more than none. Section 1 measures it.""",
    stub="guess = ...  # MB; under float32 it is 4.05\nq.predict(guess)",
    solution="guess = 2.02\nq.predict(guess)",
    read=read_guess,
)

EXERCISES = [
    Exercise(
        number=1,
        title="which layer computes in what",
        task="""\
A fresh kernel runs these lines. No policy was set before.

```python
first = keras.layers.Dense(64)
keras.config.set_dtype_policy("mixed_float16")
second = keras.layers.Dense(64)
third = keras.layers.Dense(10, dtype="float32")
keras.config.set_dtype_policy("mixed_bfloat16")
model = keras.Sequential([keras.Input((784,)), first, second, third])
keras.config.set_dtype_policy("float32")  # as it was
```

In which dtype does each layer of the model compute? Answer before you run them.""",
        stub="""\
answer = {"first": ..., "second": ..., "third": ...}  # "float32", "float16" or "bfloat16"
q[1].check(answer)""",
        solution="""\
answer = {"first": "float32", "second": "float16", "third": "float32"}
q[1].check(answer)""",
        checker=checks.check_compute_dtypes,
        hints=[
            "When does a layer get its policy: when it is made, when it gets its weights, or when"
            " it is called?",
            "Go down line by line and write beside each layer the policy in force at its line."
            " A `dtype` in the parentheses goes first.",
        ],
        wrong=[
            *(
                ({**checks.COMPUTE, name: d}, text)
                for (name, d), text in checks.NOT_ITS_DTYPE.items()
            ),
            ({**checks.COMPUTE, "second": "mixed_float16"}, "you gave a policy, `mixed_float16`"),
            ({**checks.COMPUTE, "third": "mixed_bfloat16"}, "you gave a policy, `mixed_bfloat16`"),
            ({**checks.COMPUTE, "second": "half"}, "the text 'half'; choose from"),
            ({**checks.COMPUTE, "second": 16}, "the number 16; choose from"),
        ],
        right="Where two dtypes meet, the later layer casts its inputs to its own compute dtype.",
    ),
    Exercise(
        number=2,
        title="a softmax in float16",
        task="""\
The last layer of a model computes a softmax in float16. For one image its logits are `[30, 0]`, and
the true class is class 1, the one with the logit 0. The loss is
`keras.losses.SparseCategoricalCrossentropy()`, which computes in float32: it takes the float16
probabilities, clips them to the range from 1e-7 to 1 − 1e-7, and takes minus the natural logarithm
of the true class's.

What is the loss, to two decimals? And its gradient with respect to the logit of class 1?""",
        stub="""\
answer = {"loss": ..., "gradient": ...}
q[2].check(answer)""",
        solution="""\
import keras
import tensorflow as tf

logits = tf.Variable([[30.0, 0.0]])
softmax = keras.layers.Activation("softmax", dtype="mixed_float16")
with tf.GradientTape() as tape:
    loss = keras.losses.SparseCategoricalCrossentropy()(tf.constant([1]), softmax(logits))
gradient = tape.gradient(loss, logits)
answer = {"loss": float(loss), "gradient": float(gradient[0, 1])}
q[2].check(answer)""",
        checker=checks.check_head,
        hints=[
            "The probability of class 1 is about e**-30 = 9e-14. Compare it with 1e-7.",
            "A clipped value is a constant. What does it say about the logit that it came from?",
        ],
        wrong=[
            *(({"loss": results[0], "gradient": 0}, text) for results, text in checks.NOT_THE_LOSS),
            ({"loss": float("inf"), "gradient": 0}, "clipping hides it"),
            ({"loss": float("nan"), "gradient": 0}, "nothing here divides 0 by 0"),
            ({"loss": 9, "gradient": 0}, "you gave 9. Which probability"),
            ({"loss": "16.118", "gradient": 0}, "give one number"),
            ({"loss": 16.118, "gradient": -1}, "The clip replaced the probability"),
            ({"loss": 16.118, "gradient": -0.5}, "averaged over two images"),
            ({"loss": 16.118, "gradient": -1e7}, "The clip multiplies it by a slope"),
            ({"loss": 16.118, "gradient": -30}, "does the clipped value change?"),
        ],
        right="The model is wrong with full confidence here, and it learns nothing from this image."
        " bfloat16 clips too: e**-30 lies in its range, and still below 1e-7.",
    ),
    Exercise(
        number=3,
        title="when compile scales the loss",
        task="""\
Five models, each a `keras.Sequential` with two Dense layers. Each is compiled with
`model.compile(optimizer="sgd", loss="mse")`. Which of them get loss scaling from `compile`?

- **global**: the global policy is `mixed_float16`; the model is made and compiled under it
- **per layer**: the global policy is `float32`, and both layers have `dtype="mixed_float16"`
- **mixed**: like global, with the policy `mixed_bfloat16`
- **pure**: like global, with the policy `float16`
- **reset**: made under `mixed_float16`; the global policy is set to `float32`; then compiled""",
        stub="""\
answer = {  # True or False
    "global": ...,
    "per layer": ...,
    "mixed": ...,
    "pure": ...,
    "reset": ...,
}
q[3].check(answer)""",
        solution="""\
answer = {  # True or False
    "global": True,
    "per layer": False,
    "mixed": False,
    "pure": False,
    "reset": True,
}
q[3].check(answer)""",
        checker=checks.check_scaling,
        hints=[
            "`compile` compares one name, that of `model.dtype_policy`. When does a model get it?",
            "After `compile`, a scaled model shows a `LossScaleOptimizer` in"
            " `type(model.optimizer)`.",
        ],
        wrong=[
            *(
                ({**checks.SCALED, model: not right}, checks.NOT_SO[model])
                for model, right in checks.SCALED.items()
            ),
            ({**checks.SCALED, "reset": "yes"}, "the text 'yes'; give True or False"),
            ({**checks.SCALED, "reset": 1}, "the number 1; give True or False"),
        ],
        right="For the model with the policy in its layers, wrap the optimizer yourself:"
        " `keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())` as `optimizer`.",
    ),
    Exercise(
        number=4,
        title="repair a layer",
        task="""\
The layer below multiplies each feature by a gain of its own and adds a ramp from 0 to 1. In float32
it works. Under a mixed policy it computes in float32 all the same, and Keras never trains its gain.

Repair it for the policies `mixed_float16`, `mixed_bfloat16` and `float32`, with one class for all:

- the gain is a float32 weight that Keras trains, and it begins at 1,
- it computes, and returns, in the compute dtype of the policy,
- the values stay within 0.01 of float32's.

The check makes the layer under each policy and calls it.""",
        stub="""\
import keras
import tensorflow as tf


class Fade(keras.layers.Layer):
    def build(self, input_shape):
        self.gain = tf.Variable(tf.ones(input_shape[-1]))

    def call(self, inputs):
        ramp = tf.linspace(0.0, 1.0, inputs.shape[-1])
        return tf.cast(inputs, "float32") * self.gain + ramp


answer = ...  # repair Fade above, then put Fade here
q[4].check(answer)""",
        solution="""\
import keras
import tensorflow as tf


class Fade(keras.layers.Layer):
    def build(self, input_shape):
        self.gain = self.add_weight(shape=(input_shape[-1],), initializer="ones")

    def call(self, inputs):
        ramp = tf.linspace(0.0, 1.0, inputs.shape[-1])
        return inputs * self.gain + tf.cast(ramp, self.compute_dtype)


answer = Fade
q[4].check(answer)""",
        checker=check_layer,
        hints=[
            "`self.add_weight` makes a float32 weight that Keras trains, saves, and casts whenever"
            " `call` reads it.",
            "The inputs reach `call` in the compute dtype already. Of the three parts, only the"
            " ramp is left in float32, and `self.compute_dtype` names what it has to become.",
        ],
        wrong=[
            (layer.given, "promotes what Keras hands it in float16, and nothing is gained"),
            (
                layer.fade(weight=layer.raw, output=layer.times_gain),
                "not a raw `tf.Variable`",
            ),
            (layer.fade(ramp=layer.float32_ramp), "no constant that you make in `call`"),
            (layer.fade(weight=layer.raw, output=layer.cast_gain), "neither trained nor saved"),
            (
                layer.fade(weight=functools.partial(layer.added, dtype="float16")),
                "master weights are lost",
            ),
            (layer.fade(output=layer.in_dtype("float16")), "Under mixed_bfloat16 the output is"),
            (layer.fade(output=layer.cast_at_the_end), "still works in float32"),
            (layer.fade(ramp=layer.float16_ramp), "Some float16 is written into the layer"),
            (layer.fade(policy="mixed_float16"), "follows the global policy"),
            (
                layer.fade(weight=functools.partial(layer.added, initializer="zeros")),
                "does not begin at 1",
            ),
            (
                layer.fade(weight=functools.partial(layer.added, trainable=False)),
                "has no trainable weight",
            ),
            (layer.fade(output=lambda self, x, ramp: x * self.gain), "The ramp is missing."),
            (layer.fade(output=lambda self, x, ramp: x + ramp), "The gain is missing."),
            (layer.fade(output=lambda self, x, ramp: None), "end `call` with `return`"),
            (lambda units: units, "raises TypeError"),
            ("Fade", "give the class itself"),
        ],
        right="Only the ramp needed a cast: Keras casts a layer's inputs and its weights, and"
        " constants are yours.",
    ),
    Exercise(
        number=5,
        title="going further: padding to a multiple of 8",
        task="""\
Matrix units of GPUs work best when the sizes of a float16 product are multiples of 8. So you pad
the head of the CNN, `Dense(10)` behind 128 inputs, to the next multiple of 8.

How many parameters does the model gain?""",
        stub="answer = ...  # new parameters\nq[5].check(answer)",
        solution="answer = (16 - 10) * (128 + 1)\nq[5].check(answer)",
        checker=checks.check_padding,
        hints=[
            "What is the smallest multiple of 8 that holds 10 classes?",
            "Each output of a Dense layer has one weight for each input, and a bias.",
        ],
        wrong=[
            *((n, text) for n, text in checks.NOT_THE_PADDING.items()),
            (700, "New outputs times the parameters"),
            ("774", "give the number of new parameters"),
        ],
        right="That is 0.08 % of 1,011,466. No label names the 6 new classes, so training pushes"
        " their probabilities toward 0.",
    ),
]
