"""Notebook 02's exercises: every answer computed again, another way than the checkers do."""

import doctest
import math
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hostile import Callable, Hostile, answered
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_utils import exercises
from course_utils.exercises import checks02, nb02, order02, scaler02

ROOT = Path(__file__).resolve().parents[1]
SHEET = exercises.load("02")


def verdict(number, answer):
    return exercises.load("02")[number].check(answer)


def float16(values):
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float64).astype(np.float16)


@pytest.mark.parametrize("module", [checks02, nb02, order02, scaler02])
def test_the_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


# --- 1: the scales that fit ---------------------------------------------------------------------


def test_the_scales_that_fit():
    def fits(s):
        cast = float16(2.0 ** (np.array([-31, -9]) + s))
        return cast[0] >= np.finfo(np.float16).smallest_normal and np.isfinite(cast[1])

    fitting = [s for s in range(-200, 200) if fits(s)]
    assert checks02.BRACKET == {"smallest": fitting[0], "largest": fitting[-1]}
    assert fitting == list(range(17, 25)) and len(fitting) == 8  # as `right` says
    assert len(range(-31, -9 + 1)) == 23 and len(range(-14, 15 + 1)) == 30


@pytest.mark.parametrize("s", range(-60, 61))
def test_what_is_said_of_each_exponent(s):
    small, large = float16(2.0 ** (np.array([-31, -9]) + s))
    said = checks02.check_bracket({"smallest": s, "largest": 24})
    if s == 17:
        assert said is None
    else:
        assert said.startswith(f"largest is right. smallest: s = {s} ")
        assert ("rounds to zero" in said or "goes to 0" in said) == (small == 0 and s >= 0)
        assert ("smaller s" in said) == (s > 17) and ("beyond the range" in said) == (large > 65504)
        if bits := re.search(r"has (\d+) bits", said):
            below = np.nextafter(small, np.float16(np.inf)) - small  # one step
            assert 2 ** (int(bits[1]) - 1) == small / below
    said = checks02.check_bracket({"smallest": 17, "largest": s})
    if s == 24:
        assert said is None
    else:
        assert said.startswith(f"smallest is right. largest: s = {s} ")
        assert ("infinity." in said and "avoids" not in said) <= (not np.isfinite(large))
        assert ("65,504" in said or "brings" in said) == (not np.isfinite(large))
        assert ("a larger s" in said) == (17 <= s < 24)
        assert ("not normal yet" in said) == (0 <= s < 17)


@pytest.mark.parametrize("low, high, said", [
    (128, 256, "You gave scales."), (64, 512, "You gave scales."), (256, 128, "You gave scales."),
    (2**17, 2**24, "You gave scales."), (1000, 1001, "You gave scales."),
    (17, 2**24, "You gave a scale."), (2**17, 24, "You gave a scale."), (64, 1000, "You gave a s"),
    (32, 64, "s = 32 turns the"), (33, 64, "s = 33 turns the"), (64, 65, "s = 64 turns the"),
    (17, 64, "s = 64 turns 2**-9"),
])  # fmt: skip
def test_scales_in_place_of_exponents(low, high, said):
    assert said in checks02.check_bracket({"smallest": low, "largest": high})


def test_the_rule_is_stricter_than_that_of_the_cell_above():
    assert (
        "Here a stricter rule than in the cell above: no gradient may even be subnormal."
        in " ".join(SHEET.exercises[0].task.split())
    )


def test_the_smallest_gradient_at_6_and_7():
    assert float16(2.0**-25) == 0 and float16(2.0**-24) == np.finfo(np.float16).smallest_subnormal
    assert float16(2.0 ** (46 - 31)) == 2**15 and float16(2.0 ** (-5 - 9)) == 2**-14


# --- 2 and 3: runs of a dynamic scale -----------------------------------------------------------

FLAGS = [False, True, True, False, True, True]


def simulate(update, scale=2.0**15, growth_steps=3, flags=FLAGS):
    count, total = 0, 0
    for finite in flags:
        scale, count, applied = update(scale, count, finite, growth_steps)
        total += applied
    return scale, total


