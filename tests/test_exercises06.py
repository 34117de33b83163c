"""Notebook 06's exercises: every number measured with Keras, every mistake tried."""

import doctest
import math
import random
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import hostile
import numpy as np
import pytest
from hostile import Hostile, answered, raises_unprintable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_utils import exercises
from course_utils.exercises import (
    adam06,
    checks06,
    loop06,
    metric06,
    nb06,
    resume06,
    steps06,
    wrong06,
)

ROOT = Path(__file__).resolve().parents[1]
SHEET = exercises.load("06")
MODULES = [adam06, checks06, loop06, metric06, nb06, resume06, steps06, wrong06]
WRONG = [(e.number, *pair) for e in SHEET.exercises for pair in e.wrong]
SEVEN = len(loop06.TRIALS)


def verdict(number, answer):
    return exercises.load("06")[number].check(answer)


def run(code, sheet):
    """What the last line of a cell shows."""
    *before, last = code.rstrip().split("\n")
    names = {"q": sheet}
    exec("\n".join(before), names)
    return eval(last, names)


@pytest.mark.parametrize("module", [m for m in MODULES if m is not nb06] + [nb06])
def test_the_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


@pytest.mark.parametrize("exercise", SHEET.exercises, ids=lambda e: str(e.number))
def test_reference_and_stub(exercise):
    sheet = exercises.load("06")
    assert run(exercise.stub, sheet).status == "not attempted" and sheet.solved == []
    feedback = run(exercise.solution, sheet)
    assert (feedback.status, feedback.message) == ("correct", exercise.right)
    assert sheet.solved == [exercise.number]


@pytest.mark.parametrize(
    "number, answer, fragment", WRONG, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(WRONG)]
)
def test_each_wrong_answer_gets_its_message(number, answer, fragment):
    feedback = verdict(number, answer)
    assert feedback.status == "not yet" and fragment in feedback.message


# --- 1: four results ----------------------------------------------------------------------------


def sgd_step(gradient, wrapped=False):
    """The weight 1 after one step of Keras's SGD with learning rate 0.1."""
    import keras

    weight = keras.Variable([checks06.W])
    optimizer = keras.optimizers.SGD(checks06.RATE)
    if wrapped:
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=checks06.SCALE)
    optimizer.build([weight])
    optimizer.apply([keras.ops.convert_to_tensor([gradient], "float32")], [weight])
    return float(keras.ops.convert_to_numpy(weight)[0])


def test_keras_gives_the_four_results():
    S, g = checks06.SCALE, checks06.GRADIENT
    measured = {
        "right": sgd_step(S * g, wrapped=True),
        "never unscaled": sgd_step(S * g),
        "unscaled twice": sgd_step(S * g / S, wrapped=True),
        "updated then unscaled": sgd_step(S * g) / S,
    }
    assert measured == pytest.approx(checks06.RESULTS, rel=1e-7)
    assert checks06.check_results(measured) is None
    assert checks06.check_results(checks06.SHOWN) is None
    forgotten = sgd_step(g, wrapped=True)  # as `right` says: the same as unscaled twice
    assert forgotten == measured["unscaled twice"] and "0.99995 too" in SHEET.exercises[0].right
    for shown in ("0.95", "−50.2", "0.99995", "−0.049"):
        assert shown in SHEET.exercises[0].task


def test_every_order_of_the_four_results():
    from itertools import permutations

    messages = set()
    for values in permutations(checks06.SHOWN.values()):
        answer = dict(zip(checks06.SHOWN, values, strict=True))
        said = checks06.check_results(answer)
        assert (said is None) == (answer == checks06.SHOWN)
        misplaced = sum(answer[n] != v for n, v in checks06.SHOWN.items())
        words = {0: "", 2: "are swapped", 3: "Only one", 4: "None of the four is"}
        assert words[misplaced] in (said or "")
        messages.add(said)
    assert len(messages) >= 10


# --- 2: clipped before it is unscaled -----------------------------------------------------------


