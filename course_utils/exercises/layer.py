"""The judge of a custom layer under each policy, in notebook 03."""

import re

import numpy as np

from .answers import call, describe, shorten
from .functions import Function

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
ONES, GAIN, RAMP = 'initializer="ones"', "self.gain +", "tf.cast(ramp, self.compute_dtype)"
MADE = f"self.add_weight(shape=(input_shape[-1],), {ONES})"
RAW = {MADE: "tf.Variable(tf.ones(input_shape[-1]))"}
GIVEN = RAW | {"inputs *": 'tf.cast(inputs, "float32") *', RAMP: "ramp"}  # the layer of the task
PRODUCT = 'tf.cast(inputs, "float32") * tf.cast(self.gain, "float32")'
SUM = f"inputs * {GAIN} {RAMP}"
OWN = "def __init__(self):\n        super().__init__(dtype='mixed_float16')"
SLIPS = {  # a part of what is said, and the edits that make the right layer a wrong one
    "promotes what Keras hands it in float16, and nothing is gained": GIVEN,
    "not a raw `tf.Variable`": RAW,
    "no constant that you make in `call`": {RAMP: "ramp"},
    "neither trained nor saved": RAW | {GAIN: "tf.cast(self.gain, self.compute_dtype) +"},
    "master weights are lost": {ONES: f'{ONES}, dtype="float16"'},
    "Under mixed_bfloat16 the output is": {SUM: f"tf.cast({SUM}, 'float16')"},
    "still works in float32": {SUM: f"tf.cast({PRODUCT} + ramp, self.compute_dtype)"},
    "Some float16 is written into the layer": {RAMP: "tf.cast(ramp, 'float16')"},
    "follows the global policy": {"def build": f"{OWN}\n\n    def build"},
    "does not begin at 1": {"ones": "zeros"},
    "has no trainable weight": {ONES: f"{ONES}, trainable=False"},
    "The ramp is missing.": {f"+ {RAMP}": ""},
    "The gain is missing.": {"* self.gain": ""},
    "end `call` with `return`": {f"return {SUM}": "pass"},
}
POLICIES = (("mixed_float16", "float16"), ("mixed_bfloat16", "bfloat16"), ("float32", "float32"))
FEATURES, TOLERANCE = 8, 1e-2
NOT_THE_VALUES = [  # functions of inputs, gain and ramp, and what to say
    (lambda x, gain, ramp: x * gain, "The ramp is missing."),
    (lambda x, gain, ramp: x + ramp, "The gain is missing."),
    (lambda x, gain, ramp: (x + ramp) * gain, "The ramp is added after the gain, not before it."),
    (lambda x, gain, ramp: x * gain * ramp, "The ramp is added, not multiplied."),
    (lambda x, gain, ramp: x + gain + ramp, "The inputs are multiplied by the gain."),
]


def example():
    """Inputs and gain that bfloat16 holds exactly: float32 (5, 8) and (8,), in sixteenths."""
    rng = np.random.default_rng(3)
    inputs = rng.integers(-16, 17, (5, FEATURES)) / 16
    gain = rng.integers(4, 13, FEATURES) / 16
    return inputs.astype(np.float32), gain.astype(np.float32)


def check(answer, trial):
    """What is wrong with a class of layers, or a function that makes them, under a policy."""
    import keras  # late: it loads TensorFlow

    from course_utils.training import dtype_policy

    if isinstance(answer, keras.layers.Layer):
        return "You gave a layer: give the class itself, without parentheses."
    policy, dtype = trial
    with dtype_policy(policy):
        layer, problem = _made(answer, keras)
        problem = problem or _dtype_problem(layer, policy, dtype, keras)
        return problem or _weight_problem(layer) or _value_problem(layer, policy, keras)


def _made(answer, keras):
    """The layer that a class or a function gives, or what is wrong."""
    layer, problem = call(answer)
    if problem is None and not isinstance(layer, keras.layers.Layer):
        problem = f"Your function returns {describe(layer)} where a Keras layer is needed."
    if problem and isinstance(answer, type):
        problem = problem.replace("Your function", "You gave a class that", 1)
    return layer, problem


def _run(layer, inputs):
    """The layer's result for inputs: `(it, None)`, or `(None, "raises ...")`."""
    output, problem = call(layer, inputs)
    if problem:
        problem = problem.removeprefix("Your function ").rstrip(".")
        problem = re.sub(rf"\b{re.escape(layer.name)}\b", type(layer).__name__, problem)  # fade_1
    return output, problem