def test_six_steps():
    assert str(FLAGS) in SHEET.exercises[1].task
    assert simulate(scaler02.slip()) == tuple(checks02.RUN.values()) == (8192, 4)
    slips = {
        16384: scaler02.slip(after_bad=lambda count: count),
        131072: scaler02.slip(doubles=lambda *_: True),
        32768: scaler02.slip(doubles=lambda count, _: count == 2),
        65536: lambda scale, count, finite, growth_steps: (
            scaler02.slip()(scale, count, finite, growth_steps) if finite else (scale, count, False)
        ),
    }
    for scale, update in slips.items():
        assert scale in checks02.NOT_THE_SCALE and simulate(update)[0] == scale, scale
    backwards = simulate(scaler02.slip(), flags=[not finite for finite in FLAGS])
    assert backwards == (2048, 2) and 2048 in checks02.NOT_THE_SCALE
    assert simulate(scaler02.slip(applied=lambda *_: True))[1] == 6
    assert simulate(scaler02.slip(applied=lambda finite, doubled: not finite))[1] == 2


@pytest.mark.parametrize("scale", range(1, 35))
def test_exponents_in_place_of_the_scale(scale):
    said = verdict(2, {"scale": scale, "applied": 4}).message
    exponent = scale <= 30 and scale not in (1, 2, 4, 8, 16)
    full = f"scale: {scale} reads like an exponent: give the scale itself, such as 2**{scale}."
    assert (said == full) == exponent and ("reads like" in said) == exponent


@pytest.mark.parametrize("scale", [0, -15, 14.5, 31, 0.25, *checks02.NOT_THE_SCALE])
def test_what_is_said_of_a_scale_gives_nothing_away(scale):
    said = verdict(2, {"scale": scale, "applied": 4}).message
    assert "reads like" not in said and ("That is the factor" in said) == (scale == 0.25)
    assert not re.search(r"8,?192|2\*\*13|never|do not occur|[Tt]wo steps", said)


def overflows(last, growth_steps=2000, start=15):
    """The steps that overflow, by counting all of them."""
    scale, count, found = 2.0**start, 0, []
    for step in range(1, last + 1):
        if np.isinf(float16(0.031 * scale)):
            scale, count = scale / 2, 0
            found.append(step)
        else:
            count += 1
            if count == growth_steps:
                scale, count = scale * 2, 0
    return found


def test_the_first_overflow():
    found = overflows(20_000)
    assert found == [checks02.FIRST_OVERFLOW, 16002, 18003]  # one in 2,001 from then on
    assert overflows(14_010, growth_steps=2001) == [14008]
    assert overflows(44_001, start=0) == [44001]
    assert round(0.031 * 2**21, 1) == 65011.7 and np.isfinite(float16(0.031 * 2**21))
    assert np.isinf(float16(0.031 * 2**22)) and np.isinf(float16(65520))
    assert np.isfinite(float16(np.nextafter(65520, 0)))


@pytest.mark.parametrize("step, exponent", [(1, 15), (2000, 15), (2001, 16), (4000, 16), (4001, 17),
                                            (12_000, 20), (12_002, 21), (13_999, 21)])  # fmt: skip
def test_what_is_said_of_a_finite_step(step, exponent):
    assert f"At step {step:,} the scale is 2**{exponent}, and" in verdict(3, step).message


# --- 4: the scaler ------------------------------------------------------------------------------


def test_the_right_rule_is_that_of_keras():
    for run, steps in zip(scaler02.runs(), scaler02._keras_runs(), strict=True):
        assert scaler02._trace(scaler02.slip(), *run) == (steps, None)
    scales = [scale for steps in scaler02._keras_runs() for scale, _ in steps]
    assert min(scales) < 1 / 1000 and max(scales) > 2**40  # below 1, and beyond float16
    assert 1e-30 < min(scales) and max(scales) < 1e30  # far from where float32 gives out
    assert len(scales) == 265 and "265 steps" in SHEET.exercises[3].task
    assert len(scaler02.runs()) == 5 and "five runs" in SHEET.exercises[3].task


def test_keras_moves_the_weight_where_it_applies():
    import keras

    weight = keras.Variable([0.0])
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(1.0), initial_scale=8.0, dynamic_growth_steps=2
    )
    moved = []
    for finite in (True, False, True, True, True):
        before = float(keras.ops.convert_to_numpy(weight)[0])
        gradient = keras.ops.convert_to_tensor([8.0 if finite else math.nan])
        optimizer.apply([gradient], [weight])
        moved.append(float(keras.ops.convert_to_numpy(weight)[0]) != before)
    steps = scaler02.keras_run(8.0, 2, (True, False, True, True, True))
    assert steps == [(8.0, True), (4.0, False), (4.0, True), (8.0, True), (8.0, True)]
    assert moved == [applied for _, applied in steps]


