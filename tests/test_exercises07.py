"""Notebook 07's exercises: every number found a second way, every mistake tried.

How two workers hang is held by `test_canaries07.py`; run as a script, this file trains on 4 logical
CPUs for exercise 1.
"""

import doctest
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import hostile
import ml_dtypes
import numpy as np
import pytest
from hostile import Hostile, answered, raises_unprintable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_utils import distributed, exercises
from course_utils.exercises import (
    agree07,
    agreed07,
    checks04,
    checks07,
    efficiency07,
    exchange07,
    nb07,
    replicas07,
    wire07,
    wrong07,
)
from course_utils.loss_scale import DynamicLossScale

ROOT = Path(__file__).resolve().parents[1]
SHEET = exercises.load("07")
MODULES = [agree07, checks07, efficiency07, nb07, wire07]
WRONG = [(e.number, *pair) for e in SHEET.exercises for pair in e.wrong]
FUNCTIONS = [4, 6]
INF, NAN = math.inf, math.nan


def verdict(number, answer):
    return exercises.load("07")[number].check(answer)


def said(number, answer):
    """The message of an answer that is not right."""
    feedback = verdict(number, answer)
    assert feedback.status == "not yet", feedback
    return feedback.message


def run(code, sheet):
    """What the last line of a cell shows."""
    *before, last = code.rstrip().split("\n")
    names = {"q": sheet}
    exec("\n".join(before), names)
    return eval(last, names)


def solution(number):
    """The names that the solution of an exercise defines."""
    names = {}
    exec(SHEET.exercises[number - 1].solution.rsplit("\n", 1)[0], names)
    return names


def on_four_replicas():
    """T F T T with Keras's own and with the cure: weights and scale of each replica."""
    import keras
    import tensorflow as tf

    from course_utils.training import ReplicaSafeLossScaleOptimizer

    strategy = tf.distribute.MirroredStrategy(list(distributed.split_cpu(4)))

    def local(variable):
        return [np.ravel(v)[0].item() for v in strategy.experimental_local_results(variable.value)]

    found = []
    with strategy.scope():
        for kind in (keras.optimizers.LossScaleOptimizer, ReplicaSafeLossScaleOptimizer):
            weight, optimizer = keras.Variable([1.0]), kind(keras.optimizers.SGD(0.5))
            optimizer.build([weight])

            def replica(weight=weight, optimizer=optimizer):
                rank = tf.distribute.get_replica_context().replica_id_in_sync_group
                gradient = tf.where(tf.equal(rank, 1), np.float32(np.inf), np.float32(1))
                optimizer.apply([optimizer.scale_loss(gradient)[None]], [weight])

            tf.function(lambda replica=replica: strategy.run(replica))()
            found.append([local(weight), local(optimizer.dynamic_scale)])
    print("RESULT", json.dumps(found))


if __name__ == "__main__":
    on_four_replicas()


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


@pytest.mark.parametrize("exercise", SHEET.exercises, ids=lambda e: str(e.number))
def test_reference_and_stub(exercise):
    sheet = exercises.load("07")
    assert run(exercise.stub, sheet).status == "not attempted" and sheet.solved == []
    feedback = run(exercise.solution, sheet)
    assert (feedback.status, feedback.message) == ("correct", exercise.right)
    assert sheet.solved == [exercise.number]


@pytest.mark.parametrize(
    "number, answer, fragment", WRONG, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(WRONG)]
)
def test_each_wrong_answer_gets_its_message(number, answer, fragment):
    assert fragment in said(number, answer)


def test_messages_end_and_are_told_apart():
    for e in SHEET.exercises:
        messages = [e.checker(answer) for answer, _ in e.wrong]
        assert len(set(messages)) == len(messages)
        for text in [*messages, e.right, *e.hints]:
            assert len(text) < 300 and len(re.split(r"[.?] (?=[A-Z`])", text)) <= 2, text


# --- 1: one overflow on four replicas -----------------------------------------------------------


@pytest.mark.slow
def test_four_replicas_do_what_the_answer_says():
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-2000:]
    found = json.loads(lines[0].removeprefix("RESULT "))
    for name, (weights, scales) in zip(("Keras", "cure"), found, strict=True):
        assert sum(weight != 1 for weight in weights) == checks07.FLAGS[f"{name} steps"]
        assert scales == [checks07.FLAGS[f"{name} scale"]] * 4
    assert not np.isfinite(found[0][0]).any()  # "infinity reaches the sum"


