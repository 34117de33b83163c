"""FloatLab: one number in the formats of deep learning, bit by bit."""

import math
import re
from fractions import Fraction

from course_utils import formats as numbers
from course_utils import numerals
from course_utils.explorers import decimals, static
from course_utils.explorers.fragment import assemble

HEADS = ["format", "sign", "exponent", "fraction", "code", "exact value", "class", "error"]
TEXT_HEADS = ["format", "bits", "code", "value", "class", "error"]
LONGEST_VALUE = 24  # characters; longer ones are shortened, with the whole below
DIGITS = 12  # of the short form
BREAK = "word-break:break-all"
COLORS = {
    "sign": "background-color:#D55E00;color:#000000",
    "exponent": "background-color:#F0E442;color:#000000",
    "fraction": "background-color:#0072B2;color:#FFFFFF",
}
TABS = ("lens", "arithmetic")
LONGEST_INTEGER = 4_000  # bits; more would be too long for an entry


class FloatLab:
    """An interactive figure: type a number, flip bits, watch what each format keeps of it.

    Show it as the last line of a cell. Without JavaScript, and in a notebook that is not trusted,
    a table shows the same numbers.

    Args:
        entry: text as `course_utils.numerals.parse` reads it, or a code of the first format
            ("0x3C00", "0b0110"); a text that cannot be read is shown with what is wrong. Or a
            number, which means itself: the float 0.1 is a little more than "0.1".
        formats: names of `formats.FORMATS`, in the order to show them; None for all.
        rounding: a name of `formats.ROUNDINGS`.
        saturate: too large becomes the largest number instead of infinity or NaN.
        tab: what to show below the rows: "lens", a number line around the number, or
            "arithmetic".

    Raises:
        ValueError: with one sentence that says what is accepted.

    Example: `FloatLab("65520", formats=["float16", "bfloat16"])`
    """

    def __init__(
        self, entry="0.1", formats=None, rounding="nearest_even", saturate=False, tab="lens"
    ):
        _check("rounding", rounding, numbers.ROUNDINGS)
        _check("tab", tab, TABS)
        self.entry = _text(entry)
        self.formats = _names(formats)
        self.rounding = rounding
        self.saturate = bool(saturate)
        self.tab = tab

    def _repr_mimebundle_(self, include=None, exclude=None):
        title = f"FloatLab: {_named(self.entry)}, rounding {self.rounding}"
        if self.saturate:
            title += ", saturating"
        try:
            entered, rows = self._rows()
        except ValueError as error:
            table, lines = static.html_table(title, [str(error)], []), [[str(error)]]
        else:
            table = static.html_table(title, HEADS, [_cells(*row, entered) for row in rows.items()])
            lines = [TEXT_HEADS, *(_line(*row, entered) for row in rows.items())]
        html = assemble("floatlab", table, self._data())
        return {"text/html": html, "text/plain": static.plain_table(title, lines)}

    def _rows(self):
        """The number entered, and what each format makes of it: None where it has no NaN."""
        if not re.match(r"[+-]?0[xb]", self.entry.strip(numerals.BLANKS), re.IGNORECASE):
            entered = numerals.parse(self.entry)
            return entered, {name: self._encoded(entered, name) for name in self.formats}
        given = numbers.decode(self.entry, self.formats[0])
        rows = {name: self._encoded(given.value, name) for name in self.formats}
        return given.value, rows | {given.format: given}

    def _encoded(self, entered, name):
        if entered != entered and _nan(name) is None:
            return None
        return numbers.encode(entered, name, self.rounding, self.saturate)

    def _data(self):
        return {
            "entry": self.entry,
            "shown": self.formats,
            "rounding": self.rounding,
            "saturate": self.saturate,
            "tab": self.tab,
            "formats": [_parameters(name) for name in numbers.FORMATS],
        }