def test_keras_and_tensorflow_give_the_clipped_numbers():
    import keras
    import tensorflow as tf

    S = 2.0**15
    scaled = tf.constant([3.0, 4.0]) * S
    early = (tf.clip_by_norm(scaled, 1.0) / S).numpy()
    assert early == pytest.approx(checks06.CLIPPED, rel=1e-6)
    assert [f"{v:.2e}" for v in early] == ["1.83e-05", "2.44e-05"]
    weight = keras.Variable([0.0, 0.0])
    inner = keras.optimizers.SGD(1.0, clipnorm=1.0)
    optimizer = keras.optimizers.LossScaleOptimizer(inner)
    optimizer.build([weight])
    optimizer.apply([scaled], [weight])
    assert -weight.numpy() == pytest.approx([0.6, 0.8])  # the inner optimizer clips in time
    weight.assign([0.0, 0.0])
    plain = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0))
    plain.build([weight])
    plain.apply([tf.clip_by_norm(scaled, 1.0)], [weight])
    assert -weight.numpy() == pytest.approx(checks06.CLIPPED, rel=1e-6)
    assert checks06.check_clipped(-weight.numpy()) is None


def test_answers_as_arrays_and_tensors():
    import tensorflow as tf

    pair = [1.83e-5, 2.44e-5]
    for answer in (pair, tuple(pair), np.array(pair), np.float32(pair), tf.constant(pair),
                   [np.float64(pair[0]), tf.constant(pair[1])], map(float, pair)):  # fmt: skip
        right = not isinstance(answer, map)
        assert (checks06.check_clipped(answer) is None) == right


@settings(max_examples=300, deadline=None)
@given(st.tuples(*[st.floats(-1e6, 1e6) | st.floats(-1e-4, 1e-4)] * 2))
def test_only_the_clipped_numbers_are_right(pair):
    said = checks06.check_clipped(pair)
    assert (said is None) == all(
        abs(v - c) <= 0.01 * c for v, c in zip(pair, checks06.CLIPPED, strict=True)
    )


@pytest.mark.parametrize("scale", [1 + 0.009, 1 - 0.009, 1.02, 0.98, 1.09, 1.2, 2.0, 2.0**15])
def test_how_near_is_near_enough(scale):
    said = checks06.check_clipped(scale * checks06.CLIPPED)
    assert (said is None) == (abs(scale - 1) < 0.01)
    assert ("give three digits" in (said or "")) == (0.01 < abs(scale - 1) < 0.1)


# --- 3: where Adam stops hiding -----------------------------------------------------------------


def last_update(gradients, steps):
    names = {}
    exec(SHEET.exercises[2].stub.split("answer =")[0], names)
    return names["last_update"](gradients, steps)


@pytest.mark.parametrize("steps", [1, 100, 3000])
def test_the_formula_is_that_of_keras(steps):
    for gradient in (0.1, 0.0032768, 0.001):
        small, full = last_update([gradient / adam06.SCALE, gradient], steps)
        assert small / full == pytest.approx(adam06.share(gradient, steps), rel=0.003)
    assert full == pytest.approx(1e-3, rel=0.005)  # the right update is the learning rate


def test_where_the_update_is_halved():
    """Adam in its steady state, without the many steps that lead to it."""
    import keras

    for gradient, left in ((0.0032768, 0.5), (0.001, 0.2339), (2 * 0.0032768, 2 / 3),
                           (0.0032768 / 2, 1 / 3), (32.768, 0.9999)):  # fmt: skip
        updates = []
        for arriving in (gradient / 2**15, gradient):
            weight, adam = keras.Variable([0.0]), keras.optimizers.Adam(0.001)
            adam.build([weight])
            assert adam.epsilon == 1e-7 and adam.beta_2 == adam06.BETA
            adam.iterations.assign(10**6)
            momentum, velocity = adam.variables[2:]
            momentum.assign([arriving])
            velocity.assign([arriving**2])
            adam.apply([keras.ops.convert_to_tensor([arriving])], [weight])
            updates.append(float(keras.ops.convert_to_numpy(weight)[0]))
        assert updates[0] / updates[1] == pytest.approx(left, rel=1e-3)
        assert adam06.share(gradient) == pytest.approx(left, rel=1e-3)
    assert adam06.RIGHT == pytest.approx(
        {"halved at": 0.0032768, "share at 0.001": 0.2339}, rel=1e-3
    )