def test_the_scale_halves_as_in_one_device():
    loss_scale = DynamicLossScale(checks07.SCALE)
    assert not loss_scale.update(all([True, False, True, True]))
    assert loss_scale.scale == checks07.FLAGS["cure scale"]
    assert "T F T T" in SHEET.exercises[0].task and "32,768" in SHEET.exercises[0].task


def test_every_other_set_of_flags_is_wrong():
    choices = (0, 1, 3, 4), (16384, 32768), (0, 1, 3, 4), (16384, 32768, 2048)
    for values in itertools.product(*choices):
        message = checks07.check_flags(dict(zip(checks07.FLAGS, values, strict=True)))
        assert (message is None) == (values == tuple(checks07.FLAGS.values()))


# --- 2: bytes on the wire -----------------------------------------------------------------------


def played_ring(arrays):
    """A ring all-reduce, message by message: the sums, and the bytes that each device sends."""
    count = len(arrays)
    parts = [np.array_split(array.copy(), count) for array in arrays]
    sent = [0] * count
    for turn in range(2 * (count - 1)):
        which = [(rank - turn) % count for rank in range(count)]
        if turn >= count - 1:
            which = [(rank + 1 - (turn - count + 1)) % count for rank in range(count)]
        messages = [parts[rank][part].copy() for rank, part in enumerate(which)]
        for rank, (part, message) in enumerate(zip(which, messages, strict=True)):
            sent[rank] += message.nbytes
            to = parts[(rank + 1) % count]
            to[part] = to[part] + message if turn < count - 1 else message
    return [np.concatenate(each) for each in parts], sent


def test_a_played_ring_sends_what_the_answer_says():
    assert checks07.WEIGHTS == checks04.WEIGHTS and checks07.DEVICES == 4
    source = np.random.default_rng(7)
    arrays = [source.integers(-9, 9, checks07.WEIGHTS).astype("float32") for _ in range(4)]
    sums, sent = played_ring(arrays)
    assert all(np.array_equal(each, sum(arrays)) for each in sums)
    assert all(abs(count / 1e6 - checks07.RING) < 1e-4 for count in sent)
    assert checks07.RING * 1e6 == distributed.ring_bytes(checks07.WEIGHTS, 4)
    assert f"{checks07.RING:.2f}" == "6.07"
    many = distributed.ring_bytes(checks07.WEIGHTS, 10**6) / 1e6
    assert "8.09 MB" in SHEET.exercises[1].right and 8.0 < many < 2 * checks07.SIZE < 8.095
    assert f"{checks07.WEIGHTS:,} weights" in SHEET.exercises[1].task


@settings(max_examples=300, deadline=None)
@given(st.floats(-10, 500) | st.floats(5.9, 6.2))
def test_no_other_size_is_right(value):
    message = checks07.check_ring(value)
    assert (message is None) == (abs(value / checks07.RING - 1) <= 0.003)


# --- 3: two workers decide alone ----------------------------------------------------------------


def played_workers(bad_step, steps=10):
    """Which step each worker finishes last; in the sum of a step the worker waits for the other."""
    last, at, waits = [-1, -1], [0, 0], [False, False]
    while not all(waits) and min(at) < steps:
        for rank in (0, 1):
            if at[rank] == bad_step and rank == 1:
                last[rank], at[rank] = bad_step, bad_step + 1  # skipped: no sum
            else:
                waits[rank] = True
        if all(waits) and at[0] == at[1]:
            last, at, waits = list(at), [at[0] + 1, at[1] + 1], [False, False]
    return last, "hang" if all(waits) else "to the end"


def test_two_played_workers_end_as_the_answer_says():
    last, ending = played_workers(checks07.BAD_STEP)
    assert {"worker 0": last[0], "worker 1": last[1], "then": ending} == checks07.WORKERS
    assert played_workers(99) == ([9, 9], "to the end")
    # As in test_canaries07: overflow in step 2, worker 0 ends 0 and 1, worker 1 ends 0, 1 and 2.
    assert played_workers(2) == ([1, 2], "hang")
    task = SHEET.exercises[2].task
    assert f"In step {checks07.BAD_STEP} the" in task.replace("\n", " ")


def test_all_other_endings_are_wrong():
    for one, other, then in itertools.product(range(11), range(11), ["hang", "NaN", "error"]):
        answer = {"worker 0": one, "worker 1": other, "then": then}
        assert (checks07.check_workers(answer) is None) == (answer == checks07.WORKERS)


# --- 4: a step on which all agree ---------------------------------------------------------------


