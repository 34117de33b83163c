"""Notebook 01's exercises: every answer computed again, another way than the judges do."""

import ml_dtypes
import numpy as np
import pytest

from course_utils import exercises
from course_utils.exercises import codes, rounding
from tools.canonical import COURSE, read

BFLOAT16 = ml_dtypes.bfloat16
FORMATS = {"float16": np.float16, "bfloat16": BFLOAT16}


def float16_code(x):
    with np.errstate(over="ignore"):
        return int(np.float64(x).astype(np.float16).view(np.uint16))


def running_sum(kind, addend, start=0):
    total, addend = kind(start), kind(addend)
    for _ in range(10_000):
        total = kind(total + addend)
    return float(total)


def test_the_bits_and_their_slips():
    assert float16_code(-6.25) == codes.CODE.right == 0b1_10001_1001000000
    slips = {float16_code(6.25), float16_code(-12.5), 0x8000 | 2 << 10 | 0x240}
    assert slips < set(codes.CODE.wrong)  # no sign, twice as much, no bias
    for code in (0, 1, 0x3C00, 0x7C00, 0xFFFF):
        value = np.uint16(code).view(np.float16)
        said = codes.which_number(float(code))
        assert f"{codes.fields(code)} is {value:g} in" in said


def test_each_tensor_has_one_format_of_16_bits_or_none():
    def loses(values, kind):
        with np.errstate(over="ignore"):
            kept = np.asarray(values).astype(kind).astype(float)
        return {
            "gradients": (kept == 0).any(),
            "scores": len(set(kept)) < len(kept),
            "counts": (kept != values).any(),
        }

    tensors = {
        "gradients": np.geomspace(1e-9, 1e-3, 100),
        "scores": np.arange(1, 2, 0.002),
        "counts": np.arange(100_001.0),
    }
    for name, values in tensors.items():
        fit = [f for f, kind in FORMATS.items() if not loses(values, kind)[name]]
        assert (
            codes.FORMATS.right[name] == (fit[0] if fit else "neither") and len(fit) < 2
        )
        assert (
            loses([float(codes.LOST[name])], FORMATS["float16"])[name]
            or name == "scores"
        )
    assert float(FORMATS["bfloat16"](1.002)) == 1


SHOWN = {  # a wrong answer: what FloatLab is opened at, and what it says of it
    (1, 0x8A40): ("0x8A40", "1 00010 1001000000"),
    (2, 2**25 + 1): ("33554433", "33554432"),
    (3, (6144, 768, 2**26)): ("6147", "6148"),
    (6, (0, 0, 1)): ("1.2504069010416667", "0.417 ULP"),
    (4, 65505): ("65505", "1 too low, 0.0312 ULP"),
    (5, ("float16", "float16", "neither")): ("1e-9", "zero"),
}


@pytest.mark.parametrize("number, given", SHOWN)
def test_a_wrong_answer_opens_floatlab_where_one_sees_why(number, given):
    question = exercises.load("01")[number]
    entry, said = SHOWN[number, given]
    if isinstance(given, tuple):
        given = dict(zip(question.exercise.answer.right, given, strict=True))
    feedback = question.check(given)
    assert feedback.explorer.entry == entry and said in repr(feedback)
    html = feedback._repr_html_()
    assert "See why in FloatLab</summary>\n<div data-floatlab>" in html


def test_what_floatlab_shows_of_a_wrong_answer_is_not_the_right_one():
    for number, right in ((1, "0xC640"), (2, "16777217"), (4, "65520"), (3, "8195")):
        exercise = exercises.load("01")[number].exercise
        shown = [exercise.explore(answer) for answer, _ in exercise.examples()]
        shown = [explorer.entry for explorer in shown if explorer]
        assert len(shown) > 2 and right not in shown


def test_the_first_gap_and_where_infinity_begins():
    whole = np.arange(1, 70_000, dtype=np.float64)
    with np.errstate(over="ignore"):
        rounded = whole.astype(np.float16)
    around = 2.0**24 + np.arange(-9.0, 9)
    lost = around[around.astype(np.float32).astype(float) != around]
    assert lost[0] == rounding.FIRST_GAP.right
    # as messages say
    assert whole[whole.astype(BFLOAT16).astype(float) != whole][0] == 257
    assert whole[rounded.astype(float) != whole][0] == 2049
    assert whole[np.isinf(rounded)][0] == rounding.LIMIT.right


def test_which_whole_numbers_float32_holds():
    around = 2**24 + np.arange(-99, 99)
    for n in (*around.tolist(), 10**20, 2**127, 2**128, 2**128 - 2**103):
        with np.errstate(over="ignore"):
            kept = float(np.float32(float(n))) == n
        said = f"float32 {'holds' if kept else 'cannot hold'}"
        assert rounding.FIRST_GAP(n) is None or rounding.FIRST_GAP(n).startswith(
            (said, "That is")
        ), n


def test_the_shares_of_updates_that_vanish():
    w = (np.arange(1024, 2048) / 1024).astype(np.float16)
    lost = {r: np.mean(w + w / np.float16(r) == w) for r in rounding.SHARES.right}
    assert (
        list(lost.values()) == [1 / 1024, 513 / 1024, 1]
        and rounding.SHARES(lost) is None
    )
    assert rounding.SHARES.right == pytest.approx(lost, abs=0.001)


def test_where_sums_stall():
    right = rounding.SUMS.right
    for name, kind in FORMATS.items():
        assert running_sum(kind, 3) == right[name]
    float32 = running_sum(np.float32, 3, start=2**26 - 1000)  # below, 3 always counts
    assert right["float32"] == float32
    below = np.random.default_rng(0).uniform(0, 2**26, 10_000).astype(np.float32)
    assert (below + np.float32(3) > below)[below < 2**26].all()


def test_where_infinity_begins_is_no_button_and_not_printed_before_it_is_asked():
    """Not in the notebook, and not among FloatLab's examples."""
    nb = read(COURSE / "notebooks/solved/01_floats.ipynb")
    ids = [cell.id for cell in nb.cells]
    before = nb.cells[: ids.index("exercise-4")]
    assert "65504" in str(before) and "floatlab" in ids[: len(before)]
    assert "65520" not in str(before) and "65,520" not in str(before)
