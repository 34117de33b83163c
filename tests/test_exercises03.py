"""Notebook 03's exercises: every answer run or counted again, and many other layers."""

import re

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from course_utils import exercises
from course_utils.exercises import layer, nb03
from course_utils.exercises.functions import edited
from course_utils.models import mnist_cnn


def verdict(number, answer):
    return exercises.load("03")[number].check(answer)


@pytest.fixture(autouse=True)
def policy():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    yield
    keras.config.set_dtype_policy(before)


def test_guesses_are_told_in_the_megabytes_that_section_1_measures():
    assert sum(w.numpy().nbytes for w in mnist_cnn().weights) / 1e6 == nb03.FLOAT32_MB
    assert f"in {nb03.FLOAT32_MB:.2f} MB" in nb03.PREDICTION.task
    said = exercises.load("03").predict(2.02).message
    assert said == "You expect 2.02 MB, 0.5 times as much as under float32. Section 1 measures it."


def test_the_lines_of_the_task_give_the_dtypes():
    names = {"keras": keras}
    task = exercises.load("03")[1].exercise.task
    exec(re.search(r"```python\n(.*?)```", task, re.S)[1], names)
    x = np.ones((1, 784), "float32")
    outputs = [x := each(x) for each in names["model"].layers]
    dtypes = [keras.backend.standardize_dtype(output.dtype) for output in outputs]
    assert dtypes == list(nb03.COMPUTE.right.values())  # the third one casts what it gets


def test_dtypes_may_be_named_in_other_ways():
    for second in ("float16", " Float16 ", tf.float16, np.float16, np.dtype("float16")):
        answer = {"first": tf.float32, "second": second, "third": np.float32}
        assert verdict(1, answer).status == "correct"
    assert "third: not `bfloat16`" in verdict(1, {**answer, "third": ml_dtypes.bfloat16}).message


def sequential(policy, own=None, then=None, optimizer="sgd"):
    keras.config.set_dtype_policy(policy)
    layers = [keras.layers.Dense(n, dtype=own) for n in (4, 1)]
    model = keras.Sequential([keras.Input((3,)), *layers])
    keras.config.set_dtype_policy(then or policy)
    model.compile(optimizer=optimizer, loss="mse")
    return isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)


def test_what_compile_does():
    assert nb03.SCALED.right == {
        "global": sequential("mixed_float16"),
        "per layer": sequential("float32", own="mixed_float16"),
        "mixed": sequential("mixed_bfloat16"),
        "pure": sequential("float16"),
        "reset": sequential("mixed_float16", then="float32"),
    }
    answer = {name: np.bool_(right) for name, right in nb03.SCALED.right.items()}
    assert verdict(2, answer).status == "correct"
    by_hand = re.search(r"`(keras\.optimizers.*)` as", exercises.load("03")[2].exercise.right)[1]
    assert sequential("float32", own="mixed_float16", optimizer=eval(by_hand))


# --- a layer ------------------------------------------------------------------------------------


def fade(edits=()):
    return edited(layer.CODE, "Fade", edits)


LINSPACE = "tf.linspace(0.0, 1.0, inputs.shape[-1])"
ONES, SUM, RAMP, BUILD = layer.ONES, layer.SUM, layer.RAMP, "def build(self, input_shape):"
RIGHT = [
    {SUM: f"keras.ops.add(keras.ops.multiply(self.gain, inputs), {RAMP})"},
    {LINSPACE: "__import__('numpy').linspace(0, 1, 8)", RAMP: "ramp"},
    {LINSPACE: "keras.ops.linspace(0, 1, 8, dtype=self.compute_dtype)", RAMP: "ramp"},
    {BUILD: "def __init__(self):\n        super().__init__()", "input_shape[-1]": "8"},
    {layer.MADE: "keras.Variable([[1.0] * 8])"},
    {ONES: f'{ONES}, dtype="float32"', RAMP: "tf.cast(ramp, self.gain.dtype)"},
]


def test_other_right_layers():
    for edits in RIGHT:
        assert verdict(3, fade(edits)).status == "correct", edits


def test_the_layer_of_the_stub_is_the_one_that_is_told():
    names = {}
    exec(exercises.load("03")[3].exercise.stub.replace("answer = ...", ""), names)
    said = verdict(3, names["Fade"]).message
    assert said.startswith("Under mixed_float16 the output is float32:")
    made, (x, _) = names["Fade"](), layer.example()
    assert np.allclose(made(x), x + np.linspace(0, 1, 8))  # in float32 it works
    assert not made.weights and not made.trainable_variables  # and Keras trains nothing


def begins(*lines):
    """The edits that give the layer an `__init__`."""
    return {BUILD: "\n        ".join(["def __init__(self):", *lines]) + f"\n\n    {BUILD}"}


ONE = fade()()  # made once, under float32
WRONG = {
    "promotes what Keras hands": {ONES: f"{ONES}, autocast=False", RAMP: "ramp"},
    "output is float64: the dtype is written": {SUM: "tf.cast(inputs, 'float64')"},
    "a weight in float64; float32": {layer.MADE: "keras.Variable([1.0] * 8, dtype='float64')"},
    "No gradient": {"self.gain +": "tf.stop_gradient(self.gain.value) +"},
    "In a model, where Keras traces": {RAMP: f"{RAMP} * float(inputs.numpy().max() > -9)"},
    "is off by 0.2": {RAMP: f"{RAMP} ** 2"},
    "here none is needed": begins("self.size = 8"),
    "raises RuntimeError": begins("keras.config.set_dtype_policy('float64')", "raise RuntimeError"),
    "has 2 trainable weights": {f"{ONES})": f"{ONES})\n        self.add_weight(shape=(8,))"},
    "has the shape () for 8 features": {"(input_shape[-1],)": "()"},
    "after the gain, not before": {SUM: f"(inputs + {RAMP}) * self.gain"},
    "raises AttributeError: 'Fade' object has no attr": {"* self.gain": "* self.gian"},
    "Your layer returns a list of 1 items": {SUM: "[inputs]"},
    "raises SystemExit: 3": {SUM: "__import__('sys').exit(3)"},
    "turns the shape (5, 8) into (5, 1)": {SUM: "(inputs * self.gain)[:, :1]"},
}
OTHERS = {
    "has the policy float32": lambda: ONE,
    "without parentheses": ONE,
    "You gave a class that raises TypeError": keras.layers.Dense,
    "You gave a class that returns the number 0": int,
}


def test_other_wrong_layers():
    keras.config.set_dtype_policy("mixed_bfloat16")
    for said, answer in ({said: fade(edits) for said, edits in WRONG.items()} | OTHERS).items():
        feedback = verdict(3, answer)
        assert feedback.status == "not yet" and said in feedback.message, (said, feedback)
        assert not re.search(r"\x1b|\{\{|0x|_\d\b", feedback.message)
        assert keras.config.dtype_policy().name == "mixed_bfloat16"  # as it was found


def test_the_trial_leaves_room_for_any_order_of_rounding():
    inputs, gain = layer.example()
    for array in (inputs, gain):
        assert np.array_equal(array.astype(ml_dtypes.bfloat16).astype("float32"), array)
    # Three roundings to 8 bits: the product and the ramp, both up to 1, and their sum up to 2.
    assert np.abs(inputs * gain).max() <= 1 and 2.0**-9 + 2.0**-9 + 2.0**-8 < layer.TOLERANCE
    ramp = np.linspace(0, 1, 8)
    for wrong, _ in layer.NOT_THE_VALUES:
        assert np.abs(wrong(inputs, gain, ramp) - inputs * gain - ramp).max() > 0.1