def test_the_first_step_is_halved_elsewhere():
    value = adam06.NOT_HALVED[4][0]
    small, full = last_update([value / 2**15, value], steps=1)
    assert value == pytest.approx(0.1036, rel=1e-3) and small / full == pytest.approx(0.5, rel=1e-3)
    assert (1 - adam06.BETA) ** -0.5 == pytest.approx(32, rel=0.02)  # as `right` says
    assert "32 times" in SHEET.exercises[2].right


@pytest.mark.parametrize("steps, right", [(1, False), (500, False), (1000, False), (2000, True),
                                          (3000, True), (5000, True), (10**6, True)])  # fmt: skip
def test_a_measured_share_is_accepted_after_enough_steps(steps, right):
    said = adam06.check_adam({"halved at": 0.0033, "share at 0.001": adam06.share(0.001, steps)})
    assert (said is None) == right
    assert right or "Go on" in said or "still grows" in said


@settings(max_examples=300, deadline=None)
@given(st.floats(1e-12, 1e6), st.floats(-10, 100))
def test_only_those_two_numbers_are_right(size, share):
    said = adam06.check_adam({"halved at": size, "share at 0.001": share})
    near = abs(size / 0.0032768 - 1) <= 0.02, abs(share / 0.23382 - 1) <= 0.06
    assert (said is None) == all(near)
    assert said is None or said.startswith("halved at is right. share") == near[0]


def test_what_is_said_of_other_sizes_is_so():
    for size in (0.01, 0.05, 1.0, 5e-4):
        said = adam06.check_adam({"halved at": size, "share at 0.001": 0.23})
        left = re.search(r"that is left is (\S+)\.$", said)[1]
        assert left == "nearly 1" or float(left) == pytest.approx(
            size / (size + 0.0032768), rel=0.01
        )


# --- 4: one step for every policy ---------------------------------------------------------------


def test_the_right_step_in_each_trial():
    assert [str(t) for t in loop06.TRIALS[:6]] == [
        f"{policy}, {kind}"
        for kind in ("LossScaleOptimizer from 2**12", "plain optimizer")
        for policy in ("mixed_float16", "float32", "mixed_bfloat16")
    ]
    first = loop06.right_steps(loop06.TRIALS[1])[-1].after.weights
    for trial in loop06.TRIALS:
        steps = loop06.right_steps(trial)
        assert all(step.problem is None and np.isfinite(step.after.weights).all() for step in steps)
        scales = [step.after.scale for step in steps]
        if trial is loop06.TRIALS[-1]:  # every step overflows
            assert scales == [2.0**29, 2.0**28, 2.0**27] and steps[-1].after.iterations == 0
            assert np.array_equal(steps[-1].after.weights, steps[0].before.weights)
            continue
        assert [step.after.iterations for step in steps] == [1, 2, 3]
        assert scales == ([2.0**12, 2.0**13, 2.0**13] if trial.scale else [None] * 3)
        distance = np.linalg.norm(steps[-1].after.weights - first)
        moved = np.linalg.norm(steps[-1].after.weights - steps[0].before.weights)
        assert distance < 0.02 * moved  # the policies differ by less than what is tolerated
        for step in steps:
            assert np.linalg.norm(step.after.weights - step.before.weights) > 0.1


def test_the_models_compute_as_their_policy_says():
    for policy, dtype in (("float32", "float32"), ("mixed_float16", "float16"),
                          ("mixed_bfloat16", "bfloat16")):  # fmt: skip
        model = loop06.hidden_model(policy)
        assert [layer.compute_dtype for layer in model.layers] == [dtype, dtype, "float32"]
        assert {v.dtype for v in model.variables} == {"float32"}
        assert np.asarray(model(loop06.batch(0)[0])).dtype == np.float32


def decorated(model, optimizer, loss_fn, x, y):
    import tensorflow as tf

    return tf.function(loop06.right_step)(model, optimizer, loss_fn, x, y)


def asks_first(model, optimizer, loss_fn, x, y):
    import keras

    wrapped = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    same = wrong06.slip(lambda optimizer, loss: loss)
    return (loop06.right_step if wrapped else same)(model, optimizer, loss_fn, x, y)


