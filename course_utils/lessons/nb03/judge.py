"""The judge of a custom layer under each policy, in notebook 03."""

import numpy as np

from course_utils.exercises.answers import Mistake, attempt, call, describe
from course_utils.exercises.functions import Function

CODE = """\
import keras
import tensorflow as tf


class Fade(keras.layers.Layer):
    def build(self, input_shape):
        self.gain = self.add_weight(shape=(input_shape[-1],), initializer="ones")

    def call(self, inputs):
        ramp = tf.linspace(0.0, 1.0, inputs.shape[-1])
        return inputs * self.gain + tf.cast(ramp, self.compute_dtype)

"""
ONES = 'initializer="ones"'
GAIN = "self.gain +"
RAMP = "tf.cast(ramp, self.compute_dtype)"
RAW = {
    f"self.add_weight(shape=(input_shape[-1],), {ONES})": "tf.Variable(tf.ones(input_shape[-1]))"
}
# the layer that the task shows
TASK_LAYER = RAW | {"inputs *": 'tf.cast(inputs, "float32") *', RAMP: "ramp"}
PRODUCT = 'tf.cast(inputs, "float32") * tf.cast(self.gain, "float32")'
SUM = f"inputs * {GAIN} {RAMP}"
SLIPS = {  # a part of what is said, and the edits that make the right layer a wrong one
    "the output is float32: your layer promotes": TASK_LAYER,
    "Keras casts inputs and weights from": [RAW, {RAMP: "ramp"}],
    "neither trained nor saved": RAW
    | {GAIN: "tf.cast(self.gain, self.compute_dtype) +"},
    "master weights are lost": {ONES: f'{ONES}, dtype="float16"'},
    "Under mixed_bfloat16 the output is float16": {SUM: f"tf.cast({SUM}, 'float16')"},
    "still works in float32": {SUM: f"tf.cast({PRODUCT} + ramp, self.compute_dtype)"},
    "Under mixed_bfloat16 your layer raises": {RAMP: "tf.cast(ramp, 'float16')"},
    "does not begin at 1": {"ones": "zeros"},
    "off by 1; 0.01 is allowed": {f"+ {RAMP}": ""},
    "end `call` with `return`": {f"return {SUM}": "pass"},
}
POLICIES = ("mixed_float16", "mixed_bfloat16", "float32")
# bfloat16 holds them exactly
INPUTS = np.arange(-16, 24, dtype="float32").reshape(5, 8) / 16
GAINS = np.arange(4, 12, dtype="float32") / 16
CASTS = "Keras casts inputs and weights from `self.add_weight`, no `tf.Variable` and no constant."


def check(answer: object, policy: str) -> str | None:
    """What is wrong with a class of layers under a policy, or None."""
    import keras  # late: it loads TensorFlow

    from course_utils.training import dtype_policy

    with dtype_policy(policy):
        layer = call(answer)
        if not isinstance(layer, keras.layers.Layer):
            return f"That makes {describe(layer)}: give the class of your layer."
        try:
            output = call(layer, INPUTS, what=f"Under {policy} your layer")
        except Mistake as mistake:
            why = str(mistake)
            # "float32", "a float tensor": no typing error
            about_dtypes = "float" in why.partition("raises ")[2]
            return f"{why}. {CASTS}" if about_dtypes else f"{why}."
        output_dtype = attempt(lambda: keras.backend.standardize_dtype(output.dtype))
        if output_dtype is None or getattr(output, "shape", None) is None:  # no tensor
            return f"Your layer returns {describe(output)}: end `call` with `return` and a tensor."
        return _dtype_problem(layer, policy, output_dtype) or _number_problem(layer)


def _dtype_problem(layer, policy, output_dtype):
    """What is wrong with a layer that returns this dtype under a policy, or None."""
    dtype = policy.removeprefix("mixed_")
    if output_dtype == "float32" != dtype:
        return (
            f"Under {policy} the output is float32: your layer promotes what Keras hands it in "
            f"{dtype}. Which part is float32?"
        )
    if output_dtype != dtype:
        return (
            f"Under {policy} the output is {output_dtype}: something in the layer sets it. "
            "`self.compute_dtype` follows the policy."
        )
    if any(weight.dtype != "float32" for weight in layer.weights):
        return (
            "Your layer stores a weight in 16 bits: the float32 master weights are lost. "
            "Leave the `dtype` out where it is made."
        )
    # Tracing runs the learner's code, which may raise there and nowhere else.
    hides_float32 = attempt(lambda: _leaves(layer, dtype))
    if dtype != "float32" and hides_float32:
        return (
            f"Under {policy} your layer still works in float32 and casts only its result. "
            f"Keras hands it the inputs and the gain in {dtype}."
        )
    return None


def _leaves(layer, dtype):
    """Whether a layer casts anything that it has in a 16-bit dtype to a wider one."""
    import keras
    from mixed_precision_lint.calls import calls_of, symbols

    model = keras.Sequential([keras.Input(GAINS.shape), layer])
    return any(
        operation.type == "Cast" and operation.inputs[0].dtype == dtype
        for called in calls_of(model, symbols(model))
        for operation in called.operations
    )


def _number_problem(layer):
    """What is wrong with the weight of a layer that was called, or with what it
    computes.
    """
    if len(layer.trainable_weights) != 1:
        return (
            "Keras knows no trainable weight of yours, or several: a raw `tf.Variable` is "
            "neither trained nor saved. `self.add_weight` makes the gain."
        )
    weight = layer.trainable_weights[0]
    if tuple(weight.shape) != GAINS.shape:
        return f"Your gain has the shape {tuple(weight.shape)}, and the inputs have 8 features."
    if not np.all(np.asarray(weight) == 1):
        return (
            'Your gain does not begin at 1: give `add_weight` an `initializer="ones"`.'
        )
    weight.assign(GAINS)  # it differs from feature to feature
    right = INPUTS * GAINS + np.linspace(0, 1, 8)
    error = np.abs(np.asarray(layer(INPUTS), float) - right).max()
    if error <= 0.01:
        return None
    return f"A value of your layer is off by {error:.3g}; 0.01 is allowed. Change dtypes alone."


judge = Function(check, POLICIES)