MISTAKES = [
    (update, text) for updates, text in scaler02.NOT_THE_UPDATE for update in updates
]  # fmt: skip


@pytest.mark.parametrize("update, text", MISTAKES)
def test_each_mistake_is_told_where_it_first_shows(update, text):
    said = scaler02.check_update(update)
    assert said.endswith(text) and len(said) < 300
    run, step = re.search(r"`growth_steps` = (\d+), step (\d+) \(", said).groups()
    initial, growth, flags = next(r for r in scaler02.runs() if r[1] == int(run))
    ours = scaler02.keras_run(initial, growth, flags[: int(step)])
    theirs = scaler02._trace(update, initial, growth, flags[: int(step)])[0]
    assert ours[:-1] == theirs[:-1] and ours[-1] != theirs[-1]
    assert ("(not finite)" in said) == (not flags[int(step) - 1])
    before = ours[-2][0] if len(ours) > 1 else initial
    for side, (after, _) in (("Keras", ours[-1]), ("yours", theirs[-1])):
        power = scaler02._power
        moves = f"goes from {power(before)} to {power(after)}"
        change = f"{side} {moves if after != before else f'stays at {power(after)}'}"
        assert (change in said) == (ours[-1][0] != theirs[-1][0])
    verb = {True: "applies", False: "skips"}
    assert (f"{verb[ours[-1][1]]} the step, yours" in said) == (ours[-1][1] != theirs[-1][1])


def test_no_two_mistakes_look_alike():
    traces = [
        str([scaler02._trace(update, *run)[0] for run in scaler02.runs()]) for update, _ in MISTAKES
    ]
    assert len(set(traces)) == len(traces)


def misused(scale, count, finite, growth_steps):
    if not np.isfinite(finite):
        return scale / 2, 0, False
    count += 1
    if count == growth_steps:
        return scale * 2, 0, True
    return scale, count, True


def test_isfinite_and_a_restart_at_one():
    assert verdict(4, misused).message.endswith(
        "`finite` is already True or False; `np.isfinite(False)` is True."
    )
    said = verdict(4, lambda *state: (*misused(*state)[:2], bool(state[2]))).message
    assert said.endswith("`np.isfinite(False)` is True.")
    restart = scaler02.slip(after_bad=lambda count: 1)
    said = "After a step that is not finite the counter is 0, not 1."
    assert verdict(4, restart).message.endswith(said)
    assert restart(8.0, 2, False, 3) == (4.0, 1, False) and restart(8.0, 2, True, 3)[1] == 0


def test_every_run_is_needed_or_harmless():
    """A mistake that shows late in one run only is found all the same."""
    for index, (initial, growth, flags) in enumerate(scaler02.runs()):
        last = len(flags)
        seen = []

        def once(scale, count, finite, growth_steps, growth=growth, last=last, seen=seen):
            seen.append(growth_steps == growth)
            result = scaler02.slip()(scale, count, finite, growth_steps)
            wrong = growth_steps == growth and sum(seen) == last
            return (result[0] * 2, *result[1:]) if wrong else result

        said = scaler02.check_update(once)
        assert f"`growth_steps` = {growth}, step {last} (" in said, index
        assert f"From scale {scaler02._power(initial)} " in said


def other_bookkeeping(scale, count, finite, growth_steps):
    """Right: the count is a list, the scale a float32."""
    history = [] if count == 0 else count
    if not finite:
        return np.float32(scale) / np.float32(2), [], np.False_
    history = [*history, scale]
    if len(history) >= growth_steps:
        return np.float32(scale) * 2, [], np.True_
    return [scale, history, True]


def test_the_scaler_of_the_course_agrees():
    from course_utils.loss_scale import DynamicLossScale

    for initial, growth, flags in scaler02.runs():
        ours = DynamicLossScale(initial, growth)
        applied = [(ours.update(finite), ours.scale)[::-1] for finite in flags]
        assert applied == scaler02.keras_run(initial, growth, flags)