def everything_by_hand(model, optimizer, loss_fn, x, y):
    """Right: it does all that `LossScaleOptimizer.apply` does."""
    import tensorflow as tf

    if not hasattr(optimizer, "dynamic_scale"):
        return loop06.right_step(model, optimizer, loss_fn, x, y)
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
        scaled = loss * optimizer.dynamic_scale
    gradients = tape.gradient(scaled, model.trainable_variables)
    if all(bool(tf.reduce_all(tf.math.is_finite(g))) for g in gradients):
        wrong06._scale_by_hand(
            optimizer, wrong06._unscaled(optimizer, gradients), model.trainable_variables
        )
    else:
        optimizer.dynamic_scale.assign(optimizer.dynamic_scale / 2)
        optimizer.step_counter.assign(0)
    return loss


@pytest.mark.parametrize("step", [
    loop06.right_step, wrong06.slip(), decorated, asks_first, everything_by_hand,
    wrong06.slip(update=lambda optimizer, g, w: optimizer.apply(g)),
    wrong06.slip(update=lambda optimizer, g, w: optimizer.apply_gradients(zip(g, w, strict=True))),
    wrong06.slip(returns=lambda loss, *_: float(loss)),
    wrong06.slip(returns=lambda loss, *_: np.float16(loss.numpy())),
    wrong06.slip(returns=lambda loss, *_: loss.numpy()),
])  # fmt: skip
def test_other_right_steps(step):
    for _ in range(2):
        assert verdict(4, step).status == "correct"


def test_a_compiled_step():
    import tensorflow as tf

    assert loop06.check_step(tf.function(loop06.right_step)) is None
    forgets = tf.function(wrong06.slip(lambda optimizer, loss: loss, training=True))
    assert "4,096 times too small" in loop06.check_step(forgets)
    old = tf.function(wrong06.slip(lambda optimizer, loss: optimizer.get_scaled_loss(loss)))
    said = loop06.check_step(old)
    assert "no attribute 'get_scaled_loss'" in said and "in user code" not in said


def only_in(index, wrong, right=loop06.right_step):
    """A step that is wrong in one trial alone."""
    seen = []

    def step(*arguments):
        seen.append(1)
        trial = (len(seen) - 1) // loop06.STEPS
        return (wrong if trial == index else right)(*arguments)

    return step


@pytest.mark.parametrize("index", range(SEVEN))
def test_a_mistake_in_one_trial_is_found_there(index):
    said = loop06.check_step(only_in(index, wrong06.slip(returns=lambda *_: print(end=""))))
    assert said.startswith(f"{loop06.TRIALS[index]}, step 1: Your function returns None")
    said = loop06.check_step(only_in(index, wrong06.slip(update=lambda *_: None)))
    assert said.startswith(f"{loop06.TRIALS[index]}, step 1: ") and "apply" in said


@pytest.mark.parametrize("last", range(loop06.STEPS))
def test_a_mistake_in_one_step_is_found_there(last):
    seen = []

    def step(*arguments):
        seen.append(1)
        twice = wrong06.slip(treat=lambda optimizer, g: [2 * v for v in g])
        return (twice if len(seen) == last + 1 else loop06.right_step)(*arguments)

    said = loop06.check_step(step)
    assert f"from 2**12, step {last + 1}: Your update " in said


@pytest.mark.parametrize("factor, said", [
    (0.5, "2 times too small. What you divide"), (2, "2 times too large. The loss has another"),
    (1024, "1,024 times too large"), (3, "3 times too large"), (1 / 4096, "4,096 times too small."),
    (-1, "goes uphill"), (0, "Are all gradients zero?"), (math.nan, "halves"),
])  # fmt: skip
def test_gradients_with_a_factor(factor, said):
    step = wrong06.slip(treat=lambda optimizer, g: [factor * v for v in g])
    message = loop06.check_step(step)
    if math.isnan(factor):
        assert "moves no weight" in message
    else:
        assert said in message


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_small_differences_are_tolerated(factor):
    assert loop06.check_step(wrong06.slip(treat=lambda _, g: [factor * v for v in g])) is None


