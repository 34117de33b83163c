"""Notebook 05's exercises: every number found a second way, every mistake tried."""

import doctest
import math
import random
import re
import statistics
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import hostile
import numpy as np
import pytest
from hostile import Hostile, answered, raises_unprintable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_utils import exercises
from course_utils.exercises import (
    batch05,
    checks05,
    device05,
    limits05,
    measure05,
    memory05,
    nb05,
    steptime05,
    time05,
    wrong05,
    wrongtimes05,
)

ROOT = Path(__file__).resolve().parents[1]
SHEET = exercises.load("05")
MODULES = [batch05, checks05, device05, limits05, measure05, nb05, steptime05]
WRONG = [(e.number, *pair) for e in SHEET.exercises for pair in e.wrong]
QUIET = pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")


mis = wrongtimes05.measure  # a measurement, right or with a mistake


def verdict(number, answer):
    return exercises.load("05")[number].check(answer)


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


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


@pytest.mark.parametrize("exercise", SHEET.exercises, ids=lambda e: str(e.number))
def test_reference_and_stub(exercise):
    sheet = exercises.load("05")
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


# --- 1: one layer under two roofs ---------------------------------------------------------------


def test_the_roofline_gives_the_speedup():
    from course_utils import roofline

    t4 = roofline.devices()["T4"]
    assert (t4.tflops["float32"], t4.tflops["float16"], t4.gb_per_s) == (8.1, 65, 320)
    speedup = roofline.ideal_speedup(t4, 50, "float16")
    assert checks05.SPEEDUP == pytest.approx(speedup) and f"{speedup:.2f}" == "3.95"
    assert checks05.check_roofline(speedup) is None
    work = 50e9  # operations on 1 GB, the long way: each time is the longer of two
    float32 = max(work / 8.1e12, 1e9 / 320e9)
    float16 = max(work / 65e12, 0.5e9 / 320e9)
    assert float32 / float16 == pytest.approx(speedup)
    assert [float32 == work / 8.1e12, float16 == 0.5e9 / 320e9] == [True, True]
    task, right = SHEET.exercises[0].task, SHEET.exercises[0].right
    assert all(number in task for number in ("8.1", "65", "320", "50 operations"))
    assert "arithmetic is the limit, in float16 memory" in right and round(65 / 8.1) == 8
    assert "it takes 203" in checks05.NOT_THE_SPEEDUP[0][1] and int(65 / 0.32) == 203


@pytest.mark.parametrize(
    "factor, right",
    [(1.004, True), (0.996, True), (1.0, True), (1.008, False), (0.992, False), (1.3, False)],
)
def test_how_near_a_speedup_has_to_be(factor, right):
    message = checks05.check_roofline(factor * checks05.SPEEDUP)
    assert (message is None) == right
    assert ("two decimals" in (message or "")) == (0.005 < abs(factor - 1) < 0.02)


@settings(max_examples=300, deadline=None)
@given(st.floats(-10, 500) | st.floats(3.8, 4.1))
def test_no_other_speedup_is_right(value):
    message = checks05.check_roofline(value)
    assert (message is None) == (abs(value / checks05.SPEEDUP - 1) <= 0.005)


# --- 2: a step that waits -----------------------------------------------------------------------


