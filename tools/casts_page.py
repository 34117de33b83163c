"""What data/casts.json says, as docs/casts.md shows it."""

import ml_dtypes
import numpy as np

from tools.casts import COPIES, E8M0, FLOAT16, NAN

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
TOO_LARGE = (
    "Too large, or infinite, for 8 bits",
    "E4M3 has no infinity, and E5M2 has one. NumPy, TensorFlow and JAX turn what is too large into "
    "NaN in E4M3, and into infinity in E5M2. PyTorch, ONNX Runtime and MLX stop at E4M3's largest "
    "number, 448; ONNX Runtime stops at E5M2's largest, 57,344, too, where PyTorch gives infinity. "
    "Paddle does one or the other, by the value.",
)
NOT_A_NUMBER = (
    "NaN",
    "A NaN has many codes, and libraries, or the processor, choose different ones. In E4M3 MLX and "
    "Paddle make the number 448 of it.",
)
POWERS = (
    "To powers of two alone",
    "E8M0 is the scale of a block in MX formats: eight bits of exponent, no sign, no zero and no "
    "infinity. ml_dtypes and JAX make NaN of 0, of a negative number and of infinity. PyTorch "
    "leaves out the sign. PyTorch and ONNX Runtime make 2⁻¹²⁷, the smallest number, of 0. ONNX "
    "Runtime makes it of −2 as well, rounds up, and stops at 2¹²⁷.",
)
TWICE = (
    "From float64: rounded once, or twice",
    "The value is a little more than a tie of the format, too little for float32. Rounded once, it "
    "goes up. Rounded to float32 first it becomes the tie, and then goes to the even neighbor, "
    "down. NumPy rounds once to float16. TensorFlow, with and without XLA, and JAX round once to 8 "
    "bits. All others round twice, and to bfloat16 all do. (On an Intel CPU with `avx512_fp16`, "
    "which is not in the table, TensorFlow 2.21 under XLA rounds to float16 once.)",
)
INTEGERS = (
    "To whole numbers",
    "XLA and JAX clip, and make 0 of NaN. In the other libraries 300 becomes 44, the rest of a "
    "division by 256, and TensorFlow without XLA does the one or the other, by the place in the "
    "array. So clip before you cast.",
)


def told(record) -> dict:
    """What the template `casts.md` asks for of a record."""
    libraries = record["libraries"]
    agreed, parted = [], {}
    for number, row in enumerate(record["rows"]):
        found = [library["codes"][number] for library in libraries.values()]
        results = [_shown(codes, row["to"]) for codes in found]
        known = {tuple(codes) for codes in found if codes}
        if len(known) == 1:
            result = next(text for text in results if text != "–")
            agreed.append([row["from"], row["to"], _named(row), result])
        else:
            tables = parted.setdefault(_heading(row), {})
            tables.setdefault(_table(row), {})[_column(row)] = results
    order = (TOO_LARGE, NOT_A_NUMBER, TWICE, POWERS, INTEGERS)
    return {
        "copies": COPIES,
        "cpu": record["cpu"],
        "date": record["date"],
        "libraries": [
            (name, ", ".join(map(" ".join, library["versions"].items())))
            for name, library in libraries.items()
        ],
        "agreed": agreed,
        "parted": [
            (*heading, [_rows(libraries, t) for t in parted[heading].items()])
            for heading in order
        ],
    }


def _rows(libraries, table):
    """A table's title, its columns, and a row for each library."""
    title, columns = table
    rows = [
        [name, *(results[n] for results in columns.values())]
        for n, name in enumerate(libraries)
    ]
    return title, list(columns), rows


def _heading(row):
    if row["to"] == E8M0:
        return POWERS
    if row["to"] == "int8":
        return INTEGERS
    if row["from"] == "float64":
        return TWICE
    return NOT_A_NUMBER if row["value"] == NAN else TOO_LARGE


def _table(row):
    """A table has one format, or all of them in its columns."""
    by_format = _heading(row) in (TOO_LARGE, POWERS, INTEGERS)
    return f"{row['from']} to {row['to']}" if by_format else f"{row['from']} to"


def _column(row):
    value = _named(row)
    heading = _heading(row)
    if heading == TWICE:
        return f"{row['to']}, of {value}"
    return row["to"] if heading == NOT_A_NUMBER else value


def _named(row):
    """A value as a reader would write it."""
    value = row["value"]
    if isinstance(value, str):
        return value
    if row["from"] == "float64":
        bits = round(-np.log2(value - 1))
        return f"1 + {_power(-bits)} + {_power(-40)}"
    if value and abs(value) < 1e-2:
        mantissa, exponent = np.frexp(value)
        factor = "" if mantissa == 0.5 else f"{2 * mantissa:g} · "
        return factor + _power(int(exponent) - 1)
    if value == 0:
        return "−0" if np.signbit(value) else "0"
    return _plain(value)


def _plain(value):
    text = f"{value:,.10g}" if abs(value) < 1e6 else f"{value:g}"
    return text.replace("-", "−")


def _power(exponent):
    return f"2{str(exponent).translate(SUPERSCRIPT)}"


def _shown(codes, to):
    if codes is None:
        return "–"
    return " and ".join(_number(code, to) for code in codes)


def _number(code, to):
    dtype = np.dtype(to if to in (FLOAT16, "int8") else getattr(ml_dtypes, to))
    value = np.array([code], f"u{dtype.itemsize}").view(dtype)[0]
    if dtype.kind == "i":
        return _plain(int(value))
    value = float(value)
    if np.isnan(value):
        return f"NaN (0x{code:0{2 * dtype.itemsize}x})"
    if np.isinf(value):
        return "infinity" if value > 0 else "−infinity"
    if value == 0:
        return "−0" if np.signbit(value) else "0"
    if abs(value) < 1e-2 or to == E8M0 and value > 1e6:
        return _power(round(np.log2(value)))
    return _plain(value)