def test_a_plain_optimizer_is_not_unscaled():
    def divides(model, optimizer, loss_fn, x, y):
        plain = not hasattr(optimizer, "dynamic_scale")
        step = wrong06.slip(treat=lambda _, g: [v / 128 if plain else v for v in g])
        return step(model, optimizer, loss_fn, x, y)

    said = loop06.check_step(divides)
    assert "plain optimizer, step 1: Your update is 128 times too small. A plain" in said


def test_other_wrong_steps():
    one_weight = wrong06.slip(
        update=lambda optimizer, g, w: optimizer.apply([v * (i == 0) for i, v in enumerate(g)], w)
    )
    assert "% of its length" in loop06.check_step(one_weight)

    def twice(*arguments):
        loop06.right_step(*arguments)
        return loop06.right_step(*arguments)

    assert "step 1: Your update " in loop06.check_step(twice)

    def looks(model, optimizer, loss_fn, x, y):
        model(x + 1, training=True)
        return loop06.right_step(model, optimizer, loss_fn, x, y)

    assert "averages of BatchNormalization differ" in loop06.check_step(looks)

    def leaves(*arguments):
        sys.exit(3)

    assert "Your function raises SystemExit: 3" in loop06.check_step(leaves)


def test_what_a_learner_prints_is_shown_for_the_first_run_only(capsys):
    def chatty(*arguments):
        print("step")
        return loop06.right_step(*arguments)

    assert loop06.check_step(chatty) is None
    assert capsys.readouterr().out == "step\n" * loop06.STEPS


def test_keras_really_fails_as_the_messages_say():
    """The silent mistakes of the exercise, without the checker."""
    import keras
    import tensorflow as tf

    def moved(gradient, give, initial=2.0**12):
        weight = keras.Variable([1.0])
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial)
        optimizer.build([weight])
        give(optimizer, [tf.constant([gradient])], [weight])
        scale = float(keras.ops.convert_to_numpy(optimizer.dynamic_scale))
        return float(keras.ops.convert_to_numpy(weight)[0]) - 1, scale

    def zipped(optimizer, g, w):
        optimizer.apply(zip(g, w, strict=True))

    def inner(optimizer, g, w):
        optimizer.inner_optimizer.apply(g, w)

    def outer(optimizer, g, w):
        optimizer.apply(g, w)

    assert moved(2.0**12, outer)[0] == pytest.approx(-0.1, rel=1e-5)
    assert moved(2.0**12, zipped) == (0, 2.0**12)  # neither an error nor a step
    assert moved(1.0, outer)[0] == pytest.approx(-0.1 / 2**12, rel=0.01)
    assert moved(2.0**12, inner)[0] == pytest.approx(-409.6, rel=1e-3)
    assert moved(math.inf, outer) == (0, 2.0**11)
    assert moved(math.inf, inner) == (-math.inf, 2.0**12)


# --- 5: what must be in the checkpoint ----------------------------------------------------------

ALL = {**wrong06.MODEL, **wrong06.OPTIMIZER, **wrong06.ITERATOR}


def as_lists(model, optimizer, iterator):
    import tensorflow as tf

    optimizer.build(model.trainable_variables)
    variables = [v.value for v in [*model.variables, *optimizer.variables]]
    return tf.train.Checkpoint(variables=variables, iterator=iterator)


def built_late(model, optimizer, iterator):
    import tensorflow as tf

    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, iterator=iterator)
    optimizer.build(model.trainable_variables)
    return checkpoint


def with_a_counter(model, optimizer, iterator):
    import tensorflow as tf

    return wrong06.kept(**ALL, step=lambda *_: tf.Variable(0))(model, optimizer, iterator)


@pytest.mark.parametrize("function", [wrong06.kept(**ALL), as_lists, built_late, with_a_counter])
def test_other_right_checkpoints(function):
    for _ in range(2):
        assert verdict(5, function).status == "correct"


def test_the_stopped_training_is_one_that_can_be_told_apart():
    training = resume06.Training(6)
    assert not training.optimizer.built
    training.optimizer.build(training.model.trainable_variables)
    start = training.state()
    losses = training.steps(resume06.BEFORE)
    stopped = training.state()
    assert np.isfinite(losses).all() and stopped["iterations"] == resume06.BEFORE  # none skipped
    assert (start["scale"], stopped["scale"]) == (256, 1024) and stopped["counter"] == 1
    assert set(resume06._differing(start, stopped)) == set(stopped)
    assert not np.array_equal(training.seen[0], training.seen[resume06.BEFORE - 1])
    training.steps(resume06.AFTER)
    assert not np.array_equal(training.seen[0], training.seen[resume06.BEFORE])


