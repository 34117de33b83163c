"""Notebook 03's exercises: every answer computed again by Keras itself."""

import doctest
import functools
import math
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from hostile import Callable, Hostile, answered
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_utils import exercises
from course_utils.exercises import checks03, fade03, layer03, nb03
from course_utils.models import mnist_cnn

ROOT = Path(__file__).resolve().parents[1]
SHEET = exercises.load("03")


def verdict(number, answer):
    return exercises.load("03")[number].check(answer)


@pytest.fixture(autouse=True)
def policy():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    yield
    keras.config.set_dtype_policy(before)


def run(code):
    """What a cell shows in its last line, and the names it leaves behind."""
    *before, last = code.rstrip().split("\n")
    names = {"q": exercises.load("03")}
    exec("\n".join(before), names)
    return eval(last, names), names


@pytest.mark.parametrize("module", [checks03, fade03, layer03, nb03])
def test_the_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


# --- what tests/test_exercises.py asks of every sheet -------------------------------------------

WRONG = [(e, *pair) for e in SHEET.exercises for pair in e.wrong]


@pytest.mark.parametrize("exercise", SHEET.exercises, ids=lambda e: e.number)
def test_solution_and_stub(exercise):
    feedback, _ = run(exercise.solution)
    assert (feedback.status, feedback.message) == ("correct", exercise.right)
    assert run(exercise.stub)[0].status == "not attempted"


@pytest.mark.parametrize("exercise, answer, fragment", WRONG)
def test_each_wrong_answer_gets_its_message_each_time(exercise, answer, fragment):
    first, second = verdict(exercise.number, answer), verdict(exercise.number, answer)
    assert first.status == "not yet" and fragment in first.message
    assert repr(first) == repr(second)
    assert len(first.message) < 300 and not re.search(r"\x1b|0x[0-9a-f]{6}|_\d\b", first.message)
    assert keras.config.dtype_policy().name == "float32"


# --- the prediction -----------------------------------------------------------------------------


def test_what_section_1_measures():
    megabytes = {}
    for name in ("float32", "mixed_float16", "float16"):
        keras.config.set_dtype_policy(name)
        model = mnist_cnn()
        assert model.count_params() == 1_011_466
        megabytes[name] = sum(w.numpy().nbytes for w in model.weights) / 1e6
    assert megabytes["float32"] == megabytes["mixed_float16"] == nb03.FLOAT32_MB
    assert f"{nb03.FLOAT32_MB:.2f}" == "4.05" and "in 4.05 MB" in SHEET.prediction.task
    assert megabytes["float16"] == pytest.approx(2.02, abs=0.01)  # almost, but for the head


@pytest.mark.parametrize("guess, times", [(4.05, "1"), (2.02, "0.5"), (6.07, "1.5"), (50, "12")])
def test_guesses_are_megabytes(guess, times):
    q = exercises.load("03")
    said = f"You expect {guess:g} MB, {times} times as much as under float32. Section 1 measures it"
    assert q.predict(guess).message == f"{said}." and q.guess == guess


@pytest.mark.parametrize("guess", [0, -1, 0.001, 101, 2023, 2e6, 1e9, math.nan, "2", None, [2]])
def test_other_guesses_are_refused(guess):
    q = exercises.load("03")
    assert q.predict(guess).status == "not yet" and q.guess is None


# --- 1: which layer computes in what ------------------------------------------------------------


def test_the_lines_of_the_task_give_the_answer():
    code = re.search(r"```python\n(.*?)```", SHEET.exercises[0].task, re.S)[1]
    names = {"keras": keras}
    exec(code, names)
    layers = names["model"].layers
    assert layers == [names[name] for name in checks03.COMPUTE]
    found = {name: names[name].compute_dtype for name in checks03.COMPUTE}
    assert found == checks03.COMPUTE
    assert {layer.variable_dtype for layer in layers} == {"float32"}
    assert keras.config.dtype_policy().name == "float32"  # as before
    x = np.ones((1, 784), "float32")
    dtypes = [keras.backend.standardize_dtype((x := layer(x)).dtype) for layer in layers]
    assert dtypes == list(checks03.COMPUTE.values())  # the third one casts what the second gives