def test_the_cases_tell_the_mistakes_apart():
    functions = [agree07.step, *(mistake for mistake, _ in agreed07.NOT_AGREED)]
    outcomes = [agree07.played(function) for function in functions]
    for one, other in itertools.combinations(outcomes, 2):
        assert not all(map(agree07.same, one, other))
    for one, other in zip(agree07.trials(), agree07.trials(), strict=True):
        assert np.array_equal(one[1], other[1], equal_nan=True)  # the same each time


def test_the_reference_step_is_that_of_the_solution():
    ours, theirs = agree07.played(agree07.step), agree07.played(solution(4)["step"])
    assert all(map(agree07.same, ours, theirs))
    for case, (weights, scale), trial in zip(agree07.CASES, ours, agree07.trials(), strict=True):
        loss_scale = DynamicLossScale(case[1])
        moved = loss_scale.update(not case[2])
        assert loss_scale.scale == scale and moved != np.array_equal(weights, trial[0])
        assert (weights == weights[0]).all()


def in_place(weights, gradients, scale):
    total = np.sum(gradients, axis=0)
    if not np.isfinite(total).all():
        return weights, scale / 2
    for weight in weights:
        weight -= 0.1 * total / scale
    return weights, scale


def with_tensors(weights, gradients, scale):
    import tensorflow as tf

    finite = tf.reduce_all(tf.math.is_finite(tf.stack(gradients)))
    update = 0.1 * tf.add_n([tf.constant(g) for g in gradients]) / scale
    new = [tf.where(finite, w - update, w) for w in weights]
    return new, tf.where(finite, scale, scale / 2)


def unscaled_first(weights, gradients, scale):
    gradients = [np.float64(g) / scale for g in gradients]
    bad = sum(float(not np.isfinite(g).all()) for g in gradients)
    if bad > 0.5:
        return tuple(weights), Fraction(scale) / 2
    return np.stack(weights) - sum(gradients) * 0.1, np.float32(scale)


@pytest.mark.parametrize(
    "function",
    [
        *(agree07.step, agreed07.slip(), in_place, with_tensors, unscaled_first),
        lambda w, g, s: list(solution(4)["step"](w, g, s)),
    ],
)
def test_other_right_steps(function):
    for _ in range(2):
        assert verdict(4, function).status == "correct"


@pytest.mark.parametrize("function, text", [
    (lambda w, g, s: (w, s, s), "a tuple of 3 items"),
    (lambda w, g, s: (w[0], w[1]), "as the weights"),
    (lambda w, g, s: (w[:1], s), "an array of shape (1, 3)"),
    (lambda w, g, s: (5, s), "the number 5 as the weights"),
    (lambda w, g, s: ([[1], [2, 3]], s), "what cannot be read"),
    (lambda w, g, s: (w, NAN), "the number nan as the scale"),
    (lambda w, g, s: ([w[0] + n for n in range(len(w))], s), "with different weights"),
    (lambda w, g, s: ([v * 1e308 for v in np.float64(w)], s), "not those of one step"),
    (lambda w, g, s: (agree07.step(w, g, s)[0], s * 3), "your scale becomes 3072"),
    (lambda w, g, s: sys.exit(3), "raises SystemExit: 3"),
])  # fmt: skip
def test_other_wrong_steps(function, text):
    assert text in said(4, function)


# --- 5: gradients in 16 bits --------------------------------------------------------------------


def test_numpy_and_tensorflow_send_the_same_numbers():
    import tensorflow as tf

    true = np.float32([0.1, 1.5, 1e-13])
    for name, dtype in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)):
        with np.errstate(over="ignore"):
            sent = (true * np.float32(wire07.SCALE)).astype(dtype)
            total = (sent + sent).astype(np.float32) / np.float32(wire07.SCALE)
        assert total.tolist() == pytest.approx(wire07.RIGHT[name], rel=1e-6)
        cast = tf.cast(true * np.float32(wire07.SCALE), name)
        assert tf.cast(cast + cast, "float32").numpy().tolist() == (total * 32768).tolist()
    assert solution(5)["answer"].keys() == wire07.RIGHT.keys()


