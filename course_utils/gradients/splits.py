"""Sixteen bits, split between exponent and fraction in every useful way, and what each
split keeps.

A split has a sign, e exponent bits and 15 - e fraction bits, and is otherwise as IEEE
754 has it: its bias, subnormal numbers, infinity. So 5 exponent bits make float16 and 8
make bfloat16.
"""

import numpy as np

from course_utils.gradients.magnitudes import magnitudes

# with 8 the range is that of float32, where tensors come from
EXPONENT_BITS = range(2, 9)
NAMES = {5: "float16", 6: "DLFloat's split", 8: "bfloat16"}
_KEPT_BITS = range(
    -1, 16 - EXPONENT_BITS[0]
)  # bits of its fraction that a value may keep


def split_limits(exponent_bits: int) -> dict:
    """The octaves at which a split's bands begin and end, as in `gradients.limits`.

    Example:
        >>> split_limits(5)
        {'fraction_bits': 10, 'zero_octave': -25, 'normal_octave': -14, 'top_octave': 15}
    """
    fraction = 15 - exponent_bits
    bias = 2 ** (exponent_bits - 1) - 1
    return {
        "fraction_bits": fraction,
        "zero_octave": -bias - fraction,
        "normal_octave": 1 - bias,
        "top_octave": bias,
    }


def survey(
    values: object, log2_scales: range | list[int] | tuple[int, ...] = (0,)
) -> dict:
    """What every split of `EXPONENT_BITS` keeps of values, at every power-of-two scale
    S.

    `values` are as `gradients.OctaveHistogram.from_values` takes them. Returns, for
    JSON: `total`; how many are `zeros` and how many `bad`, NaN or infinite; `first` and
    `counts`, the other ones by octave; and `kept`, for each scale and each split
    [error, to_zero, subnormal, overflow]. The error is ‖fl(S·x)/S − x‖ / ‖x‖ over the
    finite values, rounded to nearest even, None where one overflows. It is exact but
    for the order in which float64 adds. The rest are counts of results.

    Example:
        >>> survey([2**-25, 3 * 2**-25])["kept"][0][EXPONENT_BITS.index(5)]  # float16
        [0.4472135954999579, 1, 1, 0]
    """
    sizes = np.sort(magnitudes(values))  # NaN comes last
    finite = sizes[: np.searchsorted(sizes, np.inf)]
    some = finite[np.searchsorted(finite, 0, "right") :]
    half, octave = np.frexp(some)  # half from 1/2 to below 1
    first = int(octave[0]) - 1 if len(some) else 0
    row = octave - 1 - first
    counts = np.bincount(row)
    # Sums of squares for each octave, in units of the last one: of errors, one for each
    # number of bits kept, and of the values. A scale moves octaves and changes no sum.
    unit = 4.0 ** np.arange(1 - len(counts), 1)
    error_sums = []
    for bits in _KEPT_BITS:
        step = 2.0 ** (bits + 1)
        off = np.rint(half * step) / step - half
        error_sums.append(np.bincount(row, off * off) * unit)
    errors = np.stack(error_sums)
    squares = np.bincount(row, half * half) * unit
    places = np.arange(len(counts))

    def losses(exponent_bits: int, shift: int) -> list:
        edge = split_limits(exponent_bits)
        # The last number below an edge is odd, so the tie between the two goes to the
        # edge; that between zero and the smallest number goes to zero.
        half_step = 2.0 ** -edge["fraction_bits"] / 2
        first_kept = np.ldexp(np.nextafter(1, 2), edge["zero_octave"] - shift)
        first_normal = np.ldexp(1 - half_step, edge["normal_octave"] - shift)
        first_overflow = np.ldexp(2 - half_step, edge["top_octave"] - shift)
        ends = [first_kept, first_normal, first_overflow]
        to_zero, below_normal, below_overflow = np.searchsorted(some, ends).tolist()
        subnormal = below_normal - to_zero
        overflow = len(some) - below_overflow
        if overflow:
            return [None, to_zero, subnormal, overflow]
        missing_octaves = edge["normal_octave"] - shift - first - places
        bits = edge["fraction_bits"] - np.maximum(missing_octaves, 0)
        rounded = errors[np.maximum(bits, -1) + 1, places]
        share = np.where(bits < -1, squares, rounded).sum() / (squares.sum() or 1)
        return [float(np.sqrt(share)), to_zero, subnormal, 0]

    return {
        "total": len(sizes),
        "zeros": len(finite) - len(some),
        "bad": len(sizes) - len(finite),
        "first": first,
        "counts": counts.tolist(),
        "kept": [
            [losses(bits, shift) for bits in EXPONENT_BITS] for shift in log2_scales
        ],
    }