def batches(load, step, prefetch, count=200):
    """When each of many steps ends: loading and training played through, one batch ahead."""
    ends, loaded, free = [], 0.0, 0.0
    for _ in range(count):
        start = loaded if prefetch else (ends[-1] if ends else 0.0)
        loaded = start + load
        begin = max(loaded, free)
        free = begin + step
        ends.append(free)
    return (ends[-1] - ends[count // 2]) / (count - 1 - count // 2)


def test_a_played_pipeline_gives_the_two_speedups():
    from course_utils import roofline

    for prefetch, name in ((True, checks05.WITH), (False, checks05.WITHOUT)):
        before, after = (batches(30, step, prefetch) for step in (20, 10))
        assert before / after == pytest.approx(checks05.RIGHT[name])
        for step, played in ((20, before), (10, after)):
            assert roofline.with_input(step, 30, prefetch) == pytest.approx(played)


def test_other_pairs_of_speedups():
    right = checks05.RIGHT
    for one, other in product((0.5, 1.0, 1.25, 1.5, 2.0, 4.0), repeat=2):
        answer = {checks05.WITH: one, checks05.WITHOUT: other}
        message = checks05.check_input(answer)
        assert (message is None) == (answer == right)
        if message and one == 1.0:
            assert message.startswith("without prefetch: ")


# --- 3: a typical step --------------------------------------------------------------------------

readings = st.lists(st.integers(1, 900), min_size=2, max_size=12).map(
    lambda steps: [(1234 + sum(steps[:n])) / 1000 for n in range(len(steps) + 1)]
)


@settings(max_examples=200, deadline=None)
@given(readings)
def test_the_reference_step_is_that_of_numpy_and_of_the_solution(times):
    expected = 1000 * np.median(np.diff(times)[1:])
    assert steptime05.step_ms(times) == pytest.approx(expected, abs=1e-6)
    names = {}
    exec(SHEET.exercises[2].solution.rsplit("\n", 1)[0], names)
    assert names["step_ms"](times) == pytest.approx(expected, abs=1e-6)


def test_the_lists_tell_the_mistakes_apart():
    lists = list(steptime05.trials())
    assert lists[0] == steptime05.SHOWN and lists == list(steptime05.trials())
    mistakes = [steptime05.step_ms, *(mistake for mistake, _ in steptime05.NOT_THE_STEP)]
    found = {tuple(f"{mistake(times):.4g}" for times in lists) for mistake in mistakes}
    assert len(found) == len(mistakes)
    slowest = [np.argmax(np.diff(times)) for times in lists]
    assert 0 in slowest and any(slowest)  # the first step is not always the slowest
    assert {len(times) % 2 for times in lists} == {0, 1}


def test_the_numbers_of_the_task_and_of_the_sheet():
    task = SHEET.exercises[2].task
    assert str(steptime05.SHOWN) in task and "412, 71, 70, 69, 140, 70\nand 70 ms" in task
    steps = np.diff(steptime05.SHOWN) * 1000
    assert round(np.mean(steps)) == 129 and "129 ms" in SHEET.exercises[2].right
    assert np.median(steps[1:]) == pytest.approx(70)


@pytest.mark.parametrize("function", [
    lambda t: 1000 * np.median(np.diff(t[1:])),
    lambda t: float(np.median(np.diff(np.float32(t))[1:]) * np.float32(1000)),
    lambda t: statistics.median([(t[i + 1] - t[i]) * 1e3 for i in range(1, len(t) - 1)]),
    lambda t: (t.pop(0), statistics.median((b - a) * 1000 for a, b in zip(t, t[1:])))[-1],  # noqa: B905
    lambda t: np.array(steptime05.step_ms(t)),
    lambda t: Fraction(steptime05.step_ms(t)),
])  # fmt: skip
def test_other_right_steps(function):
    for _ in range(2):
        assert verdict(3, function).status == "correct"


@pytest.mark.parametrize("factor, right", [(1.0005, True), (1.003, False), (0.9, False)])
def test_how_near_a_step_has_to_be(factor, right):
    message = steptime05.check_step_ms(lambda times: factor * steptime05.step_ms(times))
    assert (message is None) == right


# --- 4: the largest batch that fits -------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 4000), st.integers(0, 5 * 10**9), st.integers(5 * 10**6, 10**8))
def test_the_reference_batch_is_that_of_the_solution(budget, fixed, per_image):
    names = {}
    exec(SHEET.exercises[3].solution.rsplit("\n", 1)[0], names)
    images = batch05.largest_batch(budget, fixed, per_image)
    assert names["largest_batch"](budget, fixed, per_image) == images
    assert images == 0 or fixed + images * per_image <= budget * 2**20
    assert fixed + (images + 1) * per_image > budget * 2**20


def test_the_budgets_tell_the_mistakes_apart():
    lists = list(batch05.trials())
    assert lists == list(batch05.trials())
    mistakes = [batch05.largest_batch, *(mistake for mistake, _ in batch05.NOT_THE_BATCH)]
    found = {tuple(f"{mistake(*t):.9g}" for t in lists[:-3]) for mistake in mistakes}
    assert len(found) == len(mistakes)
    left = [(b * 2**20 - f) / p % 1 for b, f, p in lists[:-3]]
    assert min(left) < 0.5 < max(left) and min(left) > 0.1
    exact, over, none = lists[-3:]
    assert exact[1] + 77 * exact[2] == exact[0] * 2**20
    assert over[1] > over[0] * 2**20 > none[1] > 0


def test_arguments_in_another_order():
    for order in list(permutations(range(3)))[1:]:

        def swapped(*arguments, order=order):
            b, f, p = (arguments[place] for place in order)
            return max(0, (b * 2**20 - f) // p)

        assert said(4, swapped).endswith("budget_mib, fixed, per_image: in this order.")


def counts_up(budget_mib, fixed, per_image):
    images = 0
    while fixed + (images + 1) * per_image <= budget_mib * 1024 * 1024:
        images += 1
    return images


@pytest.mark.parametrize("function", [
    batch05.largest_batch, counts_up,
    lambda b, f, p: max(int((b * 2**20 - f) / p), 0),
    lambda b, f, p: float(max((b * 2**20 - f) // p, 0)),
    lambda b, f, p: np.maximum(np.int64(b * 2**20 - f) // p, 0),
    lambda b, f, p: int(max(0, (b - f / 2**20) // (p / 2**20))),
    lambda b, f, p: math.floor((b * 2**20 - f) / p) if f < b * 2**20 else 0,
])  # fmt: skip
def test_other_right_batches(function):
    for _ in range(2):
        assert verdict(4, function).status == "correct"


def test_what_the_right_message_says():
    """Half the bytes per image: twice as many, or one more than that."""
    source = random.Random(1)
    for _ in range(200):
        budget, fixed, half = source.randint(500, 900), source.randint(0, 10**8), 10**6
        many = batch05.largest_batch(budget, fixed, half)
        assert many - 2 * batch05.largest_batch(budget, fixed, 2 * half) in (0, 1)


# --- 5: four steps, four limits -----------------------------------------------------------------


def as_trace(step, become=(1, 1, 1, 1)):
    """A trace with one step of the task: waiting, products, other operations, nothing."""
    from course_utils.profiling.trace import Event, Trace

    waiting, products, others, nothing = (
        part * left for part, left in zip(limits05.STEPS[step], become, strict=True)
    )
    busy, end = waiting + products, waiting + products + others
    events = [
        ("main", "train", 0.0, end + nothing, {"step_num": 0}),
        ("main", "IteratorGetNext:IteratorGetNext", 0.0, waiting, {}),
        ("worker", "conv/Conv2D:Conv2D", waiting, waiting + products / 2, {}),
        ("worker", "dense/MatMul:MatMul", waiting + products / 2, busy, {}),
        ("worker", "gelu/Erf:Erf", busy, end, {}),
    ]
    events = [Event("/host:CPU", *event) for event in events if event[3] > event[2]]
    return Trace(Path("made"), tuple(sorted(events, key=lambda e: (e.start, -e.end))))


@pytest.mark.parametrize("step", limits05.STEPS)
def test_the_profiler_names_the_same_limits_and_speedups(step):
    from course_utils import profiling

    found = profiling.bottleneck(as_trace(step))
    assert found.name == limits05.LIMITS[step]
    change = profiling.compare(as_trace(step), as_trace(step, limits05.BECOME))
    assert change.speedup == pytest.approx(limits05.SPEEDUPS[step], rel=1e-6)
    assert change.speedup == pytest.approx(limits05.speedup(step))


def test_the_task_shows_these_numbers():
    task, right = SHEET.exercises[4].task, SHEET.exercises[4].right
    for step, parts in limits05.STEPS.items():
        waiting, products, others, nothing = (f"{part:g}" for part in parts)
        nothing = f"{parts[3]:.1f}"
        assert f"| {step} | {waiting} | {products} | {others} | {nothing} |" in task
    assert sorted(limits05.LIMITS.values()) == sorted(limits05.PARTS)
    assert [f"{value:.1f}" for value in limits05.SPEEDUPS.values()] == ["2.0", "1.2", "3.0", "1.4"]
    assert "A becomes 2.0 times as fast, B 1.2, C 3.0 and D 1.4" in right
    gains = sorted(limits05.SPEEDUPS.values())
    assert limits05.RIGHT[limits05.SMALLEST] == gains[0] == limits05.SPEEDUPS["B"]
    assert limits05.RIGHT[limits05.LARGEST] == gains[-1] == limits05.SPEEDUPS["C"]


def test_every_order_of_the_four_names():
    for names in permutations(limits05.PARTS):
        answer = {**limits05.RIGHT, **dict(zip("ABCD", names, strict=True))}
        message = limits05.check_limits(answer)
        assert (message is None) == (names == tuple(limits05.LIMITS.values()))
        if message:
            step = message[0]
            took = float(re.search(r"(\S+) of \S+ ms", message)[1])
            assert answer[step] != limits05.LIMITS[step] and took < max(limits05.STEPS[step])


@settings(max_examples=300, deadline=None)
@given(st.floats(-1, 400) | st.floats(2.5, 3.5), st.floats(-1, 150) | st.floats(1, 1.5))
def test_only_those_two_speedups_are_right(largest, smallest):
    answer = {**limits05.RIGHT, limits05.LARGEST: largest, limits05.SMALLEST: smallest}
    message = limits05.check_limits(answer)
    near = abs(largest - 2.9826) <= 0.03, abs(smallest - 1.2275) <= 0.03
    if all(near):
        assert message is None
    elif abs(largest - 2.9826) > 0.0301 or abs(smallest - 1.2275) > 0.0301:
        assert message


# --- 6: measure it honestly ---------------------------------------------------------------------


def test_the_device_behaves_like_an_accelerator():
    device = device05.Device(first=2.0, typical=0.3)
    start = device.clock()
    results = [device.f() for _ in range(3)]
    assert device.clock() - start == pytest.approx(3 * device05.LAUNCH)  # none is ready
    results[1].numpy()  # the work is done in order
    assert device.clock() == pytest.approx(2.3, rel=0.01)
    results[0].numpy()
    assert device.clock() == pytest.approx(2.3, rel=0.01)
    assert float(results[2]) == 1 and device.clock() == pytest.approx(2.6, rel=0.01)
    assert np.asarray(device.f()) == 1 and device.clock() == pytest.approx(2.9, rel=0.01)


def played(function, trial):
    kind, seconds = measure05.TRIALS[trial]
    device = device05.Device(*kind)
    return function(device.f, seconds, device.clock), device


@pytest.mark.parametrize("trial, typical", [(0, 20), (1, 300)])
def test_the_reference_measures_the_typical_call(trial, typical):
    result, device = played(measure05.call_ms, trial)
    assert result == pytest.approx(typical, rel=0.02)
    mean = 1000 * statistics.mean(device.took[1:])
    assert (mean > 1.5 * result) == (trial == 0)  # the slow calls, in the first trial
    assert device.waited == len(device.took) >= 4


def test_the_solution_measures_a_real_function():
    """With the learner's own clock and a TensorFlow function that takes a known time."""
    import time

    import tensorflow as tf

    names = {}
    exec(SHEET.exercises[5].solution.rsplit("\n", 1)[0], names)

    def f():
        time.sleep(0.02)
        return tf.constant(1.0)

    assert 20 <= names["call_ms"](f, 0.2) < 200


def with_several_warm_ups(f, seconds, clock):
    for _ in range(6):
        f().numpy()
    times, end = [], clock() + seconds
    while not times or clock() < end:
        before = clock()
        np.asarray(f())
        times.append((clock() - before) * 1000)
    return np.median(times)


def by_the_sum(f, seconds, clock):
    float(f())
    times = []
    while sum(times) < seconds:
        start = clock()
        f().block_until_ready()
        times.append(clock() - start)
    return sorted(times)[len(times) // 2] * 1e3


def at_least_three(f, seconds, clock):
    result = f()
    result.numpy()
    start, times = clock(), []
    while len(times) < 3 or clock() - start <= seconds:
        times.append(-clock())
        f().numpy()
        times[-1] += clock()
    return statistics.median(times) * 1000


def chained(f, seconds, clock):
    """One reading serves as the end of a call and the start of the next."""
    f().numpy()
    marks = [clock()]
    while marks[-1] - marks[0] < seconds:
        f().numpy()
        marks.append(clock())
    return 1000 * statistics.median(b - a for a, b in zip(marks, marks[1:], strict=False))


@pytest.mark.parametrize("function", [
    measure05.call_ms, with_several_warm_ups, by_the_sum, at_least_three, chained,
    lambda f, seconds, clock: np.float32(measure05.call_ms(f, seconds, clock)),
    mis(), mis(statistics.median_low),
    mis(one=lambda f: f().block_until_ready()),
])  # fmt: skip
def test_other_right_measurements(function):
    for _ in range(2):
        assert verdict(6, function).status == "correct"


def none(f):
    return None


def swallows(f, seconds, clock):
    while True:
        try:
            f()
        except Exception:
            return 20.0


def only_reads(f, seconds, clock):
    while clock() < seconds:
        pass


@QUIET
@pytest.mark.parametrize("function, text", [
    (mis(lambda times: statistics.median(times[1:]), warm=none), "measures no call"),
    (mis(np.median, early=True), "measures no call"),
    (mis(lambda times: sum(times) / len(times), early=True), "measures no call"),
    (mis(lambda times: sorted(times)[len(times) // 2], early=True), "measures no call"),
    (mis(one=lambda f: f(), warm=none), "how long `f` takes to return"),
    (mis(one=lambda f: f(), warm=lambda f: f()), "how long `f` takes to return"),
    (mis(statistics.median_high, unit=1000, calls=5, warm=none), "stops 0."),
    (mis(calls=50), "goes on for 15"),
    (mis(min, unit=2000), "the median of the calls after the first is"),
    (swallows, "goes on and on"), (only_reads, "never calls `f`"),
    (lambda f, seconds, clock: seconds * 1000, "never calls `f`"),
    (lambda f, seconds, clock: (f().numpy(), clock(), math.nan)[-1], "measures no call"),
    (lambda f, seconds, clock: f().shape, "has no attribute 'shape'"),
    (lambda f, seconds, clock: str(measure05.call_ms(f, seconds, clock)), "the text"),
    (lambda f, seconds, clock: sys.exit(3), "raises SystemExit: 3"),
    (lambda seconds, f, clock: f(), "raises TypeError"),
    (lambda clock, f, seconds: measure05.call_ms(f, seconds, clock), "raises"),
    (lambda: 20.0, "raises TypeError"),
])  # fmt: skip
def test_other_wrong_measurements(function, text):
    assert text in said(6, function)


def test_a_function_that_goes_on_is_stopped_soon():
    import time

    start = time.perf_counter()
    for function in (wrongtimes05._never_ends, wrongtimes05._own_limit, swallows, only_reads):
        said(6, function)
    assert time.perf_counter() - start < 20  # seconds; a fraction of one each, here


# --- the prediction -----------------------------------------------------------------------------


@pytest.mark.parametrize("guess, kept", [(50, 50.0), (100, 100.0), (0.9, 0.9), (1, 1.0)])
def test_guesses_are_percentages(guess, kept):
    q = exercises.load("05")
    message = q.predict(guess).message
    assert q.guess == kept and f"{kept:g} %" in message
    assert ("If you mean a share of 0.9, give 90;" in message) == (guess == 0.9)


def test_other_guesses_are_refused_in_one_sentence():
    q = exercises.load("05")
    for guess in (0, -5, 101, math.nan, math.inf, "50", "50 %", [50], None):
        feedback = q.predict(guess)
        assert feedback.status == "not yet" and "You gave" in feedback.message
    assert q.guess is None
    assert " ".join(SHEET.prediction.task.split()).endswith("section 2 measures it.")


# --- other answers ------------------------------------------------------------------------------


@pytest.mark.parametrize("number, answer", [
    (1, 3.95), (1, np.float32(3.9506)), (1, Fraction(320, 81)), (1, Decimal("3.95")),
    (1, np.array(3.95)), (1, np.float16(3.95)),
    (2, {"with prefetch": 1, "without prefetch": Fraction(5, 4), "more": None}),
    (2, {"without prefetch": np.float32(1.25), "with prefetch": np.int64(1)}),
    (5, {**limits05.RIGHT, "largest speedup": 3, "smallest speedup": 1.2}),
    (5, {**limits05.RIGHT, "A": " Memory", "B": "OVERHEAD", "largest speedup": 2.98}),
    (5, {**limits05.RIGHT, "smallest speedup": np.float32(1.23), "more": "x"}),
])  # fmt: skip
def test_other_correct_answers(number, answer):
    feedback = verdict(number, answer)
    assert feedback.status == "correct", feedback


ODD = [
    *(10**4000, -(10**400), math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("1e999"), ...),
    *(np.arange(3), np.array(["a", "b"]), np.bool_(True), np.float16(math.nan), object(), 1j),
    *(int, print, len, Hostile, "\ud800<script>`" * 50, (1, 1.25), [1, 2], {1, 2}, b"12", 1e308),
    *(lambda *a: Hostile(), lambda: 1, lambda *a: 10**5000, lambda *a: a, lambda *a: a[0]),
    *(lambda *a: 10**300, lambda *a: sys.exit(3), raises_unprintable, lambda *a: object()),
    *(lambda *a: np.zeros((1,) * 60), lambda *a: [[1], [2, 3]], lambda *a: math.nan, lambda *a: 1j),
    *(lambda *a: a[0]().numpy(), lambda *a: a[2](), lambda *a: a[-1]() - 1e300, lambda *a: True),
    *("input", "memory", "3.95", 3.95, 70, "\n"),
]
scalars = hostile.scalars(ODD)
filled = st.sampled_from([checks05.RIGHT, limits05.RIGHT]).flatmap(
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


@pytest.mark.parametrize("number", [3, 4, 6])
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=scalars)
def test_whatever_a_function_returns(number, value):
    answered(SHEET, number, lambda *arguments: value)


@pytest.mark.parametrize("number", range(1, 7))
def test_garbage_is_told_what_was_given(number):
    for answer in (None, "4", [], {}, math.nan, object(), raises_unprintable, len, lambda: 1,
                   lambda *a: "x", lambda *a: Hostile(), Hostile()):  # fmt: skip
        assert re.search("[Yy]ou gave|Your function|is missing", said(number, answer))


def test_cells_are_short_and_imports_light():
    for e in SHEET.exercises:
        for cell in (e.stub, e.solution):
            lines = cell.splitlines()
            assert len(lines) <= 15 and max(map(len, lines)) <= 100, cell
    code = (
        "import sys; from course_utils import exercises; q = exercises.load('05')\n"
        "[e.checker(answer) for e in q.exercises for answer, _ in e.wrong]\n"
        "heavy = {'tensorflow', 'keras', 'matplotlib', 'pandas', 'gfloat', 'ml_dtypes'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_the_modules_are_small():
    for module in [*MODULES, memory05, time05, wrong05, wrongtimes05]:
        assert len(Path(module.__file__).read_text().splitlines()) < 200, module.__name__