def test_the_parts_that_are_left_out_are_the_ones_that_are_named():
    names = {"model": "averages", "optimizer": "moments", "iterator": "the place in the data"}
    for left in names:
        said = resume06.check_checkpoint(
            wrong06.kept(**{k: v for k, v in ALL.items() if k != left})
        )
        for part, word in names.items():
            assert (word in said.split(". ")[0]) == (part == left), said
        assert ("the weights" in said.split(". ")[0]) is False  # the optimizer brings them too


def test_an_unbuilt_optimizer_really_goes_on_wrong(tmp_path):
    """Its scale_loss uses the first scale, its apply the restored one: 4 times too small here."""
    import keras
    import tensorflow as tf

    def wrapped():
        weight = keras.Variable([1.0])
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0), 256.0, 2)
        return weight, optimizer

    def step(weight, optimizer):
        before = float(keras.ops.convert_to_numpy(weight)[0])
        optimizer.apply([optimizer.scale_loss(tf.constant([0.5]))], [weight])
        return before - float(keras.ops.convert_to_numpy(weight)[0])

    weight, optimizer = wrapped()
    optimizer.build([weight])
    moved = [step(weight, optimizer) for _ in range(4)]
    assert moved == [0.5] * 4 and optimizer.dynamic_scale.numpy() == 1024
    path = tf.train.Checkpoint(optimizer=optimizer).save(str(tmp_path / "stopped"))
    for build, expected in ((True, 0.5), (False, 0.125)):
        weight, optimizer = wrapped()
        if build:
            optimizer.build([weight])
        tf.train.Checkpoint(optimizer=optimizer).restore(path).expect_partial()
        assert step(weight, optimizer) == expected
        assert step(weight, optimizer) == 0.5


# --- 6: a mean that is not poisoned -------------------------------------------------------------

losses = st.lists(
    st.floats(-100, 100, width=32) | st.sampled_from([math.nan, math.inf, -math.inf]), min_size=1
)


@settings(max_examples=200, deadline=None)
@given(losses)
def test_the_reference_is_that_of_numpy(values):
    mean, count = metric06.epoch_loss(values)
    array = np.array(values)
    finite = np.isfinite(array)
    assert count == np.sum(~finite)
    if finite.any():
        assert mean == pytest.approx(np.mean(array, where=finite), abs=1e-9)
    else:
        assert math.isnan(mean)


def test_keras_does_as_the_hints_say():
    import keras

    mean = keras.metrics.Mean()
    mean.update_state([1.0, math.nan], sample_weight=[1.0, 0.0])
    assert np.isnan(mean.result())  # 0 times NaN
    assert np.isinf(np.nanmean([1.0, math.nan, math.inf]))


def as_tensors(values):
    import tensorflow as tf

    values = tf.constant(values)
    finite = tf.boolean_mask(values, tf.math.is_finite(values))
    return tf.reduce_mean(finite), tf.size(values) - tf.size(finite)


def one_by_one(values):
    total, bad = 0.0, 0
    for value in values:
        if value - value == 0:
            total += value
        else:
            bad += 1
    good = len(values) - bad
    return [total / good if good else float("nan"), bad]


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("function", [
    metric06.epoch_loss, as_tensors, one_by_one, wrong06.counted(wrong06._right),
    lambda v: (np.mean(np.array(v)[np.isfinite(v)]), np.sum(~np.isfinite(v))),
    lambda v: (np.float32(metric06.epoch_loss(v)[0]), np.int64(metric06.epoch_loss(v)[1])),
])  # fmt: skip
def test_other_right_means(function):
    for _ in range(2):
        assert verdict(6, function).status == "correct"