@pytest.mark.parametrize("second", [
    "float16", " Float16 ", tf.float16, np.float16, np.dtype("float16"),
])  # fmt: skip
def test_dtypes_may_be_named_in_other_ways(second):
    answer = {"first": tf.float32, "second": second, "third": np.float32}
    assert verdict(1, answer).status == "correct"
    said = checks03.check_compute_dtypes({**answer, "third": ml_dtypes.bfloat16})
    assert "third: not `bfloat16`" in said


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_one_dtype_everywhere_is_told_by_the_first_layer(dtype):
    said = verdict(1, dict.fromkeys(checks03.COMPUTE, dtype)).message
    assert said == f"first: not `{dtype}`: {checks03.NOT_ITS_DTYPE['first', dtype]}"


# --- 2: a float16 softmax -----------------------------------------------------------------------


def head(dtype, logits=((30.0, 0.0),), labels=(1,)):
    """Probabilities, loss and gradient at the logits, with a softmax layer of a dtype."""
    x = tf.Variable(logits)
    with tf.GradientTape() as tape:
        p = keras.layers.Activation("softmax", dtype=dtype)(x)
        loss = keras.losses.SparseCategoricalCrossentropy()(tf.constant(labels), p)
    return p, float(loss), tape.gradient(loss, x).numpy()


@pytest.mark.parametrize("dtype", ["float16", "mixed_float16", "bfloat16", "mixed_bfloat16"])
def test_a_16_bit_softmax_clips(dtype):
    p, loss, gradient = head(dtype)
    assert loss == pytest.approx(checks03.HEAD["loss"], abs=1e-4)
    assert f"{checks03.HEAD['loss']:.3f}" == "16.118" and not gradient.any()
    assert (float(p[0, 1]) == 0) == (
        "bfloat16" not in dtype
    )  # bfloat16 holds e**-30, as `right` says
    assert keras.config.epsilon() == checks03.CLIP and math.exp(-30) < checks03.CLIP


def test_a_float32_softmax_does_not():
    _, loss, gradient = head("float32")
    assert loss == pytest.approx(30) and gradient[0] == pytest.approx([1, -1])
    _, _, gradient = head("float32", ((30.0, 0.0), (0.0, 30.0)), (1, 1))
    assert gradient[0] == pytest.approx([0.5, -0.5])  # a mean over two images


@pytest.mark.parametrize("loss, gradient", [
    (16.118, 0), (16.1, -0.0), (16.12, 0.0), (np.float32(16.118096), np.float16(0)),
    (tf.constant(16.118), 0), (Decimal("16.118"), 1e-12),
])  # fmt: skip
def test_other_right_heads(loss, gradient):
    assert verdict(2, {"loss": loss, "gradient": gradient}).status == "correct"


@pytest.mark.parametrize(
    "loss, gradient, said",
    [
        (16, 0, "you gave 16. Which"),
        (16.14, 0, "you gave 16.14"),
        (30, -1, "loss: that is float32's"),
        (30.0001, 0, "loss: that is float32's"),
        (17.33, 0, "2**-25"),
        (16.64, 0, "2**-24"),
        (-16.12, 0, "the sign"),
        (7, 0, "base 10"),
        (0, 0, "the loss for class 0"),
        (True, 0, "one number"),
        (1.5e-8, 0, "a probability"),
        (np.float32("inf"), 0, "clipping hides"),
        (-math.inf, 0, "clipping"),
        ("inf", 0, "one number"),
        (16.12, 1, "gradient: that is float32's."),
        (16.118, math.inf, "slope"),
        (16.118, math.nan, "nothing here divides"),
        (16.118, [0, 0], "a list of 2 items; give one number, that of class 1"),
        (16.118, "", "write 0 if it is zero"),
        (16.118, np.zeros(2), "an array of shape (2,); give one"),
    ],
)
def test_other_wrong_heads(loss, gradient, said):
    assert said in verdict(2, {"loss": loss, "gradient": gradient}).message


@pytest.mark.parametrize("answer", [(16.118, 0), {"loss": 16.118}, 16.118])
def test_a_head_is_a_dictionary(answer):
    assert "the keys 'loss', 'gradient'" in verdict(2, answer).message


# --- 3: when compile scales the loss ------------------------------------------------------------


def sequential(policy, own=None, then=None):
    keras.config.set_dtype_policy(policy)
    layers = [keras.layers.Dense(n, dtype=own) for n in (4, 1)]
    model = keras.Sequential([keras.Input((3,)), *layers])
    if then:
        keras.config.set_dtype_policy(then)
    model.compile(optimizer="sgd", loss="mse")
    return isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)


