"""docs/casts.md says what data/casts.json holds, and the libraries here still do it."""

import json

import pytest

from course_utils import hardware
from tools import casts, casts_page, reference
from tools.canonical_form import COURSE
from tools.casts import E4M3, E5M2, E8M0, FLOAT16, INF, NAN

RECORD = json.loads((COURSE / "data/casts.json").read_text(encoding="utf-8"))
NAMES = list(RECORD["libraries"])
OURS = ("NumPy, ml_dtypes", "TensorFlow", "TensorFlow, XLA", "JAX")
STOPPING = ("PyTorch", "ONNX Runtime", "MLX")


def cast(library, to, value):
    """The numbers, as the page shows them, that a library makes of a float32."""
    asked = {"from": "float32", "to": to, "value": value}
    number = RECORD["rows"].index(asked)
    return casts_page._shown(RECORD["libraries"][library]["codes"][number], to)


def twice(library, to):
    """Whether a library rounds a float64 to float32 first; None without the cast."""
    (number,) = (
        n
        for n, row in enumerate(RECORD["rows"])
        if (row["from"], row["to"]) == ("float64", to)
    )
    codes = RECORD["libraries"][library]["codes"][number]
    return codes and casts_page._shown(codes, to) == "1"


def test_the_page_is_made_of_the_record():
    page = (COURSE / "docs/casts.md").read_text(encoding="utf-8")
    assert reference.casts() == page
    assert len(NAMES) == 8 and NAMES == list(casts.LIBRARIES)
    rows = [{"from": dtype, "to": to, "value": v} for dtype, to, v in casts.cases()]
    assert RECORD["rows"] == rows


def test_what_is_too_large_for_8_bits():
    for name in OURS:
        for value in (465, 1e5, INF):
            assert cast(name, E4M3, value).startswith("NaN")
        for value in (61440, 1e5, INF):
            assert cast(name, E5M2, value) == "infinity"
    for name in STOPPING:
        assert {cast(name, E4M3, value) for value in (465, 1e5, INF)} == {"448"}
    for value in (61440, 1e5, INF):
        assert cast("PyTorch", E5M2, value) == "infinity"
        assert cast("ONNX Runtime", E5M2, value) == "57,344"
    assert cast("Paddle", E4M3, 465).startswith("NaN")
    assert cast("Paddle", E4M3, 1e5) == "448"
    assert cast("Paddle", E5M2, 61440) == "infinity"
    assert cast("Paddle", E5M2, 1e5) == "57,344"


def test_nan_stays_nan_but_in_two_libraries():
    for name in NAMES:
        made = cast(name, E4M3, NAN)
        assert made == ("448" if name in ("MLX", "Paddle") else "NaN (0x7f)")
        assert cast(name, FLOAT16, NAN).startswith("NaN")


def test_who_rounds_float64_twice():
    for name in NAMES:
        assert twice(name, FLOAT16) == (name != "NumPy, ml_dtypes")
        assert twice(name, "bfloat16")
        once = name in ("TensorFlow", "TensorFlow, XLA", "JAX")
        if name != "MLX":
            assert twice(name, E4M3) == twice(name, E5M2) == (not once)
    assert twice("MLX", E4M3) is None


def test_whole_numbers():
    for name in NAMES:
        made = cast(name, "int8", 300)
        clips = name in ("TensorFlow, XLA", "JAX")
        both = {"44", "127"} if name == "TensorFlow" else {"127" if clips else "44"}
        assert set(made.split(" and ")) == both
        assert not clips or cast(name, "int8", NAN) == "0"


def test_powers_of_two_alone():
    for name in ("NumPy, ml_dtypes", "JAX"):
        made = {cast(name, E8M0, value) for value in (0.0, -2, INF, NAN)}
        assert made == {"NaN (0xff)"} and cast(name, E8M0, 2.99) == "2"
    for name in ("PyTorch", "ONNX Runtime"):
        assert cast(name, E8M0, 0.0) == "2⁻¹²⁷" and cast(name, E8M0, 3) == "4"
    assert [cast("PyTorch", E8M0, value) for value in (2.99, -2)] == ["2", "2"]
    found = [cast("ONNX Runtime", E8M0, value) for value in (2.99, -2, INF)]
    assert found == ["4", "2⁻¹²⁷", "2¹²⁷"]


def numbers(codes, row):
    """What they are, and of NaN no code, as the processor may choose it."""
    texts = casts_page._shown(codes, row["to"]).split(" and ")
    return {text.partition(" (")[0] for text in texts}


@pytest.mark.slow
@pytest.mark.parametrize("library", NAMES[:3])
def test_the_libraries_here_still_do_so(library):
    found = casts.codes(library)["codes"]
    expected = RECORD["libraries"][library]["codes"]
    rounds_once = "avx512_fp16" in (hardware.detect().instruction_sets or ())
    for row, now, then in zip(RECORD["rows"], found, expected, strict=True):
        way = row["from"], row["to"]
        # which places of an array a routine clips, the processor decides
        if row["to"] == "int8" and library == "TensorFlow":
            assert set(now) & set(then)
        # which goes through float32, but not on such a CPU
        elif (
            library == "TensorFlow, XLA" and way == ("float64", FLOAT16) and rounds_once
        ):
            assert numbers(now, row) == {"1.000976562"}
        else:
            assert numbers(now, row) == numbers(then, row), row
