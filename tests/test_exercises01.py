"""Notebook 01's exercises: every answer computed again, another way than the checkers do."""

import math
import re
import struct
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hostile import Callable, Hostile, answered
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from course_utils import exercises
from course_utils.exercises import fields01, rounding01, sums01

ROOT = Path(__file__).resolve().parents[1]
SHEET = exercises.load("01")
BFLOAT16 = ml_dtypes.bfloat16


def verdict(number, answer):
    return exercises.load("01")[number].check(answer)


def float16_code(x):
    with np.errstate(over="ignore"):
        return int(np.float64(x).astype(np.float16).view(np.uint16))


# --- the numbers, by brute force ----------------------------------------------------------------


def test_the_fields_are_those_of_the_hardware():
    code = int(np.float32(-4_200_000_000).view(np.uint32))
    assert float(np.float32(-4_200_000_000)) == -4_200_000_000  # no rounding hides a mistake
    bits = f"{code:032b}"
    assert fields01.FIELDS == {"sign": bits[0], "exponent": bits[1:9], "fraction": bits[9:]}
    assert round(4_200_000_000 / 2**31, 3) == 1.956


def test_the_wrong_fields_are_what_their_messages_say():
    mistakes = {name: [bits for bits, _ in pairs] for name, pairs in fields01.NOT_THE_FIELD.items()}
    unbiased, frexp, low, half, double, mirrored, negative, decimal = mistakes["exponent"]
    assert int(unbiased[0], 2) == 31 and len(unbiased[0]) == 8
    assert int(frexp[0], 2) == math.frexp(4.2e9)[1] + 127 == (4_200_000_000).bit_length() + 127
    assert int(low[0], 2) == 157 and int(half[0], 2) == 31 + 15
    assert int(double[0], 2) == 31 + 1023 and int(negative[0], 2) == -31 + 127
    assert [int(bits, 2) for bits in decimal] == [9, 9 + 127]
    assert mirrored[0] == fields01.FIELDS["exponent"][::-1]
    first, short, mirrored, inverted, of_decimal = mistakes["fraction"]
    fraction = fields01.FIELDS["fraction"]
    assert first[0] == ("1" + fraction)[:23] and short[0] + "0" == fraction
    assert mirrored[0] == fraction[::-1]
    value = int(fraction, 2)
    assert [int(bits, 2) for bits in inverted] == [2**23 - value, 2**23 - 1 - value]
    cut = int((4.2 / 4 - 1) * 2**23), int(0.2 * 2**23)
    assert int(of_decimal[0], 2) == cut[1] and int(of_decimal[1], 2) == round(0.2 * 2**23)
    assert int(np.float32(1.2).view(np.uint32)) & (2**23 - 1) == int(of_decimal[1], 2)


def test_the_code_and_its_slips():
    assert float16_code(-6.25) == fields01.CODE == 0xC640
    sixteen = {
        float16_code(6.25), float16_code(-12.5), int(BFLOAT16(-6.25).view(np.uint16)),
        int(np.float32(-6.25).view(np.uint32)), int(np.float64(-6.25).view(np.uint64)),
        0x8000 | 2 << 10 | 0x240,  # no bias
        0xC400 | 0b1100100000,  # the implicit 1 stored
        0x8000 | (2 + 127) << 10 | 0x240,
        0x8000 | (2 + 127) % 32 << 10 | 0x240,
        int.from_bytes(fields01.CODE.to_bytes(2, "big"), "little"), fields01.CODE >> 8,
        0x10000 - 0x4640, -0x4640, int(np.float16(-6.25).view(np.int16)),
        int(f"{fields01.CODE:b}"), -6.25,
    }  # fmt: skip
    assert sixteen == set(fields01.NOT_THE_CODE)


def first_gap(kind):
    return next(n for n in range(1, 2**25) if float(kind(n)) != n)


