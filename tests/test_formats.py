"""The formats module: every code, exact rounding in every mode, and what entries may
say.
"""

import math
import random
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils import formats
from course_utils.formats import numerals

DTYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
}
# Signaling NaN is among the codes, and NumPy says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning"),
]
HALF = Fraction(1, 2)
TINY = Fraction(1, 2**200)
every_format = pytest.mark.parametrize("fmt", formats.FORMATS)
every_dtype = pytest.mark.parametrize("fmt, dtype", DTYPES.items(), ids=DTYPES)
every_rounding = pytest.mark.parametrize("rounding", formats.ROUNDINGS)


def same(a, b):
    """Whether two floats are the same number, zeros with their signs, NaN like NaN."""
    return (a != a and b != b) or (
        a == b and math.copysign(1, a) == math.copysign(1, b)
    )


# --- decode: every code ---------------------------------------------------------------


@pytest.mark.slow
@every_dtype
def test_every_code_means_what_numpy_and_ml_dtypes_say(fmt, dtype):
    bits = formats.FORMATS[fmt].bits
    codes = np.arange(2**bits, dtype=np.uint16 if bits == 16 else np.uint8)
    for code, value in zip(
        codes.tolist(), codes.view(dtype).astype(float), strict=True
    ):
        found = formats.decode(code, fmt)
        assert same(found.value, value)
        assert found.bits.replace(" ", "") == f"{code:0{bits}b}"
        assert int(found.hex, 16) == code
        if found.exact is not None:
            assert formats.encode(found.value, fmt).code == code


@every_format
def test_the_kinds_and_the_value_follow_from_the_fields(fmt):
    info = formats.FORMATS[fmt]
    rng = np.random.default_rng(0)
    for code in [
        0,
        1,
        2 ** (info.bits - 1),
        *rng.integers(0, 2**info.bits, 500).tolist(),
    ]:
        found = formats.decode(code, fmt)
        if found.exact is None:
            assert found.kind in ("infinity", "nan") and found.ulp is None
            continue
        stored = int(found.exponent, 2)
        fraction = int(found.fraction, 2)
        assert found.kind == (
            "normal" if stored else "subnormal" if fraction else "zero"
        )
        one = Fraction(2) ** info.tSignificandBits
        significand = (one if stored else 0) + fraction
        power = Fraction(2) ** (max(stored, 1) - info.bias)
        assert abs(found.exact) == significand / one * power
        assert found.ulp == power / one
        assert found.sign == ("1" if code >> (info.bits - 1) else "0")


# --- encode: exact, once --------------------------------------------------------------


def oracle(value, fmt, rounding):
    """Round a positive or negative Fraction by the definition, in whole numbers of
    ULPs.
    """
    info = formats.FORMATS[fmt]
    size = abs(value)
    negative = value < 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    ulp = Fraction(2) ** (max(exponent, 1 - info.bias) - info.tSignificandBits)
    whole, rest = divmod(size, ulp)
    rest /= ulp
    away = {
        "nearest_even": rest > HALF or (rest == HALF and whole % 2 == 1),
        "nearest_away": rest >= HALF,
        "toward_zero": False,
        "up": rest > 0 and not negative,
        "down": rest > 0 and negative,
    }[rounding]
    found = (whole + away) * ulp
    largest = Fraction(info.max)
    if found > largest:
        inward = rounding == "toward_zero" or rounding == ("up" if negative else "down")
        if inward or fmt == "float4_e2m1fn":
            found = largest
        elif fmt == "float8_e4m3fn":
            return math.nan
        else:
            found = math.inf
    return -float(found) if negative else float(found)


def exact_values(fmt, count, seed):
    """Numbers that are hard to round: values, ties, neighbors of ties, edges, and any."""
    info = formats.FORMATS[fmt]
    chance = random.Random(seed)
    largest = formats.encode(info.max, fmt)
    first = formats.decode(1, fmt).exact
    around = [
        (largest.exact, largest.ulp),
        (first, first),
        (Fraction(info.smallest_normal), first),
    ]
    near = [Fraction(k, 4) + d for k in range(-4, 13) for d in (-TINY, 0, TINY)]
    edges = [at + ulp * steps for at, ulp in around for steps in near]
    edges += [Fraction(2) ** k for k in (-2000, -1074, -200, 200, 1023, 2000)]
    yield from edges
    for _ in range(count - len(edges)):
        at = formats.decode(chance.randrange(largest.code), fmt)
        any_share = Fraction(chance.randint(1, 10**9), 10**9)
        share = chance.choice([0, HALF, HALF - TINY, HALF + TINY, any_share])
        yield (at.exact + at.ulp * share) * chance.choice([-1, 1])


@every_format
@every_rounding
def test_exact_values_round_by_the_definition(fmt, rounding):
    """20,000 numbers over the formats in every mode, ties and edges included."""
    for value in exact_values(fmt, 2900, seed=2):
        if value == 0:
            continue
        found = formats.encode(value, fmt, rounding)
        assert same(found.value, oracle(value, fmt, rounding)), (value, found)