def _dtype_problem(layer, policy, dtype, keras):
    """What is wrong with the dtypes of a layer that was made under a policy."""
    from course_utils.precision.inside import works_in_float32

    own, problem = call(lambda: layer.dtype_policy.name)
    if problem:  # an `__init__` that leaves Keras's own out
        return "You gave a class whose `__init__` lacks `super().__init__()`; here none is needed."
    if own != policy:
        return (
            f"Under {policy} your layer has the policy {shorten(own, 30)}. Give it no `dtype` and"
            " make it anew each time, so that it follows the global policy."
        )
    output, problem = _run(layer, example()[0])
    if problem:
        return f"Under {policy} your layer {problem}. {_advice(layer, problem, dtype)}"
    found, _ = call(lambda: keras.backend.standardize_dtype(output.dtype))
    if found is None or getattr(output, "shape", None) is None:  # no tensor, whatever it is
        return f"Your layer returns {describe(output)}: end `call` with `return` and one tensor."
    if found != dtype:
        said = "the dtype is written into the layer. `self.compute_dtype` follows."
        if found == "float32":
            said = f"your layer promotes what Keras hands it in {dtype}, and nothing is gained."
            said += " Which part of it is float32?"
        return f"Under {policy} the output is {found}: {said}"
    for weight in layer.weights:
        if weight.dtype in ("float16", "bfloat16"):
            return (
                f"Your layer stores a weight in {weight.dtype}: the float32 master weights are"
                " lost, and with them small updates. Leave the `dtype` out where it is made."
            )
        if weight.dtype != "float32":
            return f"Your layer stores a weight in {weight.dtype}; float32 is asked for."
    # A layer that cannot be traced is told so below.
    if dtype != "float32" and call(works_in_float32, layer, example()[0])[0]:
        return (
            f"Under {policy} your layer still works in float32 and casts only its result: nothing"
            f" is gained. Keras hands `call` the inputs and the gain in {dtype}; leave them so."
        )
    _, problem = _run(layer, keras.KerasTensor((None, FEATURES)))
    if problem:
        return f"In a model, where Keras traces it, your layer {problem}. Use tensors alone."
    return None


def _advice(layer, problem, dtype):
    """One sentence on an error, by the dtypes that it names."""
    names = {"half": "float16", "float": "float32", "double": "float64"}
    met = {names.get(name, name) for name in re.findall(r"\b(\w+) tensor\b", problem)}
    if written := met & {"float16", "bfloat16"} - {dtype}:
        return (
            f"Some {min(written, key=len)} is written into the layer: `self.compute_dtype` follows"
            " the policy."
        )
    if "float32" in met and "Mul" in problem and _has_raw_variable(layer):
        return "Keras casts the inputs and its own variables, not a raw `tf.Variable`."
    if "float32" in met:
        return (
            "Keras casts no constant that you make in `call`: cast it to `self.compute_dtype`, for"
            " `self.dtype` is that of the variables."
        )
    if re.search("`name` must be|multiple values for argument 'shape'", problem):
        return 'Write `name="gain"`, or leave the name out.'
    if "to a shape" in problem.lower():
        return "A shape is a tuple: `shape=(input_shape[-1],)`."
    return "Read its first words."


def _has_raw_variable(layer):
    return any(type(value).__name__ == "ResourceVariable" for value in vars(layer).values())


def _weight_problem(layer):
    """What is wrong with the one trainable weight of a layer that was called."""
    weights = layer.trainable_weights
    if len(weights) == 1:
        shape = tuple(weights[0].shape)
        if np.prod(shape) != FEATURES:
            said = f"Your gain has the shape {shape} for {FEATURES} features"
            return f"{said}; it needs one number for each."
        if not np.all(np.asarray(weights[0]) == 1):
            return 'Your gain does not begin at 1: give `add_weight` an `initializer="ones"`.'
        return None
    if weights:
        return f"Your layer has {len(weights)} trainable weights; the gain is the only one."
    if _has_raw_variable(layer):
        said = "Keras does not see your variable: it is neither trained nor saved."
        return f"{said} `self.add_weight` makes one that Keras knows."
    return "Your layer has no trainable weight: make the gain with `self.add_weight`."


def _value_problem(layer, policy, keras):
    """Compare the layer with float64, at a gain that differs from feature to feature."""
    import tensorflow as tf

    inputs, gain = example()
    weight = layer.trainable_weights[0]
    weight.assign(gain.reshape(weight.shape))
    with tf.GradientTape() as tape:
        output, problem = _run(layer, inputs)
        total = None if problem else keras.ops.sum(output)
    if problem:
        return f"Called again under {policy}, your layer {problem}."
    values = keras.ops.convert_to_numpy(keras.ops.cast(output, "float32"))
    ramp = np.linspace(0, 1, FEATURES)
    right = inputs * gain.astype(np.float64) + ramp
    if values.shape != right.shape:
        return f"Your layer turns the shape {right.shape} into {values.shape}; it has to stay."
    if not np.allclose(values, right, rtol=0, atol=TOLERANCE):
        for wrong, message in NOT_THE_VALUES:
            if np.allclose(values, wrong(inputs, gain, ramp), rtol=0, atol=TOLERANCE):
                return f"Your layer gives other values than the one of the task. {message}"
        off = float(np.max(np.abs(values - right)))
        return (
            f"Under {policy} a value of your layer is off by {off:.3g}; 0.01 is allowed. Change"
            " dtypes alone, not what is computed."
        )
    if tape.gradient(total, weight) is None:
        return "No gradient reaches your gain: `call` has to use the variable itself."
    return None


judge = Function(check, POLICIES, asked="the class itself")