def test_the_first_gap():
    assert first_gap(np.float16) == 2049 and first_gap(BFLOAT16) == 257
    assert np.float32(16777216) == 16777216 and float(np.float32(16777217)) != 16777217
    assert all(float(np.float32(2**24 - n)) == 2**24 - n for n in range(1000))
    assert verdict(3, 257).message.endswith("7 fraction bits.")


def test_the_search_that_the_task_warns_of_never_ends():
    with np.errstate(over="ignore"):  # NumPy 2 turns the Python integer into float16 as well
        assert np.float16(2049) == 2049 and float(np.float16(2049)) != 2049
    assert "float(np.float16(n))" in SHEET.exercises[2].task


def test_infinity_begins_at_65520():
    whole = np.arange(1, 70_000, dtype=np.float64)
    with np.errstate(over="ignore"):
        rounded = whole.astype(np.float16)
    assert whole[np.isinf(rounded)][0] == 65520 and np.isinf(rounded[65519:]).all()
    for number in (65505, 65512, 65518, 65519):
        assert rounded[number - 1] == 65504


@pytest.mark.parametrize("ratio, stays", [(2048, 1), (3072, 513), (4096, 1024), (1024, 0)])
def test_the_updates_that_vanish(ratio, stays):
    steps = range(1024, 2048)  # w = step / 1024, in exact arithmetic; then in NumPy
    w = (np.array(steps) / 1024).astype(np.float16)
    assert np.count_nonzero(w + w / np.float16(ratio) == w) == stays
    exact = [Fraction(step) + Fraction(step, ratio) for step in steps]
    if ratio != 3072:
        assert sum(round(x) == step for x, step in zip(exact, steps, strict=True)) == stays
        quotients = w / np.float16(ratio)  # the task says that they are exact
        assert all(
            Fraction(float(q)) == Fraction(float(v)) / ratio
            for q, v in zip(quotients, w, strict=True)
        )
    if ratio in sums01.RATIOS:
        assert sums01.SHARES[ratio] == stays / 1024


def test_the_updates_in_wider_formats_never_vanish():
    for kind in (np.float32, np.float64):
        w = (np.arange(1024, 2048) / 1024).astype(kind)
        assert not any((w + w / kind(ratio) == w).any() for ratio in sums01.RATIOS)


def running_sum(kind, addend, n=10_000):
    total, addend = kind(0), kind(addend)
    for _ in range(n):
        total = kind(total + addend)
    return float(total)


def test_where_sums_stall():
    for name, kind in (("float16", np.float16), ("bfloat16", BFLOAT16)):
        assert running_sum(kind, 0.25) == sums01.SUMS[name]
    assert running_sum(np.float32, 0.25) == 2500
    sums = [s for s, _ in sums01.NOT_THE_SUMS]
    assert sums[0] == (running_sum(np.float16, 1), running_sum(BFLOAT16, 1))
    assert sums[2] == (float(np.float16(2500)), float(BFLOAT16(2500)))
    assert sums[3] == tuple(2 * s for s in sums01.SUMS.values())
    assert np.spacing(np.float16(256)) == 0.25 and np.spacing(np.float16(512)) == 0.5
    assert float(np.nextafter(BFLOAT16(64), BFLOAT16(65))) == 64.5


def test_the_prediction_gives_nothing_away():
    assert running_sum(np.float16, 1.0) == 2048
    prediction = SHEET.prediction
    said = [prediction.task, prediction.stub, prediction.solution]
    for guess in (10_000, 2048, 65504, 1, 1e6, 0.5, -1, 0, 2e6, math.inf, "2048x"):
        feedback = exercises.load("01").predict(guess)
        shown = feedback.message.replace("say 2,048.", "").replace("text '2048x'", "")
        said.append(shown)
        assert (feedback.status == "recorded") == (guess in (10_000, 2048, 65504, 1, 1e6, 0.5))
        assert "section 6" in shown or feedback.status != "recorded"
    assert not any(re.search(r"2,?048|stall|stop|stay", text) for text in said)


# --- other right answers ------------------------------------------------------------------------


