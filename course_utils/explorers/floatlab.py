"""FloatLab: one number in the formats of deep learning, bit by bit."""

import math
import re
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

from course_utils import formats as numbers
from course_utils.explorers import fragment
from course_utils.explorers.scalescope import parameters
from course_utils.formats import numerals

HEADS = [
    "format",
    "sign",
    "exponent",
    "fraction",
    "code",
    "exact value",
    "class",
    "error",
]
TEXT_HEADS = ["format", "bits", "code", "value", "class", "error"]
LONGEST_VALUE = 24  # characters; longer ones are shortened, with the whole below
DIGITS = 12  # of the short form
BREAK = "word-break:break-all"
COLORS = {
    "sign": "background-color:#D55E00;color:#000000",
    "exponent": "background-color:#F0E442;color:#000000",
    "fraction": "background-color:#0072B2;color:#FFFFFF",
}


class FloatLab:
    """An interactive figure: type a number, flip bits, watch what each format keeps of
    it.

    Args:
        entry: text as `formats.numerals.parse` reads it, or a code of the first format
            ("0x3C00", "0b0110"); a text that cannot be read is shown with what is wrong. A number
            means what it prints: the float 0.1 is "0.1".
        formats: names of `formats.FORMATS`, in the order to show them, or one name; None for
            all. ValueError for another name.

    Example: `FloatLab("65520", formats=["float16", "bfloat16"])`
    """

    def __init__(
        self, entry: object = "0.1", formats: Iterable[str] | str | None = None
    ):
        self.entry = str(entry)
        if isinstance(formats, str):
            formats = [formats]
        self.formats = list(dict.fromkeys(formats or numbers.FORMATS))
        for name in self.formats:
            numbers.facts(name)  # its complaint says which formats there are

    def _repr_mimebundle_(self, **selection):
        title = f"FloatLab: {numerals.quoted(self.entry)}, rounding nearest_even"
        try:
            number, rows = self._rows()
        except ValueError as error:
            table = fragment.html_table(title, [str(error)], [])
            lines = [[str(error)]]
        else:
            texts = [_texts(name, bits, number) for name, bits in rows.items()]
            table = fragment.html_table(title, HEADS, [cells for cells, _ in texts])
            lines = [TEXT_HEADS, *(line for _, line in texts)]
        html = fragment.assemble("floatlab", table, self._data())
        return {"text/html": html, "text/plain": fragment.plain_table(title, lines)}

    def _rows(self):
        """The number entered, and what each format makes of it: None where it has no
        NaN.
        """
        if not re.match(
            r"[+-]?0[xb]", self.entry.strip(numerals.BLANKS), re.IGNORECASE
        ):
            number = numerals.parse(self.entry)
            return number, {name: _encoded(number, name) for name in self.formats}
        entry = numbers.decode(self.entry, self.formats[0])
        rows = {name: _encoded(entry.value, name) for name in self.formats}
        return entry.value, rows | {entry.format: entry}

    def _data(self):
        formats = [parameters(name) for name in numbers.FORMATS]
        return {"entry": self.entry, "shown": self.formats, "formats": formats}


def error_text(number: Fraction | float, bits: numbers.FloatBits) -> str:
    """What became of the number entered, in a few words.

    Example:
        >>> error_text(Fraction(1, 10), numbers.encode("0.1", "float16"))
        '2.44e-5 too low, 0.4 ULP'
    """
    if isinstance(number, float) and not math.isfinite(number):
        if bits.exact is not None:
            return "largest number instead of infinity"
        same = (bits.kind == "nan") == math.isnan(number)
        return "" if same else "no infinity in this format"
    if bits.exact is None or bits.ulp is None:
        return f"too large for {bits.format}"
    difference = bits.exact - Fraction(number)
    if difference == 0:
        return "no error"
    size = f"{short(abs(difference), 3)} too {'low' if difference < 0 else 'high'}"
    if abs(difference) >= bits.ulp:
        # More than rounding can do: the number was cut off at the largest value.
        return f"{size}, {short(bits.exact)} is the last value"
    return f"{size}, {short(abs(difference) / bits.ulp, 3)} ULP"


def short(value: Fraction, digits: int = 9) -> str:
    """So many digits, and all of the whole part; powers of ten for the very small and
    large.

    Example:
        >>> short(Fraction(1, 3), 3), short(Fraction(1, 2**24), 3)
        ('0.333', '5.96e-8')
    """
    whole = len(str(int(abs(value)))) if abs(value) < 10**15 else 0
    context = Context(
        prec=max(digits, whole), rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999
    )
    size = context.divide(
        Decimal(abs(value.numerator)), Decimal(value.denominator)
    ).normalize()
    plain = size == 0 or -4 <= size.adjusted() < 15
    text = f"{size:f}" if plain else f"{size:e}"
    return f"−{text}" if value < 0 else text


def _texts(name, bits, number):
    """A format's row of the table, and of the text; colors only for the bits, the rest
    in words.
    """
    if not bits:
        cell = (
            f'<td colspan="{len(HEADS) - 1}" style="{fragment.CELL}">no NaN here</td>'
        )
        return [name, cell], [name, "no NaN here", "", "", "", ""]
    fields = [
        fragment.cell(
            f'<code style="{color}">{getattr(bits, field)}</code>',
            f"{fragment.CELL};{color}",
        )
        for field, color in COLORS.items()
    ]
    value, full = _value(bits)
    rest = [bits.kind, error_text(number, bits)]
    line = [name, bits.bits, bits.hex, value, *rest]
    if full != value:
        value = f'<details><summary>{value}</summary><div style="{BREAK}">{full}</div></details>'
    return [
        name,
        *fields,
        *map(fragment.cell, [f"<code>{bits.hex}</code>", value, *rest]),
    ], line


def _value(bits):
    """The value as text, shortened and in full; readable() in digits.mjs says the same."""
    full = f"{Decimal(bits.value):f}".replace("-", "−").replace("I", "i")  # of Infinity
    return (
        full if len(full) <= LONGEST_VALUE else f"≈ {short(bits.exact, DIGITS)}"
    ), full


def _encoded(number, name):
    try:
        return numbers.encode(number, name)
    except ValueError:  # the format has no NaN
        return None