def test_what_the_messages_say_about_neighbours():
    """The numbers in the messages are the neighbours in each dtype."""
    for dtype, below, above in ((np.float16, 3276, 3278), (ml_dtypes.bfloat16, 3264, 3280)):
        low, high = dtype(below), dtype(above)
        assert float(low) == below and float(high) == above
        assert np.nextafter(low, high) == high
        name = np.dtype(dtype).name
        assert f"{below:,} and {above:,}" in wire07.PLACES[name, 0][0][1]
    assert float(np.finfo(np.float16).max) == 65504 and 49152 < 65504 < 2 * 49152 == 98304
    assert f"{float(np.finfo(np.float16).smallest_subnormal) / 2:.0e}" == "3e-08"


@pytest.mark.parametrize("factor, right", [(1.00003, True), (0.99997, True), (1.0001, False)])
def test_how_near_a_number_has_to_be(factor, right):
    for name, row in wire07.RIGHT.items():
        for place, value in enumerate(row):
            if value in (0, INF):
                continue
            given_row = [v * factor if n == place else v for n, v in enumerate(row)]
            message = wire07.check_wire({**wire07.RIGHT, name: given_row})
            assert (message is None) == right


def test_numbers_that_are_not_told_apart_by_chance():
    pools = [(0.2, 0.19995, 0.20020, 6552.0), (3.0, INF, NAN, 6.0, 2.0), (0.0, 2e-13, INF)]
    for name in wire07.RIGHT:
        for row in itertools.product(*pools):
            message = wire07.check_wire({**wire07.RIGHT, name: row})
            equal = all(map(wire07.near, row, wire07.RIGHT[name]))
            assert (message is None) == equal and len(message or "") < 300


# --- 6: how well it scales ----------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.floats(1, 1e3), st.floats(1, 1e4), st.integers(1, 2048), st.floats(0.1, 500))
def test_the_reference_share_is_that_of_the_course(compute, size, devices, rate):
    link = distributed.Link(rate * 1e9)
    step = distributed.step_seconds(compute / 1e3, size * 1e6 / 4, devices, link)
    share = efficiency07.efficiency(compute, size, devices, rate)
    assert share == pytest.approx(compute / 1e3 / step, rel=1e-6)
    assert solution(6)["efficiency"](compute, size, devices, rate) == pytest.approx(share)
    speedup = distributed.speedup(compute / 1e3, size * 1e6 / 4, devices, link)
    assert speedup == pytest.approx(devices * share)


def test_the_trials_tell_the_mistakes_apart():
    mistakes = [efficiency07.efficiency, *(m for m, _ in efficiency07.NOT_THE_SHARE)]
    found = {tuple(f"{m(*trial):.3g}" for trial in efficiency07.TRIALS) for m in mistakes}
    assert len(found) == len(mistakes)
    assert efficiency07.efficiency(*efficiency07.SHOWN) == 0.625
    task = SHEET.exercises[5].task
    assert "For 100 ms, 40 MB, 4 devices and 1 GB/s it is 0.625" in task
    assert efficiency07.SHOWN == (100, 40, 4, 1)


@pytest.mark.parametrize("function", [
    efficiency07.efficiency,
    lambda c, m, n, b: 1 / (1 + 2 * (1 - 1 / n) * m / (b * c)),
    lambda c, m, n, b: Fraction(c) / (c + 2 * Fraction(n - 1, n) * m / Fraction(b)),
    lambda c, m, n, b: np.float32(c / (c + distributed.ring_bytes(m, n, 1) / b)),
    lambda c, m, n, b: 1.0 if n == 1 else c / (c + 2 * (n - 1) * (m / n) / b),
])  # fmt: skip
def test_other_right_shares(function):
    assert verdict(6, function).status == "correct"


@pytest.mark.parametrize("factor, right", [(1.0005, True), (1.003, False), (0.9, False)])
def test_how_near_a_share_has_to_be(factor, right):
    message = efficiency07.check_efficiency(lambda *t: factor * efficiency07.efficiency(*t))
    assert (message is None) == right


# --- the prediction -----------------------------------------------------------------------------


@pytest.mark.parametrize("guess, kept", [(50, 50.0), (100, 100.0), (0.9, 0.9), (1, 1.0)])
def test_guesses_are_percentages(guess, kept):
    q = exercises.load("07")
    message = q.predict(guess).message
    assert q.guess == kept and f"{kept:g} %" in message
    assert ("If you mean a share of 0.9, give 90;" in message) == (guess == 0.9)


def test_other_guesses_are_refused_in_one_sentence():
    q = exercises.load("07")
    for guess in (0, -5, 101, NAN, INF, "50", "50 %", [50], None):
        feedback = q.predict(guess)
        assert feedback.status == "not yet" and "You gave" in feedback.message
    assert q.guess is None
    assert " ".join(SHEET.prediction.task.split()).endswith("section 3 measures it.")