# the number, its format and code, and how it is rounded; ties and edges are above
CODES = [
    ("nan", "float16", 0x7E00, {}),
    ("-nan", "bfloat16", 0xFFC0, {}),
    ("\u22121", "float16", 0xBC00, {}),
    (Decimal("1e-999999999"), "float16", 0, {}),  # and not for ever
    (np.int64(2048), "float16", 0x6800, {}),
    (ml_dtypes.bfloat16(3), "float16", 0x4200, {}),
    (-(10**4000), "float8_e4m3fn", 0xFF, {}),
    ("inf", "float16", 0x7C00, {}),
    ("inf", "float16", 0x7BFF, {"saturate": True}),
    (1e9, "float8_e4m3fn", 0x7E, {"saturate": True}),
    ("-inf", "float4_e2m1fn", 0xF, {}),
]
# Beyond float64 is no infinity, which saturation and directed rounding tell apart.
CODES += [("1e400", "float16", 0x7BFF, {"rounding": "toward_zero"})]


@pytest.mark.parametrize("value, fmt, code, options", CODES)
def test_numbers_one_should_know(value, fmt, code, options):
    assert formats.encode(value, fmt, **options).code == code


# --- facts ----------------------------------------------------------------------------


@every_dtype
def test_facts_are_those_of_finfo(fmt, dtype):
    facts = formats.facts(fmt)
    info = ml_dtypes.finfo(dtype)
    assert facts["bits"] == info.bits
    assert facts["largest"] == float(info.max)
    assert facts["smallest_normal"] == float(info.smallest_normal)
    assert facts["smallest_subnormal"] == float(info.smallest_subnormal)
    assert facts["epsilon"] == float(info.eps)
    assert (facts["exponent_bits"], facts["fraction_bits"]) == (info.nexp, info.nmant)
    assert facts["decimal_digits"] == math.floor(info.nmant * math.log10(2))
    assert facts["bias"] == 1 - math.log2(float(info.smallest_normal))
    assert facts["has_infinity"] == (fmt in ("float16", "bfloat16", "float8_e5m2"))


# --- what one may give ----------------------------------------------------------------


def complaint(function, *arguments):
    """The sentence of the ValueError that the call must raise."""
    with pytest.raises(ValueError) as caught:
        function(*arguments)
    message = str(caught.value)
    assert len(message) < 300 and message.endswith(".") and "\n" not in message, message
    return message


NO_NUMBERS = [None, np.True_, [1], np.complex64(1), np.arange(3), b"1"]
NO_NUMBERS += [Decimal("sNaN"), "1e", ".", "--1", "1__000", "1_", "2^", "3^2", "٣"]
NO_NUMBERS += ["</script><img src=x onerror=alert(1)>" * 9]
NO_CODES = [
    "0b" + "1" * 5000,
    "0b1__1",
    "0x1_",
    "3C00",
    1.0,
    None,
    True,
    np.array([1, 2]),
]
BAD_ENTRIES = [(value, "is not a number") for value in NO_NUMBERS] + [
    (" ", "The entry is empty"),
    ("1.000,5e3", "has a comma"),
    ("-4,200,000,000", "has a comma"),
    ("0x3C00", "give it to decode"),
    ("1" * 10_000, "10,000 characters"),
    ("a\nb\0c", '"a?b?c" is not a number: give a decimal number'),
]
LONG = ["1" * 1999, "2^999999999", "1e" + "9" * 1900, "9" * 1900 + "e-1900"]
BAD_CODES = [(code, "is not a code") for code in NO_CODES] + [
    ("0b" + "1" * 17, "from 0 to 0xFFFF: 131071 is outside"),
    ("0x" + "F" * 1000, "the one given is outside"),
    (65536, "65536 is outside"),
    (-1, "-1 is outside"),
]


def test_bad_entries_and_codes_get_one_sentence():
    for call, table in ((formats.encode, BAD_ENTRIES), (formats.decode, BAD_CODES)):
        for entry, fragment in table:
            assert fragment in complaint(call, entry, "float16"), entry
    codes = "0x3C00", " 0X3c00 ", "0x_3C_00", "0b0_01111_0000000000", np.uint16(0x3C00)
    for code in codes:
        assert formats.decode(code, "float16").value == 1
    for text in LONG:  # the digits of their values would take for ever
        assert formats.encode(text, "float16").kind in ("infinity", "normal")
    assert "float4_e2m1fn has no NaN" in complaint(
        formats.encode, "nan", "float4_e2m1fn"
    )


@pytest.mark.parametrize("name", ["fp16", None, "x" * 999, np.array(["up"])])
def test_unknown_names(name):
    for call in (formats.encode, formats.decode):
        assert "choose one of float32, tf32" in complaint(call, 1, name)
    assert "choose one of float32, tf32" in complaint(formats.facts, name)
    assert "choose one of nearest_even" in complaint(formats.encode, 1, "float16", name)


WHOLE = "[0-9](_?[0-9])*"
DIGITS = rf"({WHOLE}\.?({WHOLE})?|\.{WHOLE})(e[+-]?[0-9](_?[0-9]){{0,2}})?"
DECIMAL = st.from_regex(r"[ \t]*[+\-\u2212]?" + DIGITS, fullmatch=True)


@settings(max_examples=400, deadline=None)
@given(DECIMAL)
def test_decimals_are_read_as_python_reads_them(text):
    found = numerals.parse(text)
    wanted = Fraction(text.strip().replace("\u2212", "-"))
    assert found == wanted
    if wanted == 0:
        assert same(float(found), float(text.strip().replace("\u2212", "-")))