@pytest.mark.parametrize("result, said", [
    (True, "returns True; three values"), ((1, 2, 3, 4), "a tuple of 4 items; three"),
    (("8", 0, True), "the text '8' as the scale"), ((math.inf, 0, True), "inf as the scale"),
    ((8.0, 0, 1), "the number 1 for `applied`"), ((8.0, 0, "True"), "the text 'True' for"),
    ((10**5000, 0, True), "too large to use as the scale"), ("abc", "the text 'abc'; three"),
])  # fmt: skip
def test_what_a_scaler_may_return(result, said):
    problem = scaler02.check_update(lambda scale, count, finite, growth_steps: result)
    assert said in problem and problem.startswith("Your function returns")


def test_what_a_learner_prints_is_shown_for_the_first_run_only(capsys):
    def chatty(*state):
        print("step")
        return scaler02.slip()(*state)

    assert scaler02.check_update(chatty) is None
    assert capsys.readouterr().out == "step\n" * len(scaler02.runs()[0][2])


# --- 5: the order of unscaling ------------------------------------------------------------------


def test_the_numbers_of_the_example():
    w, scaled, lr, S = order02.EXAMPLE
    assert scaled == S * 0.5
    assert order02.true_step(w, scaled, lr, S) == w - lr * 0.5 == 0.95
    for steps, number, text in order02.NOT_THE_STEP:
        if number is not None:
            assert steps[0](w, scaled, lr, S) == pytest.approx(number, rel=1e-5), text
    assert [n for _, n, _ in order02.NOT_THE_STEP[:3]] == [-50.2, 0.999951, -0.0490234]


def test_the_code_in_the_task_is_the_wrong_order():
    task = SHEET.exercises[4].task
    names = {}
    exec(re.search(r"```python\n(.*?)```", task, re.S)[1], names)
    assert "the scaled gradient updates the weights, and the weights are" in task
    assert names["step"](*order02.EXAMPLE) == pytest.approx(-0.049, abs=5e-5) and "−0.049" in task
    assert "unscales the weight afterwards" in verdict(5, names["step"]).message


@pytest.mark.parametrize(
    "step, text", [(step, text) for steps, _, text in order02.NOT_THE_STEP for step in steps]
)
def test_each_wrong_step_is_named(step, text):
    assert verdict(5, step).message.endswith(text)


def test_float_fails_at_the_arrays_only():
    for step in (
        lambda w, g, lr, S: float(w - lr * g / S),
        lambda w, g, lr, S: float(w) - float(lr) * float(g) / float(S),
    ):
        said = verdict(5, step).message
        assert said.startswith("Your function raises TypeError: only ")
        assert said.endswith(". The last trial gives arrays: leave `float()` out.")
    for step in (lambda w, g, lr, S: w + "1", lambda w, g: w, lambda *_: float(np.ones(3))):
        said = verdict(5, step).message
        assert "raises TypeError" in said and "last trial" not in said


