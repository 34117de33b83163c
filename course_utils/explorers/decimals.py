"""Exact rationals as decimal text, with a typographic minus sign."""

from decimal import Context, Decimal, Inexact
from fractions import Fraction

MOST_DIGITS = 10_000  # a value of these formats has fewer


def full(value: Fraction) -> str | None:
    """All decimal digits, or None where they never end.

    Example:
        >>> full(Fraction(-1, 8)), full(Fraction(1, 3))
        ('−0.125', None)
    """
    context = Context(prec=MOST_DIGITS)
    digits = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return None if context.flags[Inexact] else f"{digits:f}".replace("-", "−")


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