def test_what_compile_does():
    assert checks03.SCALED == {
        "global": sequential("mixed_float16"),
        "per layer": sequential("float32", own="mixed_float16"),
        "mixed": sequential("mixed_bfloat16"),
        "pure": sequential("float16"),
        "reset": sequential("mixed_float16", then="float32"),
    }
    assert not sequential("float32", then="mixed_float16")
    assert all(f"- **{name}**:" in SHEET.exercises[2].task for name in checks03.SCALED)


def test_the_policy_in_the_layers_can_be_wrapped_by_hand():
    code = re.search(r"`(keras\.optimizers.*)` as", SHEET.exercises[2].right)[1]
    layers = [keras.layers.Dense(n, dtype="mixed_float16") for n in (4, 1)]
    model = keras.Sequential([keras.Input((3,)), *layers])
    model.compile(optimizer=eval(code), loss="mse")
    assert type(model.optimizer.inner_optimizer) is keras.optimizers.SGD  # wrapped once
    model.fit(np.full((2, 3), 0.01), np.zeros((2, 1)), verbose=0)  # too small to overflow
    assert int(model.optimizer.iterations) == 1


def test_numpy_booleans_count():
    answer = {name: np.bool_(right) for name, right in checks03.SCALED.items()}
    assert verdict(3, answer).status == "correct"
    assert "per layer: not True" in verdict(3, dict.fromkeys(checks03.SCALED, True)).message
    assert "global: not False" in verdict(3, dict.fromkeys(checks03.SCALED, False)).message


# --- 4: a layer ---------------------------------------------------------------------------------


def with_call(call, **options):
    """A class whose `call` is the function; `build` adds the gain."""

    class Fade(keras.layers.Layer):
        def build(self, input_shape):
            self.gain = self.add_weight(shape=(input_shape[-1],), initializer="ones", **options)

    Fade.call = call
    return Fade


def ramp(inputs):
    return tf.linspace(0.0, 1.0, inputs.shape[-1])


def through_ops(self, inputs):
    own = keras.ops.linspace(0.0, 1.0, inputs.shape[-1], dtype=self.compute_dtype)
    return keras.ops.add(keras.ops.multiply(inputs, self.gain), own)