def test_floor_division_is_told_from_a_weight_that_does_not_move():
    assert "`//`" not in verdict(5, lambda w, g, lr, S: w).message
    for step in (lambda w, g, lr, S: w - lr * (g // S), lambda w, g, lr, S: w - lr * g // S):
        assert verdict(5, step).message.endswith("`//` cuts the fraction off, so divide with `/`.")


def test_the_gradients_of_the_trials_are_scaled():
    trials = order02._step_trials()
    assert max(np.max(np.abs(g)) for _, g, _, _ in trials) > 65504  # beyond float16
    assert {1, 1000} < {S for _, _, _, S in trials}  # no scaling, and no power of two
    assert {np.ndim(w) for w, _, _, _ in trials} == {0, 1}


def in_place(w, scaled_gradient, lr, S):
    scaled_gradient /= S
    scaled_gradient *= lr
    w -= scaled_gradient
    return w


def wipes(w, scaled_gradient, lr, S):
    if np.ndim(w):
        w[:] = scaled_gradient[:] = 0
    return w - lr * scaled_gradient / S


@pytest.mark.parametrize("step", [
    in_place, lambda w, g, lr, S: (S * w - lr * g) / S, lambda w, g, lr, S: w - lr / S * g,
    lambda w, g, lr, S: np.float32(w) - np.float32(lr) * (np.float32(g) / np.float32(S)),
])  # fmt: skip
def test_other_right_steps(step):
    for _ in range(2):
        assert verdict(5, step).status == "correct"


@pytest.mark.parametrize("step, said", [
    (wipes, "For an array of weights"), (lambda w, g, lr, S: 1 - w, "gives 0; 0.95"),
    (lambda w, g, lr, S: w - lr * float(np.max(g)) / S, "For an array of weights"),
    (lambda w, g, lr, S: float(np.max(order02.true_step(w, g, lr, S))), "an array of the shape"),
    (lambda w, g, lr, S: np.array([order02.true_step(w, g, lr, S)]), "one number is needed"),
    (lambda w, g, lr, S: w - lr * np.float64(float16(g)) / S, "where a finite result is needed"),
    (lambda w, g, lr, S: True, "returns True where one number"),
    (lambda w, g, lr, S: order02.true_step(w, g, lr, S) + 1e-4, "then take the step"),
])  # fmt: skip
def test_other_wrong_steps(step, said):
    assert said in verdict(5, step).message


# --- 6: a scale for an array --------------------------------------------------------------------


def test_the_array_of_the_stub_is_the_one_that_is_checked():
    names = {}
    exec(SHEET.exercises[5].stub.split("s = ...")[0], names)
    g = checks02.layer_gradients()
    assert np.array_equal(names["array"], g) and g.dtype == np.float32 and g.shape == (100_000,)
    given = [SHEET.exercises[5].stub, SHEET.exercises[5].solution, *SHEET.exercises[5].hints]
    assert not any(re.search(r"\bg\b", text) for text in given)  # the notebook's own name
    assert np.all(g != 0) and 0.49 < np.mean(g > 0) < 0.51


def test_the_scales_that_are_accepted():
    g = checks02.layer_gradients().astype(np.float64)
    right = []
    for s in range(-30, 60):
        cast = float16(g * 2.0**s)
        lost = math.fsum(g[cast == 0] ** 2) / math.fsum(g**2)
        said = checks02.check_scale(s)
        assert (said is None) == (not np.isinf(cast).any() and lost < 0.001)
        assert said is None or ("overflow" in said) == np.isinf(cast).any()
        right += [s] * (said is None)
    assert right == list(range(6, 37)) and "s = 6 to 36" in SHEET.exercises[5].right
    assert "36 leaves no room: the next batch may overflow." in SHEET.exercises[5].right
    overflow, zeros, lost = checks02.cast_with_scale(checks02.layer_gradients(), 6)
    assert (overflow, round(zeros / 1000), round(100 * lost, 2)) == (0, 31, 0.05)


def test_the_product_in_float32_is_exact():
    g = checks02.layer_gradients()
    for s in (0, 6, 15, 36):
        product = g * 2.0**s
        assert product.dtype == np.float32
        assert np.array_equal(product.astype(np.float64), g.astype(np.float64) * 2.0**s)


@pytest.mark.parametrize("s", [-20, 0, 5, 6, 15, 36, 37, 60])
def test_the_histogram_of_the_course_agrees(s):
    from course_utils import gradients

    survival = gradients.OctaveHistogram.from_values(checks02.layer_gradients()).survival(
        "float16", s
    )
    overflow, zeros, lost = checks02.cast_with_scale(checks02.layer_gradients(), s)
    assert (survival.overflow, survival.rounded_to_zero) == (overflow, zeros)
    assert survival.norm_lost == pytest.approx(lost, rel=1e-9)


@pytest.mark.parametrize("s", [-100, -99, 127, 128, -101, 2**15, 2.0**-15, 1e300, -1e300])
def test_extreme_scales_are_told_apart(s):
    said = checks02.check_scale(s)
    assert said and len(said) < 200 and "e+02" not in said


@pytest.mark.parametrize("exponent", [*range(6, 16), 24, 100, 1000])
def test_a_power_of_two_is_read_as_a_scale(exponent):
    said = checks02.check_scale(2**exponent)
    shown = f"{2**exponent:,}" if exponent < 30 else f"{2.0**exponent:.6g}"
    assert said.endswith(f". If {shown} is the scale, give its exponent, {exponent}.")
    assert ("float32 has no" in said) == (exponent > 6)


@pytest.mark.parametrize("s", [1, 2, 4, 37, 63, 65, 127, 129, 1000])
def test_other_numbers_are_not_read_as_scales(s):
    assert "is the scale" not in checks02.check_scale(s)


# --- the prediction -----------------------------------------------------------------------------


@pytest.mark.parametrize("guess, kept", [(50, 50.0), (100, 100.0), (0.5, 0.5), (1, 1.0)])
def test_guesses_are_percentages(guess, kept):
    q = exercises.load("02")
    message = q.predict(guess).message
    assert q.guess == kept and f"{kept:g} %" in message
    assert ("Read as 0.5 %. If you mean a share of 0.5, give 50;" in message) == (guess == 0.5)


def test_the_prediction_gives_nothing_away():
    prediction = SHEET.prediction
    assert " ".join(prediction.task.split()).endswith("Section 2 measures the percentage.")
    said = [prediction.task, prediction.stub, prediction.solution]
    for guess in (10, 48, 0.3, 0, 101, -5, math.inf):
        feedback = exercises.load("02").predict(guess)
        said.append(feedback.message.replace("48 %", ""))
        assert (feedback.status == "recorded") == (guess in (10, 48, 0.3))
        assert "ection 2 measures it." in feedback.message or feedback.status != "recorded"
    assert not any(re.search(r"4[5-9]|5\d|half|most of", text) for text in said)


# --- other answers ------------------------------------------------------------------------------


@pytest.mark.parametrize("number, answer", [
    (1, {"largest": 24.0, "smallest": np.int64(17), "more": None}),
    (2, {"scale": np.float32(8192), "applied": Fraction(4)}), (2, {"scale": 2**13, "applied": 4.0}),
    (3, 14001.0), (3, np.array(14001)), (3, Decimal(14001)),
    (4, other_bookkeeping), (4, scaler02.slip(doubles=lambda count, n: count >= n)),
    (4, lambda *state: list(scaler02.slip(bad=lambda scale: scale * 0.5)(*state))),
    (6, 6), (6, 15.0), (6, np.int32(36)), (6, Fraction(24)),
])  # fmt: skip
def test_other_correct_answers(number, answer):
    feedback = verdict(number, answer)
    assert feedback.status == "correct", feedback


@pytest.mark.parametrize("number, answer", [
    (1, {"smallest": 17.0001, "largest": 24}), (1, {"smallest": 17}), (1, (17, 24)),
    (1, {"smallest": True, "largest": 24}), (1, {"smallest": 17, "largest": -1e300}),
    (1, {"smallest": -1e300, "largest": 24}), (1, {"smallest": 1e300, "largest": 24}),
    (2, {"scale": 8192, "applied": 4.5}), (2, {"scale": 1e300, "applied": 4}), (2, (8192, 4)),
    (2, {"scale": -8192, "applied": 4}), (2, {"scale": 8192, "applied": 1e300}),
    (3, 14001.5), (3, 14000.5), (3, 1e300), (3, -1e300), (3, True), (6, True), (6, 6.5),
])  # fmt: skip
def test_near_misses_stay_wrong(number, answer):
    feedback = verdict(number, answer)
    assert feedback.status == "not yet" and len(feedback.message) < 200, feedback


# --- whatever a learner may pass in -------------------------------------------------------------


ODD = [
    *(10**4000, -(10**400), math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("1e999"), ...),
    *(np.arange(3), np.array(["a"]), np.bool_(True), np.float16(math.nan), object()),
    *(int, print, len, Hostile, "\ud800<script>`" * 50, (17, 24), [8192, 4]),
    *(lambda *a: Hostile(), lambda: 1, lambda *a: 10**5000, lambda *a: a, lambda *a: a[:3]),
    *(lambda *a: (Hostile(), 0, True), lambda *a: (8.0, 0, Hostile()), lambda *a: (1.0, a, True)),
    *(lambda *a: sys.exit(3), lambda *a: np.zeros((1,) * 60), lambda *a: [[1], [2, 3]]),
    *(lambda *a: math.nan, lambda *a: 1j, lambda *a: (math.nan, 0, True), scaler02.slip()),
    *(17, 24, 8192, 4, 14001, 15, -17, 2**17, 2.0**-25, 127, 128, -100, -101),
]
scalars = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text()),
    *(st.binary(), st.builds(Hostile), st.builds(Callable), st.sampled_from(ODD)),
)
filled = st.sampled_from([checks02.BRACKET, checks02.RUN]).flatmap(
    lambda right: st.fixed_dictionaries(
        {key: scalars | st.just(value) for key, value in right.items()}
    )
)


@pytest.mark.parametrize("number", range(1, 7))
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
            assert len(lines) <= 15 and max(map(len, lines)) <= 100, cell
    code = (
        "import sys; from course_utils import exercises; q = exercises.load('02')\n"
        "q[1].check({'smallest': 7, 'largest': 24}), q[4].check(len), q[5].check(len)\n"
        "heavy = {'tensorflow', 'keras', 'matplotlib', 'pandas', 'gfloat', 'ml_dtypes'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
