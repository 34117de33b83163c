"""FloatLab: one number in the formats of deep learning, bit by bit."""

import math
import re
from decimal import Decimal

from course_utils import entry as entries
from course_utils import formats as numbers
from course_utils.explorers import decimals, static
from course_utils.explorers.fragment import assemble

# In this order in one scope; the last one starts the app.
SCRIPTS = [
    "values.js",
    "entries.js",
    "codec.js",
    "keyboard.js",
    "dom.js",
    "copy.js",
    "numbers.js",
    "rows.js",
    "formula.js",
    "bins.js",
    "marks.js",
    "lens.js",
    "chart.js",
    "sum.js",
    "arithmetic.js",
    "toolbar.js",
    "floatlab.js",
]
STYLES = [
    "shared.css",
    "floatlab.css",
    "rows.css",
    "lens.css",
    "arithmetic.css",
    "narrow.css",
]
TABS = ("lens", "arithmetic")
LONGEST_INTEGER = 4_000  # bits; more would be too long for an entry


class FloatLab:
    """An interactive figure: type a number, flip bits, watch what each format keeps of it.

    Show it as the last line of a cell. Without JavaScript, and in a notebook that is not trusted,
    a table shows the same numbers.

    Args:
        entry: text as `course_utils.entry.parse` reads it, a number, or a code of the first
            format ("0x3C00", "0b0110"). A text that cannot be read is shown with what is wrong.
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
        self.entry = _text(entry)
        self.formats = _names(formats)
        _choose("rounding", rounding, numbers.ROUNDINGS)
        _choose("tab", tab, TABS)
        self.rounding = rounding
        self.saturate = bool(saturate)
        self.tab = tab

    def _repr_mimebundle_(self, include=None, exclude=None):
        entered, rows, message = self._rows()
        title = f"{_named(self.entry)}, rounding {self.rounding}"
        if self.saturate:
            title += ", saturating"
        table = static.html_table(title, entered, rows, message)
        return {
            "text/html": assemble("floatlab", table, self._data(), SCRIPTS, STYLES),
            "text/plain": static.plain_table(f"FloatLab: {title}", entered, rows, message),
        }

    def _rows(self):
        """The number entered, what each format makes of it (None for no NaN), and a complaint."""
        given = None
        try:
            if re.match(r"[+-]?0[xb]", self.entry.strip(entries.BLANKS), re.IGNORECASE):
                given = numbers.decode(self.entry, self.formats[0])
                entered = given.value
            else:
                entered = entries.parse(self.entry)
        except ValueError as error:
            return None, {}, str(error)
        rows = {name: self._encoded(entered, name) for name in self.formats}
        if given:
            rows[given.format] = given
        return entered, rows, None

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
    if isinstance(entry, float):
        return _digits(entry)
    exact = entries.exact(entry)
    if isinstance(exact, float):
        return repr(exact)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > LONGEST_INTEGER:
        raise ValueError("The entry has too many digits: give text such as 1e4000, or 2^-5000.")
    text = decimals.full(exact)
    if text is None:
        shown = entries.quoted(str(exact))
        raise ValueError(f"{shown} never ends as a decimal number: give a text with its digits.")
    return text.replace("−", "-")


def _digits(number):
    """A float64 as text that rounds like it: the shortest one, or all digits where they matter.

    The shortest text is a little off. That changes the result only for a value of a format, or
    for one half-way between two. These have at most the bits of a float32 and one more, and
    lie between the half of its smallest number and 2^128.
    """
    short = float.__repr__(number)  # a NumPy float64 would name its type
    if not 2.0**-150 <= abs(number) < 2.0**128:
        return short
    significand, _ = math.frexp(number)
    return str(Decimal(number)) if (significand * 2**25).is_integer() else short


def _named(entry):
    """An entry in quotation marks; a long one without its middle, as it may end in an exponent."""
    return entries.quoted(entry if len(entry) <= 40 else f"{entry[:27]}...{entry[-10:]}")


def _names(formats):
    if formats is None:
        return list(numbers.FORMATS)
    names = [formats] if isinstance(formats, str) else list(formats)
    if not names:
        raise ValueError(f"No format is given: choose from {', '.join(numbers.FORMATS)}.")
    for name in names:
        _choose("format", name, numbers.FORMATS)
    return list(dict.fromkeys(names))


def _choose(what, given, accepted):
    if not isinstance(given, str) or given not in accepted:
        shown = entries.quoted(given if isinstance(given, str) else repr(given))
        raise ValueError(f"There is no {what} {shown}: choose one of {', '.join(accepted)}.")