@pytest.mark.parametrize("number, answer", [
    (1, {"fraction": "1111 0100 1010 1101 1101 010", "exponent": "1001_1110", "sign": " 1 "}),
    (1, {**fields01.FIELDS, "more": None}),
    (2, 0b1100011001000000), (2, np.uint16(50752)), (2, 50752.0), (2, np.array(50752)),
    (3, 2049.0), (3, np.int64(2049)), (3, Decimal(2049)), (4, 65520.0), (4, Fraction(65520)),
    (5, {2048: 0.001, 4096: 1}), (5, {2048: 0.00098, 4096: np.float64(1)}),
    (5, {2048: Fraction(1, 1024), 4096: True + 0, 3072: 0.5}),
    (6, {"float16": np.float16(512), "bfloat16": BFLOAT16(64)}),
    (7, -(1 + 2**-8 + 2**-40)), (7, 1 + 3 * 2**-8 - 2**-40), (7, 1 + 2**-8 + 2**-24),
    (7, np.float64(1 + 2**-8 + 2**-40)), (7, Fraction(257, 256) + Fraction(1, 2**40)),
    (7, 2.0**-134 * (1 + 2**-40)), (7, (2**128 - 2**119) * (1 - 2**-40)),
    (8, float16_code), (8, lambda x: np.uint16(float16_code(x))),
])  # fmt: skip
def test_other_correct_answers(number, answer):
    feedback = verdict(number, answer)
    assert feedback.status == "correct", feedback


@pytest.mark.parametrize("number, answer", [
    (1, {**fields01.FIELDS, "fraction": fields01.FIELDS["fraction"][:-1] + "1"}),
    (2, 0xC640 + 0.5), (3, True), (4, np.float16(65504)), (4, 65519.999999),
    (5, {2048: 0.00091, 4096: 1}), (5, {2048: 1 / 1024, 4096: 1023 / 1024}),
    (6, {"float16": 512.25, "bfloat16": 64}), (6, {"float16": 512}),
])  # fmt: skip
def test_near_misses_stay_wrong(number, answer):
    assert verdict(number, answer).status == "not yet"


# --- rounding twice -----------------------------------------------------------------------------


def rounded_once(x):
    """The bfloat16 code by exact arithmetic, from the two neighbors."""
    exact = Fraction(x)
    size, sign = abs(exact), 0x8000 if math.copysign(1, x) < 0 else 0

    def value(code):  # 0x7F80 stands for 2**128
        field, fraction = divmod(code, 128)
        if field == 0:
            return Fraction(fraction, 2**133)
        return Fraction(128 + fraction) * Fraction(2) ** (field - 134)

    low, high = 0, 0x7F80
    if size >= value(high):
        return sign | high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) <= size else (low, middle)
    up, down = value(high) - size, size - value(low)
    return sign | (high if up < down or (up == down and high % 2 == 0) else low)


def rounded_twice(x):
    try:
        between = struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:  # infinity in float32
        return 0x7F80 if x > 0 else 0xFF80
    return rounded_once(between)


near_ties = st.builds(
    lambda code, sign, off: sign * math.ldexp(256 + 2 * code + 1 + off, -8),
    st.integers(0, 127), st.sampled_from([1, -1]),
    st.sampled_from([0, 2**-14, -(2**-14), 2**-17, -(2**-18), 2**-40, -(2**-43)]),
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | near_ties)
@example(2.0**-134 * (1 + 2**-40))
@example(3.4e38)
@example(-1e300)
@example(5e-324)
@example(0.0)
def test_the_judge_of_double_rounding_agrees_with_exact_arithmetic(x):
    assert (rounding01.check_twice(x) is None) == (rounded_once(x) != rounded_twice(x))


def test_ml_dtypes_rounds_the_solution_twice():
    x = 1 + 2**-8 + 2**-40
    assert float(np.float64(x).astype(np.float32).astype(BFLOAT16)) == 1.0
    assert rounded_once(x) == int(BFLOAT16(1.0078125).view(np.uint16))
    assert 1 + 2**-8 + 2**-60 == 1 + 2**-8
    assert "both ways break the same tie" in verdict(7, 1 + 2**-8 + 2**-60).message