class InInit(keras.layers.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.gain = self.add_weight(shape=(8,), initializer="ones")

    def call(self, inputs):
        return self.gain * inputs + tf.cast(ramp(inputs), inputs.dtype)


class RampWeight(InInit):
    def build(self, input_shape):
        self.ramp = self.add_weight(shape=(8,), initializer="zeros", trainable=False)
        self.ramp.assign(np.linspace(0, 1, 8))

    def call(self, inputs):
        return inputs * self.gain + self.ramp


class KerasVariable(InInit):
    def __init__(self):
        keras.layers.Layer.__init__(self)
        self.gain = keras.Variable(np.ones((1, 8), "float32"))


@pytest.mark.parametrize(
    "answer",
    [
        fade03.fade(),
        with_call(through_ops),
        InInit,
        RampWeight,
        KerasVariable,
        lambda: InInit(),
        with_call(lambda self, x: x * self.gain + np.linspace(0, 1, 8)),
        with_call(lambda self, x: x * self.gain + tf.cast(ramp(x), x.dtype)),
        with_call(
            lambda self, x: x * self.gain + tf.cast(ramp(x), self.gain.dtype), dtype="float32"
        ),
    ],
)
def test_other_right_layers(answer):
    feedback = verdict(4, answer)
    assert feedback.status == "correct", feedback


def test_the_layer_of_the_stub_is_the_one_that_is_told():
    _, names = run(SHEET.exercises[3].stub)
    said = verdict(4, names["Fade"]).message
    assert said == layer03.check_layer(fade03.given)
    assert said.startswith("Under mixed_float16 the output is float32:")
    x, _ = layer03.trial()
    layer = names["Fade"]()
    assert np.allclose(layer(x), layer03.true_values(x, np.ones(8)))  # in float32 it works
    assert not layer.weights and not layer.trainable_variables  # and Keras trains nothing


def test_the_solution_trains_and_saves_its_gain(tmp_path):
    _, names = run(SHEET.exercises[3].solution)
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = keras.Sequential([keras.Input((8,)), names["Fade"]()])
    model.compile(optimizer="sgd", loss="mse")
    x, _ = layer03.trial()
    model.fit(x, np.ones((5, 8)), verbose=0)
    gain = model.weights[0].numpy()
    assert gain.dtype == np.float32 and (gain != 1).all()
    model.save(tmp_path / "fade.keras")
    again = keras.models.load_model(tmp_path / "fade.keras", {"Fade": names["Fade"]})
    assert np.array_equal(again.layers[0].gain.numpy(), gain)


def detached(self, x):
    return x * tf.stop_gradient(self.gain.value) + tf.cast(ramp(x), x.dtype)


def eager(self, x):
    return x * self.gain * float(x.numpy().max() > -9) + tf.cast(ramp(x), x.dtype)


def wrong_values(self, x):
    return x * self.gain + tf.cast(ramp(x) ** 2, x.dtype)


class NoSuper(keras.layers.Layer):
    def __init__(self):
        self.size = 8


class Pair(InInit):
    def __init__(self):
        super().__init__()
        self.more = self.add_weight(shape=(8,))


class Scalar(InInit):
    def __init__(self):
        keras.layers.Layer.__init__(self)
        self.gain = self.add_weight(shape=(), initializer="ones")


ONE = InInit()  # made once, under float32


def promoted(self, x):
    return keras.ops.add(x * self.gain, ramp(x))


@pytest.mark.parametrize(
    "answer, said",
    [
        (with_call(promoted), "promotes what Keras hands it in float16"),
        (
            with_call(lambda self, x: x * self.gain + ramp(x), autocast=False),
            "promotes what Keras hands",
        ),
        (
            with_call(lambda self, x: tf.cast(x, "float32") * self.gain + ramp(x)),
            "Which part of it is float32?",
        ),
        (
            with_call(lambda self, x: tf.cast(x, "float64")),
            "the output is float64: the dtype is written",
        ),
        (
            fade03.fade(output=fade03.in_dtype("bfloat16")),
            "Under mixed_float16 the output is bfloat16",
        ),
        (functools.partial(InInit, dtype="float16"), "has the policy float16"),
        (lambda: ONE, "has the policy float32"),
        (
            with_call(lambda self, x: x * self.gain + tf.cast(ramp(x), x.dtype), dtype="bfloat16"),
            "in bfloat16: the",
        ),
        (
            fade03.fade(weight=lambda self, n: keras.Variable(np.ones(n))),
            "a weight in float64; float32",
        ),
        (with_call(lambda self, x: x * self.gain * ramp(x)), "no constant that you make in `call`"),
        (with_call(detached), "No gradient reaches your gain"),
        (with_call(eager), "In a model, where Keras traces"),
        (with_call(wrong_values), "is off by 0.2"),
        (NoSuper, "here none is needed"),
        (Pair, "has 2 trainable weights"),
        (Scalar, "has the shape () for 8 features"),
        (
            with_call(lambda self, x: (x + tf.cast(ramp(x), x.dtype)) * self.gain),
            "after the gain, not before",
        ),
        (
            with_call(lambda self, x: x * self.gian),
            "raises AttributeError: 'Fade' object has no attribute 'gian'",
        ),
        (with_call(lambda self, x: [x]), "Your layer returns a list of 1 items"),
        (with_call(lambda self, x: sys.exit(3)), "raises SystemExit: 3"),
        (with_call(lambda self, x: (x * self.gain)[:, :1]), "turns the shape (5, 8) into (5, 1)"),
        (InInit(), "without parentheses"),
        (keras.layers.Dense, "You gave a class that raises TypeError"),
        (keras.layers.Activation("relu"), "without parentheses"),
        (keras.layers.ReLU, "has no trainable weight"),
        (int, "You gave a class that returns the number 0"),
        (lambda: 3, "Your function returns the number 3"),
        (None, "You gave None"),
    ],
)
def test_other_wrong_layers(answer, said):
    feedback = verdict(4, answer)
    assert feedback.status == "not yet" and said in feedback.message, feedback
    assert len(feedback.message) < 300 and not re.search(r"\x1b|\{\{|0x", feedback.message)
    assert keras.config.dtype_policy().name == "float32"


def test_the_policy_is_left_as_it_was_found():
    class Meddler(InInit):
        def __init__(self):
            keras.config.set_dtype_policy("float64")
            raise RuntimeError

    keras.config.set_dtype_policy("mixed_bfloat16")
    for answer in (fade03.fade(), fade03.given, fade03.fade(policy="float16"), 3):
        verdict(4, answer)
        assert keras.config.dtype_policy().name == "mixed_bfloat16"
    verdict(4, Meddler)
    assert keras.config.dtype_policy().name == "mixed_bfloat16"


def test_the_trial_leaves_room_for_any_order_of_rounding():
    inputs, gain = layer03.trial()
    for array in (inputs, gain):
        assert np.array_equal(array.astype(ml_dtypes.bfloat16).astype("float32"), array)
    assert np.abs(inputs * gain).max() <= 1 and len(set(gain)) > 3
    # Three roundings to 8 bits: the product and the ramp, both up to 1, and their sum up to 2.
    assert 2.0**-9 + 2.0**-9 + 2.0**-8 < layer03.TOLERANCE
    right = layer03.true_values(inputs, gain)
    for wrong, _ in layer03.NOT_THE_VALUES:
        assert np.abs(wrong(inputs, gain, np.linspace(0, 1, 8)) - right).max() > 0.1


# --- 5: padding ---------------------------------------------------------------------------------


def test_the_cost_of_padding():
    def parameters(outputs):
        layer = keras.layers.Dense(outputs)
        layer.build((None, 128))
        return layer.count_params()

    cost = {n: parameters(n) - parameters(10) for n in (8, 12, 16, 18, 24, 64)}
    assert cost[16] == checks03.EXTRA == 774
    for n in (8, 12, 18, 24, 64):
        assert cost[n] in checks03.NOT_THE_PADDING
    assert parameters(10) in checks03.NOT_THE_PADDING and parameters(16) in checks03.NOT_THE_PADDING
    assert f"{100 * 774 / mnist_cnn().count_params():.2f}" == "0.08"
    assert mnist_cnn().layers[-1].kernel.shape == (128, 10)
    assert 774 / parameters(10) == 0.6 and 4 * 774 == 3096 and 2 * 774 == 1548


@pytest.mark.parametrize("answer", [774, 774.0, np.int32(774), Decimal(774), np.array(774)])
def test_other_right_costs(answer):
    assert verdict(5, answer).status == "correct"


@pytest.mark.parametrize("answer", [773.999, 775, -774, 1e300, True, math.nan, [774]])
def test_other_wrong_costs(answer):
    assert verdict(5, answer).status == "not yet"


# --- whatever a learner may pass in -------------------------------------------------------------


class HostileLayer(keras.layers.Layer):
    def call(self, inputs):
        return Hostile()


ODD = [
    *(10**4000, -(10**400), math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("1e999"), ...),
    *(np.arange(3), np.array(["a"]), np.bool_(True), np.float16(math.nan), object(), np.float16),
    *(int, print, len, Hostile, "\ud800<script>`" * 50, "float16", "float32", True, False),
    *(lambda: Hostile(), lambda: sys.exit(3), lambda a: a, lambda: [[1], [2, 3]], HostileLayer),
    *(774, 768, 16.118, 18, 0, 1e-7, -1, 0.5, tf.float16, tf.constant([1.0])),
]
scalars = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text()),
    *(st.binary(), st.builds(Hostile), st.builds(Callable), st.sampled_from(ODD)),
)
filled = st.sampled_from([checks03.COMPUTE, checks03.HEAD, checks03.SCALED]).flatmap(
    lambda right: st.fixed_dictionaries(
        {key: scalars | st.just(value) for key, value in right.items()}
    )
)


@pytest.mark.parametrize("number", range(1, 6))
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(answer=scalars | filled)
def test_no_answer_raises(number, answer):
    answered(SHEET, number, answer)


def test_cells_are_short_and_imports_light():
    for e in SHEET.exercises:
        for cell in (e.stub, e.solution):
            lines = cell.splitlines()
            assert len(lines) <= 16 and max(map(len, lines)) <= 100, cell
    code = (
        "import sys; from course_utils import exercises; q = exercises.load('03')\n"
        "q[1].check({'first': 'float16', 'second': 1, 'third': 2}), q[4].check(len)\n"
        "heavy = {'tensorflow', 'keras', 'matplotlib', 'pandas', 'ml_dtypes'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