@pytest.mark.parametrize("function, said", [
    (lambda v: metric06.epoch_loss(v)[::-1], "nan as the count: give the mean first"),
    (lambda v: (2.0, 2), "your mean is 2; 1.5"),
    (lambda v: v.clear() or (0.0, 0), "your mean is 0"),
    (lambda v: (True, 0), "True as the mean"), (lambda v: ("nan", 0), "the text 'nan' as the mean"),
    (lambda v: (1.0, math.nan), "as the count"), (lambda v: (np.ones(2), 0), "an array of shape"),
    (lambda v: {"mean": 2.0, "count": 2}, "a dict of 2 items: two values"),
    (lambda v: (np.nan_to_num(np.array(v)).mean(), 2), "your mean is"),
    (lambda v: (10**5000, 2), "as the mean"), (lambda v: (math.inf, 2), "your mean is inf"),
])  # fmt: skip
def test_other_wrong_means(function, said):
    message = verdict(6, function).message
    assert message and (said in message or "your count" in message)


# --- the prediction -----------------------------------------------------------------------------


@pytest.mark.parametrize("guess, kept", [(10, 10.0), (100, 100.0), (94, 94.0), (0.94, 0.94)])
def test_guesses_are_percentages(guess, kept):
    q = exercises.load("06")
    message = q.predict(guess).message
    assert q.guess == kept and f"{kept:g} %" in message
    assert ("If you mean a share of 0.94, give 94;" in message) == (guess == 0.94)


def test_the_prediction_gives_nothing_away():
    prediction = SHEET.prediction
    assert " ".join(prediction.task.split()).endswith("section 2 measures it.")
    said = [prediction.task, prediction.stub, prediction.solution]
    for guess in (10, 48, 0.3, 0, 101, -5, math.inf):
        feedback = exercises.load("06").predict(guess)
        said.append(feedback.message)
        assert (feedback.status == "recorded") == (guess in (10, 48, 0.3))
    assert not any(re.search(r"hide|nearly as|as well|8[0-9] %|9[1-9] %", text) for text in said)


# --- the kernel stays as it was -----------------------------------------------------------------


def draws():
    """What comes next from every source of chance, and a name that Keras gives."""
    import keras
    import tensorflow as tf

    return [
        random.random(), np.random.random(), float(tf.random.normal([])),
        float(keras.random.normal([])), float(np.sum(keras.layers.Dense(3)(np.ones((1, 4))))),
    ]  # fmt: skip


def test_no_seed_no_policy_and_no_name_is_touched():
    import keras

    def names():
        layers = keras.layers
        made = [layers.Dense(1, kernel_initializer="zeros"), layers.BatchNormalization()]
        wrapped = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())  # 3.13 counts these
        made += [keras.Sequential(), wrapped]
        return [int(re.sub(r"\D", "", thing.name) or 0) for thing in made]

    former = keras.config.dtype_policy()
    answers = {4: [loop06.right_step, wrong06.STEPS[0][0], wrong06.STEPS[9][0]],
               5: [wrong06.kept(**ALL), wrong06.CHECKPOINTS[0][0]]}  # fmt: skip
    for number, functions in answers.items():
        for function in functions:
            keras.utils.set_random_seed(5)
            expected, before = draws(), names()
            keras.utils.set_random_seed(5)
            verdict(number, function)
            assert names() == [n + 1 for n in before]
            assert draws() == expected
            assert keras.config.dtype_policy() is former


def test_the_verdicts_under_any_policy_and_in_any_order():
    import keras

    from course_utils.stepping import dtype_policy

    def changes(*arguments):
        keras.config.set_dtype_policy("mixed_float16")
        return loop06.right_step(*arguments)

    tried = [(4, loop06.right_step), (4, wrong06.STEPS[0][0]), (5, wrong06.kept(**ALL)),
             (5, wrong06.CHECKPOINTS[4][0]), (4, changes), (4, wrong06.STEPS[6][0])]  # fmt: skip
    expected = [repr(verdict(*answer)) for answer in tried]
    for policy in ("mixed_bfloat16", "float16"):
        loop06.right_steps.cache_clear()
        with dtype_policy(policy):
            found = [repr(verdict(*answer)) for answer in reversed(tried)]
            assert keras.config.dtype_policy().name == policy
        assert found[::-1] == expected


