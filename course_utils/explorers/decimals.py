"""Exact rationals as decimal text, with a typographic minus sign."""

from decimal import Context, Decimal
from fractions import Fraction


def full(value: Fraction) -> str | None:
    """All decimal digits, or None where they never end.

    Example:
        >>> full(Fraction(-1, 8)), full(Fraction(1, 3))
        ('−0.125', None)
    """
    rest, twos = _stripped(value.denominator, 2)
    rest, fives = _stripped(rest, 5)
    if rest > 1:
        return None
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    point = len(digits) - places
    fraction = digits[point:].rstrip("0")
    return "−" * (value < 0) + digits[:point] + (f".{fraction}" if fraction else "")


def short(value: Fraction, digits: int = 9) -> str:
    """So many digits, and all of the whole part; powers of ten for the very small and large.

    Example:
        >>> short(Fraction(1, 3), 3), short(Fraction(1, 2**24), 3)
        ('0.333', '5.96e-8')
    """
    whole = len(str(int(abs(value)))) if abs(value) < 10**15 else 0
    context = Context(prec=max(digits, whole), Emax=999_999, Emin=-999_999)
    size = context.divide(Decimal(abs(value.numerator)), Decimal(value.denominator)).normalize()
    plain = size == 0 or -4 <= size.adjusted() < 15
    return "−" * (value < 0) + (f"{size:f}" if plain else f"{size:e}")


def _stripped(number, prime):
    count = 0
    while number % prime == 0:
        number, count = number // prime, count + 1
    return number, count
