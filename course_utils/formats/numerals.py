"""What somebody types as a number, read exactly.

A float64 would round the entry before the format under study does. So text becomes a
`fractions.Fraction`, and is rounded once, later.
"""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np

LONGEST = 2_000  # characters
# Powers beyond this are far outside every format, whatever the digits before them say.
FAR = 20_000
PI = Fraction(31415926535897932384626433832795028841971, 10**40)
BLANKS = " \t\r\n\u00a0"
WHOLE = "[0-9](?:_?[0-9])*"
NUMBER = re.compile(
    rf"(?P<sign>[+-]?)(?:(?P<decimal>{WHOLE}\.?(?:{WHOLE})?|\.{WHOLE})(?:e(?P<ten>[+-]?{WHOLE}))?"
    rf"|2(?:\^|\*\*)(?P<two>[+-]?{WHOLE})|(?P<infinity>inf|infinity|∞)|(?P<nan>nan)|pi|π)",
    re.IGNORECASE | re.ASCII,
)
NO_NUMBERS = (bool, np.bool_, bytes, bytearray, np.complexfloating)
ACCEPTED = (
    "a decimal number such as 0.1 or -6.5e-8, a power such as 2^-24, pi, inf or nan"
)


def parse(text: str) -> Fraction | float:
    """Read an entry exactly: a decimal number, a power such as "2^-24" or "2**-24", pi,
    inf, nan.

    Gives a `Fraction`, or a float where no Fraction exists: inf, -inf, nan and -0.0.
    Exponents far beyond every format (1e999999999) are cut short, to numbers still far
    beyond. There may be underscores as Python has them. ValueError with one sentence
    for what is no number.

    Example:
        >>> parse("0.1")
        Fraction(1, 10)
    """
    text = text.strip(BLANKS)
    if len(text) > LONGEST:
        raise ValueError(
            f"The entry has {len(text):,} characters: give at most {LONGEST:,}."
        )
    match = NUMBER.fullmatch(text.replace("\u2212", "-"))
    if not match:
        raise ValueError(_complaint(text))
    sign = -1 if match["sign"] == "-" else 1
    if match["infinity"] or match["nan"]:
        return math.copysign(math.inf if match["infinity"] else math.nan, sign)
    if match["two"]:
        return sign * Fraction(2) ** _bounded(match["two"])
    if not match["decimal"]:
        return sign * PI
    number = sign * Fraction(f"{match['decimal']}e{_bounded(match['ten'] or 0)}")
    return number if number or sign > 0 else -0.0


def exact(value: object) -> Fraction | float:
    """Any number as `parse` gives it: text, an int, float, Fraction, Decimal or NumPy
    number.

    Example:
        >>> exact(0.5), exact("-0")
        (Fraction(1, 2), -0.0)
    """
    if isinstance(value, str | Decimal):
        return parse(str(value))
    if isinstance(value, Fraction):
        return value
    if _is_whole(value):
        return Fraction(int(value))  # type: ignore[call-overload]
    try:
        if isinstance(value, NO_NUMBERS):
            raise TypeError
        number = float(value)  # type: ignore[arg-type]
    except Exception:  # whatever the methods of an odd object raise
        message = f"A value of type {type(value).__name__} is not a number: give text or a number."
        raise ValueError(message) from None
    if not math.isfinite(number) or str(number) == "-0.0":
        return number
    return Fraction(number)


def whole(code: str | int) -> int:
    """A code as an int; text is hexadecimal ("0x3C00") or binary, also with underscores
    ("0b0_01111_0000000000"); ValueError for anything else.

    Example:
        >>> whole("0b101")
        5
    """
    if _is_whole(code):
        return int(code)
    if isinstance(code, str):
        text = code.strip(BLANKS)
        if len(text) <= LONGEST and re.fullmatch(
            "0x(_?[0-9a-f])+|0b(_?[01])+", text, re.IGNORECASE
        ):
            return int(text, 0)
        name = quoted(code)
    else:
        name = f"A {type(code).__name__}"
    raise ValueError(
        f"{name} is not a code: give an int, or text like 0x3C00 or 0b0110."
    )


def quoted(text: str) -> str:
    """An entry in quotation marks, cut to a length that fits into a sentence.

    Example:
        >>> quoted("12 apples")
        '"12 apples"'
    """
    beginning = text if len(text) <= 40 else text[:37] + "..."
    return '"' + "".join(c if c.isprintable() else "?" for c in beginning) + '"'


def _is_whole(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _bounded(exponent):
    return max(-FAR, min(FAR, int(exponent)))


def _complaint(text):
    if not text:
        return f"The entry is empty: give {ACCEPTED}."
    if "," in text and re.match("[+-]?[0-9]", text.replace("\u2212", "-")):
        return f"{quoted(text)} has a comma: write a point for decimals and nothing for thousands."
    if re.match(r"[+-]?0[xb]", text, re.IGNORECASE):
        return f"{quoted(text)} is a code and not a number: give it to decode, with its format."
    return f"{quoted(text)} is not a number: give {ACCEPTED}."