def test_the_verdicts_with_deterministic_operations():
    code = (
        "import tensorflow as tf, keras\n"
        "keras.utils.set_random_seed(1); tf.config.experimental.enable_op_determinism()\n"
        "from course_utils.exercises import loop06, resume06, wrong06\n"
        "everything = {**wrong06.MODEL, **wrong06.OPTIMIZER, **wrong06.ITERATOR}\n"
        "assert loop06.check_step(loop06.right_step) is None\n"
        "assert resume06.check_checkpoint(wrong06.kept(**everything)) is None\n"
        "assert wrong06.STEPS[1][1] in loop06.check_step(wrong06.STEPS[1][0])\n"
        "assert wrong06.CHECKPOINTS[6][1] in resume06.check_checkpoint(wrong06.CHECKPOINTS[6][0])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-2000:]


# --- other answers ------------------------------------------------------------------------------


@pytest.mark.parametrize("number, answer", [
    (1, {**{n: np.float32(v) for n, v in checks06.RESULTS.items()}, "more": None}),
    (1, {**checks06.SHOWN, "updated then unscaled": -0.0490234375, "right": Fraction(19, 20)}),
    (2, (Decimal("1.83e-5"), Fraction(244, 10_000_000))), (2, np.float16([1.83e-5, 2.44e-5])),
    (3, {"halved at": np.float32(0.0032768), "share at 0.001": 0.234}),
    (3, {"halved at": Decimal("0.0033"), "share at 0.001": np.float64(0.2293)}),
])  # fmt: skip
def test_other_correct_answers(number, answer):
    feedback = verdict(number, answer)
    assert feedback.status == "correct", feedback


# --- whatever a learner may pass in -------------------------------------------------------------


ODD = [
    *(10**4000, -(10**400), math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("1e999"), ...),
    *(np.arange(3), np.arange(2), np.array(["a", "b"]), np.bool_(True), np.float16(math.nan)),
    *(int, print, len, Hostile, "\ud800<script>`" * 50, (0.6, 0.8), [1, 2], {1, 2}, b"12"),
    *(lambda *a: Hostile(), lambda: 1, lambda *a: 10**5000, lambda *a: a, lambda *a: a[:2]),
    *(lambda *a: (Hostile(), 0), lambda *a: (8.0, Hostile()), lambda *a: sys.exit(3)),
    *(lambda *a: np.zeros((1,) * 60), lambda *a: [[1], [2, 3]], raises_unprintable, object()),
    *(lambda *a: math.nan, lambda *a: 1j, lambda *a: a[0], lambda *a: object()),
    *(0.95, -50.2, 0.0033, 0.234, 23.4, 1e-7, "never", "0.0033"),
]
scalars = hostile.scalars(ODD) | st.tuples(*[st.floats() | st.builds(Hostile)] * 2)
filled = st.sampled_from([checks06.SHOWN, adam06.RIGHT]).flatmap(
    lambda right: st.fixed_dictionaries(
        {key: scalars | st.just(value) for key, value in right.items()}
    )
)


@pytest.mark.parametrize("number", range(1, 7))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(answer=scalars | filled)
def test_no_answer_raises(number, answer):
    answered(SHEET, number, answer)


@pytest.mark.parametrize("number", range(1, 7))
def test_garbage_is_told_what_was_given(number):
    for answer in (None, "4", [], {}, math.nan, object(), raises_unprintable, len, lambda: 1,
                   lambda *a: "x", lambda *a: Hostile(), Hostile()):  # fmt: skip
        feedback = verdict(number, answer)
        assert feedback.status == "not yet"
        assert re.search("[Yy]ou gave|Your function|is missing", feedback.message), feedback


def test_cells_are_short_and_imports_light():
    for e in SHEET.exercises:
        for cell in (e.stub, e.solution):
            lines = cell.splitlines()
            assert len(lines) <= 15 and max(map(len, lines)) <= 100, cell
    code = (
        "import sys; from course_utils import exercises; q = exercises.load('06')\n"
        "q[1].check({}), q[2].check((3, 4)), q[3].check(1), q[4].check(1), q[5].check(1)\n"
        "q[6].check(len)\n"
        "heavy = {'tensorflow', 'keras', 'matplotlib', 'pandas', 'gfloat', 'ml_dtypes'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