def told_error(entered, bits) -> str:
    """What became of the number entered, in a few words.

    Example:
        >>> told_error(Fraction(1, 10), numbers.encode("0.1", "float16"))
        '2.44e-5 too low, 0.4 ULP'
    """
    if isinstance(entered, float) and not math.isfinite(entered):
        if bits.exact is not None:
            return "largest number instead of infinity"
        same = (bits.kind == "nan") == math.isnan(entered)
        return "" if same else "no infinity in this format"
    if bits.exact is None:
        return f"too large for {bits.format}"
    difference = bits.exact - Fraction(entered)
    if difference == 0:
        return "no error"
    size = f"{decimals.short(abs(difference), 3)} too {'low' if difference < 0 else 'high'}"
    if abs(difference) >= bits.ulp:
        # More than rounding can do: the number was cut off at the largest value.
        return f"{size}, {decimals.short(bits.exact)} is the last value"
    return f"{size}, {decimals.short(abs(difference) / bits.ulp, 3)} ULP"


def _cells(name, bits, entered):
    """A format's row of the table; colors only for the bits, the rest in words."""
    if not bits:
        return [name, static.cell("no NaN here", span=len(HEADS) - 1)]
    fields = [
        static.cell(
            f'<code style="{color}">{getattr(bits, field)}</code>', f"{static.CELL};{color}"
        )
        for field, color in COLORS.items()
    ]
    short, full = _value(bits)
    if full != short:
        short = f'<details><summary>{short}</summary><div style="{BREAK}">{full}</div></details>'
    rest = [f"<code>{bits.hex}</code>", short, bits.kind, told_error(entered, bits)]
    return [name, *fields, *map(static.cell, rest)]


def _line(name, bits, entered):
    """A format's line of the text."""
    if not bits:
        return [name, "no NaN here", "", "", "", ""]
    return [name, bits.bits, bits.hex, _value(bits)[0], bits.kind, told_error(entered, bits)]


def _value(bits):
    """The value as text, shortened and in full; readable() in values.mjs says the same."""
    if bits.kind in ("nan", "infinity"):
        text = "NaN" if bits.kind == "nan" else "−" * (bits.value < 0) + "infinity"
        return text, text
    if bits.kind == "zero":
        return ("−0", "−0") if bits.sign == "1" else ("0", "0")
    full = decimals.full(bits.exact)
    return (full if len(full) <= LONGEST_VALUE else f"≈ {decimals.short(bits.exact, DIGITS)}"), full


def _parameters(name):
    """What the codec needs to know about a format."""
    facts = numbers.facts(name)
    largest = numbers.encode(facts["largest"], name)
    return {**facts, "largest_code": largest.hex, "nan_code": _nan(name)}


def _nan(name):
    """The code of NaN, or None where the format has none."""
    try:
        return numbers.encode("nan", name).hex
    except ValueError:
        return None


def _text(entry):
    """A number as an entry that means exactly this number."""
    if isinstance(entry, str):
        return entry
    exact = numerals.exact(entry)
    if isinstance(exact, float):
        return repr(exact)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > LONGEST_INTEGER:
        raise ValueError("The entry has too many digits: give text such as 1e4000, or 2^-5000.")
    text = decimals.full(exact)
    if text is None:
        shown = numerals.quoted(str(exact))
        raise ValueError(f"{shown} never ends as a decimal number: give a text with its digits.")
    return text.replace("−", "-")


def _named(entry):
    """An entry in quotation marks; a long one without its middle, as it may end in an exponent."""
    return numerals.quoted(entry if len(entry) <= 40 else f"{entry[:27]}...{entry[-10:]}")


def _names(formats):
    if formats is None:
        return list(numbers.FORMATS)
    names = [formats] if isinstance(formats, str) else list(formats)
    if not names:
        raise ValueError(f"No format is given: choose from {', '.join(numbers.FORMATS)}.")
    for name in names:
        numbers.facts(name)  # its complaint says which formats there are
    return list(dict.fromkeys(names))


def _check(what, given, accepted):
    if given not in accepted:
        shown = numerals.quoted(str(given))
        raise ValueError(f"There is no {what} {shown}: choose one of {', '.join(accepted)}.")