# --- encoding by hand ---------------------------------------------------------------------------


def test_the_trials_are_those_of_numpy():
    x, right = (np.array(column) for column in zip(*rounding01.trials(), strict=True))
    with np.errstate(over="ignore"):
        assert np.array_equal(x.astype(np.float64).astype(np.float16).view(np.uint16), right)
    codes = np.arange(0x10000, dtype=np.uint16).view(np.float16)
    finite = set(codes[np.isfinite(codes)].astype(float))
    assert finite <= set(x) and len(x) == 253_952
    assert set(np.arange(0x10000)[np.isfinite(codes)]) <= set(right)
    assert {65520.0, math.nextafter(65520, 0), 2.0**-25, math.nextafter(2**-25, 1)} <= set(x)
    assert "253,952" in SHEET.exercises[7].task and "253,952" in SHEET.exercises[7].right


def test_the_probes_are_those_of_numpy():
    for x, right, rule, reasons in rounding01.PROBES:
        assert right == float16_code(x), x
        for reason in (rule, *reasons.values()):
            assert not reason.endswith(".") and right not in reasons


def test_the_right_encoder_takes_seconds_at_most():
    start = time.perf_counter()
    assert rounding01.check_encoder(rounding01.slip()) is None
    assert time.perf_counter() - start < 3


def test_one_wrong_number_is_found():
    source = np.random.default_rng(1)
    for index in [0, 3, 253_950, *source.integers(0, 253_952, 5)]:
        lie, right = next(pair for i, pair in enumerate(rounding01.trials()) if i == index)

        def lies_once(x, lie=lie):
            here = x == lie and math.copysign(1, x) == math.copysign(1, lie)
            return rounding01.slip()(x) ^ here

        said = f"For {lie!r} your function gives 0x{right ^ 1:04X}, and 0x{right:04X} is right"
        assert rounding01.check_encoder(lies_once).startswith(said)


@pytest.mark.parametrize("lie", [5e-324, 1.7976931348623157e308, 65536.0])
def test_extremes_are_tried_too(lie):
    def lies(x):
        return 1 if abs(x) == lie else rounding01.slip()(x)

    assert "gives 0x0001" in rounding01.check_encoder(lies)


@pytest.mark.parametrize("nan", [0x7C01, 0x7FFF, 0xFE00, np.uint16(0xFFFF)])
def test_any_nan_code_counts(nan):
    assert rounding01.check_encoder(lambda x: nan if x != x else rounding01.slip()(x)) is None


@pytest.mark.parametrize("nan", [0x7C00, 0xFC00, 0x1FE00, -1, 0, pytest.param(10**400, id="huge")])
def test_what_is_no_nan_code(nan):
    problem = rounding01.check_encoder(lambda x: nan if x != x else rounding01.slip()(x))
    assert problem.startswith("For NaN your function gives ") and len(problem) < 300
    assert ("which is infinity" in problem) == (nan in (0x7C00, 0xFC00))


def test_a_loop_without_an_end_is_named_when_it_is_stopped():
    def stopped(x):
        if math.isinf(x):
            raise KeyboardInterrupt
        return rounding01.slip()(x)

    problem = rounding01.check_encoder(stopped)
    assert problem == "You stopped it while your function worked on inf: does its loop end there?"


@pytest.mark.parametrize(
    "name, bits, fragment",
    [
        ("fraction", "1" + fields01.FIELDS["fraction"], "the leading 1 is implicit"),
        ("fraction", format(4_200_000_000, "b"), "keep the 23 bits after it"),
        ("fraction", "1." + fields01.FIELDS["fraction"], "leave out the point"),
        ("fraction", "0" + fields01.FIELDS["fraction"], "you gave 24 bits"),
        ("sign", "-1", "give 1 bit, each 0 or 1"),
        ("sign", "01", "you gave 2 bits"),
        ("exponent", "010011110", "you gave 9 bits"),
    ],
)
def test_what_is_said_of_other_bits(name, bits, fragment):
    assert fragment in fields01.check_fields({**fields01.FIELDS, name: bits})


