"""FloatLab's numbers as a table: what shows without JavaScript.

An untrusted notebook keeps tables and literal inline styles, and drops style elements, variables
and attributes of one's own. So cells say everything in words, and color only the bits.
"""

import math
from fractions import Fraction
from html import escape

from course_utils.explorers import decimals

HEADS = ["format", "sign", "exponent", "fraction", "code", "exact value", "class", "error"]
# As in numbers.js, so that the table says what the rows say.
LONGEST_VALUE = 24  # characters; longer ones are shortened, with the whole below
DIGITS = 12  # of the short form
CAPTION = "text-align:left;padding:3px 8px"
BREAK = "word-break:break-all"
CELL = "text-align:left;padding:3px 8px;border:1px solid #888888"
COLORS = {
    "sign": "background-color:#D55E00;color:#000000",
    "exponent": "background-color:#F0E442;color:#000000",
    "fraction": "background-color:#0072B2;color:#FFFFFF",
}


def html_table(title: str, entered, rows: dict, message: str | None) -> str:
    """The table as HTML; every text in it is escaped.

    Args:
        title: what was entered, for the caption.
        entered: the number entered: a Fraction, or a float for infinities, NaN and -0.
        rows: name of the format -> `formats.FloatBits`, or None where the format has no NaN.
        message: what is wrong with the entry, or None; then no rows are needed.
    """
    caption = f'<caption style="{CAPTION}">FloatLab: {escape(title)}</caption>'
    if message:
        body = f'<tr><td style="{CELL}">{escape(message)}</td></tr>'
    else:
        head = "".join(f'<th scope="col" style="{CELL}">{text}</th>' for text in HEADS)
        body = f"<thead><tr>{head}</tr></thead>\n<tbody>\n"
        body += "\n".join(_html_row(name, bits, entered) for name, bits in rows.items())
        body += "\n</tbody>"
    return f'<table style="border-collapse:collapse">\n{caption}\n{body}\n</table>'


def plain_table(title: str, entered, rows: dict, message: str | None) -> str:
    """The same as aligned text."""
    lines = [["format", "bits", "code", "value", "class", "error"]]
    for name, bits in rows.items():
        if bits:
            value = _value(bits)[0]
            lines.append([name, bits.bits, bits.hex, value, bits.kind, error(entered, bits)])
        else:
            lines.append([name, "no NaN here", "", "", "", ""])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([title, message] if message else [title, *texts])


def error(entered, bits) -> str:
    """What became of the number entered, in a few words.

    Example:
        >>> from course_utils import formats
        >>> error(Fraction(1, 10), formats.encode("0.1", "float16"))
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


def _html_row(name, bits, entered):
    head = f'<th scope="row" style="{CELL}">{name}</th>'
    if not bits:
        return f'<tr>{head}<td colspan="{len(HEADS) - 1}" style="{CELL}">no NaN here</td></tr>'
    fields = "".join(
        f'<td style="{CELL};{style}"><code style="{style}">{getattr(bits, field)}</code></td>'
        for field, style in COLORS.items()
    )
    short, full = _value(bits)
    if full != short:
        short = f'<details><summary>{short}</summary><div style="{BREAK}">{full}</div></details>'
    rest = [f"<code>{bits.hex}</code>", short, bits.kind, error(entered, bits)]
    cells = "".join(f'<td style="{CELL}">{text}</td>' for text in rest)
    return f"<tr>{head}{fields}{cells}</tr>"


def _value(bits):
    """The value as text, shortened and in full."""
    if bits.kind in ("nan", "infinity"):
        text = "NaN" if bits.kind == "nan" else "−" * (bits.value < 0) + "infinity"
        return text, text
    if bits.kind == "zero":
        return ("−0", "−0") if bits.sign == "1" else ("0", "0")
    full = decimals.full(bits.exact)
    return (full if len(full) <= LONGEST_VALUE else f"≈ {decimals.short(bits.exact, DIGITS)}"), full
