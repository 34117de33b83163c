"""The number formats of deep learning, and their bits.

Stands on gfloat, which decodes and rounds; here are names, bit strings, the course's
words, and rounding once: any exact number goes into any format in a single step.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import gfloat
from gfloat import Domain, RoundMode
from gfloat import formats as infos

from course_utils.formats.numerals import exact, quoted, whole

# TF32 is how NVIDIA's tensor cores read a float32: its exponent with float16's
# fraction.
_TF32 = replace(
    infos.format_info_binary32, name="tf32", k=19, precision=11, num_high_nans=2**10 - 1
)

FORMATS = {
    "float32": infos.format_info_binary32,
    "tf32": _TF32,
    "float16": infos.format_info_binary16,
    "bfloat16": infos.format_info_bfloat16,
    "float8_e4m3fn": infos.format_info_ocp_e4m3,
    "float8_e5m2": infos.format_info_ocp_e5m2,
    "float4_e2m1fn": infos.format_info_ocp_e2m1,
}
_MODES = {
    "nearest_even": RoundMode.TiesToEven,
    "nearest_away": RoundMode.TiesToAway,
    "toward_zero": RoundMode.TowardZero,
    "up": RoundMode.TowardPositive,
    "down": RoundMode.TowardNegative,
}
ROUNDINGS = tuple(_MODES)


@dataclass(frozen=True)
class FloatBits:
    """A number in a format, bit by bit; `encode` and `decode` make it.

    Example: `encode(-6.25, "float16").hex` is `'0xC640'`.
    """

    format: str
    code: int
    sign: str  # this and the next two: the fields, as strings of 0 and 1
    exponent: str
    fraction: str
    value: float  # what the bits mean; float64 holds every value of these formats
    kind: str  # "zero", "subnormal", "normal", "infinity" or "nan"

    @property
    def bits(self) -> str:
        """The fields with blanks between them: "0 01111 0000000000"."""
        return f"{self.sign} {self.exponent} {self.fraction}"

    @property
    def hex(self) -> str:
        """The code in hexadecimal, with as many digits as the format needs."""
        return f"0x{self.code:0{-(-FORMATS[self.format].bits // 4)}X}"

    @property
    def exact(self) -> Fraction | None:
        """The value as a Fraction; None for infinities and NaN."""
        return Fraction(self.value) if math.isfinite(self.value) else None

    @property
    def ulp(self) -> Fraction | None:
        """The unit in the last place: what the last fraction bit is worth here, or
        None.
        """
        if self.exact is None:
            return None
        info = FORMATS[self.format]
        exponent = max(int(self.exponent, 2), 1) - info.bias
        return Fraction(2) ** (exponent - info.tSignificandBits)


def encode(
    value: object, fmt: str, rounding: str = "nearest_even", saturate: bool = False
) -> FloatBits:
    """Round a number to a format of `FORMATS`, exactly and once.

    Args:
        value: text as `numerals.parse` reads it, or an int, float, Fraction, Decimal or NumPy
            number; ValueError with one sentence for anything else.
        rounding: of `ROUNDINGS`.
        saturate: too large becomes the largest number instead of infinity or, in float8_e4m3fn,
            NaN. float4_e2m1fn has neither and always saturates.

    Example:
        >>> encode(65519, "float16").value, encode(65520, "float16").value
        (65504.0, inf)
    """
    info = _choose(FORMATS, fmt, "format")
    mode = _choose(_MODES, rounding, "rounding")
    number = exact(value)
    if info.num_nans == 0:
        saturate = True
        if isinstance(number, float) and math.isnan(number):
            raise ValueError(
                f"{fmt} has no NaN: give a number, or choose another format."
            )
    close = _to_odd(number)
    rounded = gfloat.round_float(info, close, mode, saturate)
    if math.isnan(rounded):
        return decode(_quiet_nan(info, negative=math.copysign(1, close) < 0), fmt)
    return decode(gfloat.encode_float(info, rounded), fmt)


def decode(code: str | int, fmt: str) -> FloatBits:
    """What a code means: an int, or text in hexadecimal ("0x3C00") or binary
    ("0b0011…").

    ValueError with one sentence if the format has no such code.

    Example:
        >>> decode(0x0001, "float16").kind
        'subnormal'
    """
    info = _choose(FORMATS, fmt, "format")
    code = whole(code)
    if not 0 <= code < 1 << info.bits:
        text = str(code) if abs(code) < 1 << 64 else "the one given"
        raise ValueError(
            f"{fmt} has {info.bits} bits, so its codes go from 0 to 0x{(1 << info.bits) - 1:X}: "
            f"{text} is outside."
        )
    meaning = gfloat.decode_float(info, code)
    bits = f"{code:0{info.bits}b}"
    split = 1 + info.expBits
    exponent = bits[1:split]
    fraction = bits[split:]
    kind = meaning.fclass.name.lower().replace("infinite", "infinity")
    return FloatBits(fmt, code, bits[0], exponent, fraction, float(meaning.fval), kind)


def facts(fmt: str) -> dict:
    """What distinguishes a format.

    `epsilon` is the gap above 1; `decimal_digits` survive of every normal number, as
    NumPy's `finfo.precision` counts them; `bytes` are those in a tensor: a TF32 lies
    there as a float32.

    Example:
        >>> facts("bfloat16")["epsilon"]
        0.0078125
    """
    info = _choose(FORMATS, fmt, "format")
    return {
        "name": fmt,
        "bits": info.bits,
        "exponent_bits": info.expBits,
        "fraction_bits": info.tSignificandBits,
        "bias": info.bias,
        "largest": float(info.max),
        "smallest_normal": float(info.smallest_normal),
        "smallest_subnormal": float(info.smallest_subnormal),
        "epsilon": float(info.eps),
        "decimal_digits": math.floor(info.tSignificandBits * math.log10(2)),
        "bytes": 4 if fmt == "tf32" else info.bits / 8,
        "has_infinity": info.domain == Domain.Extended,
    }


def _choose(table, name, kind):
    """What a table holds under a name; ValueError tells its names if there is none."""
    if isinstance(name, str) and name in table:
        return table[name]
    text = quoted(name) if isinstance(name, str) else f"of type {type(name).__name__}"
    raise ValueError(f"There is no {kind} {text}: choose one of {', '.join(table)}.")


def _to_odd(number):
    """The number as a float64 that rounds to every format here like the number itself.

    It keeps 40 bits, and what is cut off sets the last of them: never mistaken for a
    tie (Boldo and Melquiond 2008, "Emulation of a FMA and correctly rounded sums").
    With all 53, gfloat 0.5.2 would take what lies barely below half of the smallest
    subnormal for a tie.
    """
    if isinstance(number, float):  # inf, nan or -0.0
        return number
    top = abs(number.numerator)
    bottom = number.denominator
    shift = 40 - top.bit_length() + bottom.bit_length()
    whole, rest = divmod(top << max(shift, 0), bottom << max(-shift, 0))
    # Enough for every format, and never too much.
    exponent = max(-1000, min(900, -shift))
    size = math.ldexp(whole | (rest > 0), exponent)
    return -size if number < 0 else size


def _quiet_nan(info, negative):
    """The NaN that NumPy and ml_dtypes make; gfloat has another, whose sign says
    nothing.
    """
    sign = int(negative) << (info.bits - 1)
    if info.domain == Domain.Extended:
        return sign | ((1 << (info.expBits + 1)) - 1) << (info.tSignificandBits - 1)
    return sign | ((1 << (info.bits - 1)) - 1)