@pytest.mark.parametrize(
    "answer, fragment",
    [
        ({"float16": 511.75, "bfloat16": 64}, "bfloat16 is right. float16: you gave 511.75, one"),
        ({"float16": 512.1, "bfloat16": 64}, "bfloat16 is right. float16: you gave 512.1, and"),
        ({"float16": 512, "bfloat16": 100}, "float16 is right. bfloat16: you gave 100, and the"),
        ({"float16": 511, "bfloat16": 65}, "float16: you gave 511, and the sum gets further"),
    ],
)
def test_what_is_said_of_other_sums(answer, fragment):
    assert sums01.check_sums(answer).startswith(fragment)


def test_a_share_near_one_half_counts_as_one_half():
    for share in (0.5, 513 / 1024):
        assert "a ratio of 3072" in sums01.check_shares({2048: share, 4096: 1})


def test_a_slow_search_is_told_so_at_once():
    def slow(x):
        time.sleep(0.001)
        return rounding01.slip()(x)

    start = time.perf_counter()
    assert "but slow" in rounding01.check_encoder(slow)
    assert time.perf_counter() - start < 2


def test_what_a_learner_prints_does_not_fill_the_notebook(capsys):
    def chatty(x):
        print(x)
        return rounding01.slip()(x)

    assert rounding01.check_encoder(chatty) is None
    assert capsys.readouterr().out.count("\n") == len(rounding01.PROBES) + 2


@pytest.mark.parametrize("result, said", [
    (True, "True"), (np.bool_(True), "an int is needed"), ([15360], "a list of 1 items"),
    (np.float16(1), "an int is needed"), (10**400, "a number too large to use"),
    (-(10**400), "a number too large to use"), (np.array([1, 2]), "shape (2,)"),
    (math.nan, "the number nan"), (2**70, "gives the number 1.18059e+21"),
])  # fmt: skip
def test_what_a_function_may_return(result, said):
    problem = rounding01.check_encoder(lambda x: result)
    assert "our function" in problem and said in problem and len(problem) < 300


def test_struct_is_named_by_its_error():
    def with_struct(x):
        return struct.unpack("<H", struct.pack("<e", x))[0]

    assert "raises OverflowError" in rounding01.check_encoder(with_struct)


# --- whatever a learner may pass in -------------------------------------------------------------


ODD = [
    *(10**4000, -(10**400), math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("1e999"), ...),
    *(np.arange(3), np.array(["a"]), np.bool_(True), np.float16(math.nan), BFLOAT16(3), object()),
    *(int, print, len, Hostile, "\ud800<script>`" * 50, "0b" + "1" * 9000),
    *(lambda *a: Hostile(), lambda: 1, lambda *a: 10**5000, lambda *a: -(10**5000)),
    *(lambda *a: sys.exit(3), lambda x: math.log2(x), lambda x: x, round),
    *("1", "0", "10011110", fields01.FIELDS["fraction"], 512, 64, 1 / 1024, 65520, 2049, 0xC640),
]
scalars = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text()),
    *(st.text("01", max_size=40), st.binary(), st.builds(Hostile), st.builds(Callable)),
    st.sampled_from(ODD),
)
filled = st.sampled_from([fields01.FIELDS, sums01.SHARES, sums01.SUMS]).flatmap(
    lambda right: st.fixed_dictionaries(
        {key: scalars | st.just(value) for key, value in right.items()}
    )
)


@pytest.mark.parametrize("number", range(1, 9))
@settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
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
        "import sys; from course_utils import exercises; exercises.load('01')\n"
        "heavy = {'numpy', 'gfloat', 'ml_dtypes', 'tensorflow', 'course_utils.formats'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