# --- other answers ------------------------------------------------------------------------------


@pytest.mark.parametrize("number, answer", [
    (1, {**checks07.FLAGS, "cure scale": 2.0**14, "more": None}),
    (1, {key: np.float32(value) for key, value in checks07.FLAGS.items()}),
    (2, 6.07), (2, np.float32(6.0688)), (2, Fraction(607, 100)), (2, Decimal("6.07")),
    (3, {"worker 0": 3.0, "worker 1": np.int64(4), "then": " Hang "}),
    (5, {name: np.array(row) for name, row in wire07.RIGHT.items()}),
    (5, {"float16": [0.19995, INF, 0], "bfloat16": (Decimal("0.2002"), 3, 1.9984e-13)}),
    (5, {name: np.float32(row) for name, row in wire07.RIGHT.items()}),
])  # fmt: skip
def test_other_correct_answers(number, answer):
    feedback = verdict(number, answer)
    assert feedback.status == "correct", feedback


ODD = [
    *(10**4000, -(10**400), NAN, INF, -INF, Decimal("NaN"), Decimal("1e999"), ..., object(), 1j),
    *(np.arange(3), np.array(["a", "b", "c"]), np.bool_(True), np.float16(NAN), [INF, NAN, -INF]),
    *(int, print, len, Hostile, "\ud800<script>`" * 50, (1, 2.0), [[1], [2, 3]], b"12", 1e308),
    *(lambda *a: Hostile(), lambda: 1, lambda *a: 10**5000, lambda *a: a, lambda *a: a[0]),
    *(lambda *a: (a[0], a[-1]), lambda *a: ([Hostile()] * 2, 1), lambda *a: (a[0], Hostile())),
    *(lambda *a: ([10**5000], 1), lambda *a: (np.zeros((1,) * 60), 1), lambda *a: sys.exit(3)),
    *(lambda *a: ([[1j] * 3] * 2, 1), lambda *a: (a[0], 1e308), raises_unprintable, [1, 2, 3]),
    *("hang", "NaN", 6.07, 4, "\n", lambda *a: NAN, lambda *a: True, lambda *a: object()),
]
scalars = hostile.scalars(ODD) | st.lists(st.floats() | st.none(), min_size=3, max_size=3)
filled = st.sampled_from([checks07.FLAGS, checks07.WORKERS, wire07.RIGHT]).flatmap(
    lambda right: st.fixed_dictionaries(
        {key: scalars | st.just(value) for key, value in right.items()}
    )
)
MANY = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("number", range(1, 7))
@MANY
@given(answer=scalars | filled)
def test_no_answer_raises(number, answer):
    answered(SHEET, number, answer)


@pytest.mark.parametrize("number", FUNCTIONS)
@MANY
@given(value=scalars | st.tuples(scalars, scalars))
def test_whatever_a_function_returns(number, value):
    answered(SHEET, number, lambda *arguments: value)


@MANY
@given(value=scalars)
def test_whatever_a_function_returns_for_one_case(value):
    source = random.Random(0)
    answered(SHEET, 4, lambda *a: value if source.random() < 0.2 else agree07.step(*a))
    answered(SHEET, 6, lambda *a: value if a[2] == 1 else efficiency07.efficiency(*a))


@pytest.mark.parametrize("number", range(1, 7))
def test_garbage_is_told_what_was_given(number):
    for answer in (None, "4", [], {}, NAN, object(), raises_unprintable, len, lambda: 1,
                   lambda *a: "x", lambda *a: Hostile(), Hostile()):  # fmt: skip
        assert re.search("[Yy]ou gave|Your function|is missing", said(number, answer))


def test_cells_are_short_and_imports_light():
    for e in SHEET.exercises:
        for cell in (e.stub, e.solution):
            lines = cell.splitlines()
            assert len(lines) <= 15 and max(map(len, lines)) <= 100, cell
    code = (
        "import sys; from course_utils import exercises\n"
        "from course_utils.exercises import nb07; q = exercises.load('07')\n"
        "[e.checker(answer) for e in q.exercises for answer, _ in e.wrong]\n"
        "heavy = {'tensorflow', 'keras', 'matplotlib', 'pandas', 'gfloat', 'ml_dtypes'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_the_modules_are_small():
    for module in [*MODULES, agreed07, exchange07, replicas07, wrong07]:
        assert len(Path(module.__file__).read_text().splitlines()) < 200, module.__name__
