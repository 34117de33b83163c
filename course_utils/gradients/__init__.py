"""Where the sizes of gradients lie, octave by octave, and what a format does with them.

Multiplying by a power of two moves every value by whole octaves and changes nothing
else. So one histogram answers for every format and every power-of-two scale, exactly,
if each octave also knows how many of its values lie past the few borders inside octaves
that formats have: a tie that rounds to zero, to the smallest normal number or beyond
the largest one. The rounding error, too, depends on the scale only through the number
of bits that a value keeps: a sum for each number.
"""

import math
import operator
from dataclasses import dataclass

import numpy as np

from course_utils import formats
from course_utils.gradients.magnitudes import magnitudes


def _octave(value):
    """The octave of a positive number: 0 from 1 to below 2."""
    return math.frexp(value)[1] - 1


def _borders(fmt):
    """The significands from which on values overflow (top octave) or round up into the
    normals.
    """
    facts = formats.facts(fmt)
    largest = facts["largest"] / 2.0 ** _octave(facts["largest"])
    overflow = largest + facts["epsilon"] / 2
    # Even, so the tie stays finite: 464 in E4M3 does.
    if largest / facts["epsilon"] % 2 == 0:
        overflow = math.nextafter(overflow, 2)
    # The largest subnormal is odd, so that tie goes up.
    return overflow, 2 - facts["epsilon"]


# Significands in [1, 2): column k of `above` counts the values from THRESHOLDS[k]
# on. A border that is not part of its range stands here as the next float64.
THRESHOLDS = tuple(
    sorted({border for fmt in formats.FORMATS for border in _borders(fmt)})
)

_COUNTERS = ("zeros", "nans", "infinities")
_ARRAYS = ("counts", "squares", "powers", "above", "errors")

# How many bits of its fraction a value may keep. With -1 its octave is half of the
# smallest subnormal, and it becomes that or zero. float32 is left out, which gradients
# have to begin with.
KEPT_BITS = range(-1, 11)


def limits(fmt: str) -> dict:
    """The octaves at which a format's bands begin and end; octave e is 2**e <= |x| <
    2**(e + 1).

    Values up to 2**zero_octave round to zero. normal_octave and top_octave hold the
    smallest normal and the largest number. Below the first, values counted in column
    `rounds_up` of `OctaveHistogram.above` round up to it; in the second, column
    `overflow` counts what rounds beyond.

    Example:
        >>> limits("float16")["zero_octave"], limits("float16")["top_octave"]
        (-25, 15)
    """
    facts = formats.facts(fmt)
    overflow, rounds_up = _borders(fmt)
    return {
        "zero_octave": _octave(facts["smallest_subnormal"]) - 1,
        "normal_octave": _octave(facts["smallest_normal"]),
        "rounds_up": THRESHOLDS.index(rounds_up),
        "top_octave": _octave(facts["largest"]),
        "overflow": THRESHOLDS.index(overflow),
    }


@dataclass(frozen=True)
class Survival:
    """How many values become what, once scaled and rounded to a format, to nearest
    even.

    `zero` and `nonfinite_input` were that before; `rounded_to_zero` were not zero. What
    rounds up to a normal number is `normal`. `overflow` goes beyond the largest number:
    to infinity, NaN in float8_e4m3fn, the largest number itself in float4_e2m1fn.
    `norm_lost` is the share of the sum of squares of all finite values that was rounded
    to zero.
    """

    zero: int
    rounded_to_zero: int
    subnormal: int
    normal: int
    overflow: int
    nonfinite_input: int
    norm_lost: float

    @property
    def total(self) -> int:
        """The number of all values."""
        results = self.rounded_to_zero + self.subnormal + self.normal + self.overflow
        return self.zero + results + self.nonfinite_input


@dataclass(frozen=True, eq=False)
class OctaveHistogram:
    """How many values have which size; `from_values` makes it, `+` puts two together.

    Octave e holds the finite values with 2**e <= |x| < 2**(e + 1), whatever their sign.

    Example:
        >>> histogram = OctaveHistogram.from_values([0.0, 0.25, -3.0, 3.5])
        >>> histogram.first, histogram.counts.tolist(), histogram.zeros
        (-2, [1, 0, 0, 2], 1)
    """

    zeros: int
    nans: int
    infinities: int
    # the octave of row 0, or 0 if there is none; the first and last row hold values
    first: int
    counts: np.ndarray  # int64 (n,), values in each octave
    # float64 (n,), sum of (x / 2**octave)**2: each adds from 1 to below 4
    squares: np.ndarray
    powers: np.ndarray  # int64 (n,), of the counts: exact powers of two
    # int64 (n, k), of the counts: |x| / 2**octave at or past THRESHOLDS[k]
    above: np.ndarray
    # float64 (n, 12), sum of ((rounded - x) / 2**octave)**2, KEPT_BITS[j] bits kept
    errors: np.ndarray

    @classmethod
    def from_values(cls, values: object) -> "OctaveHistogram":
        """Sort integers and floats of up to 64 bits into octaves, exactly, as float64.

        `values` is an array of NumPy, TensorFlow or JAX, or a nested list of arrays and
        numbers. Of an IndexedSlices its values count; None in a list (the gradient of
        an unused variable) counts nothing. TypeError for complex numbers, bools or
        text.

        Example:
            >>> OctaveHistogram.from_values([None, np.ones(3), [2, 2.5]]).counts.tolist()
            [3, 2]
        """
        sizes = magnitudes(values)
        finite = sizes[np.isfinite(sizes)]
        half, exponent = np.frexp(finite[finite > 0])  # half from 1/2 to below 1
        lowest = int(exponent.min()) if len(exponent) else 1
        row = exponent - lowest
        octaves = int(row.max(initial=-1)) + 1

        def count(which):
            return np.bincount(row[which], minlength=octaves)

        def squares(lengths):
            return np.bincount(row, lengths**2, minlength=octaves).astype(float)

        def error(bits):
            steps = half * 2.0 ** (bits + 1)
            return (np.rint(steps) - steps) / 2.0**bits

        return cls(
            zeros=int(np.count_nonzero(finite == 0)),
            nans=int(np.count_nonzero(np.isnan(sizes))),
            infinities=int(np.count_nonzero(np.isinf(sizes))),
            first=lowest - 1,
            counts=count(half > 0),
            squares=squares(2 * half),
            powers=count(half == 0.5),
            above=np.stack([count(half >= edge / 2) for edge in THRESHOLDS], axis=1),
            errors=np.stack([squares(error(bits)) for bits in KEPT_BITS], axis=1),
        )

    @property
    def total(self) -> int:
        """The number of all values, zeros and not finite ones included."""
        return self.zeros + self.nans + self.infinities + int(self.counts.sum())

    def survival(self, fmt: str, log2_scale: int = 0) -> Survival:
        """What becomes of the values, times 2**log2_scale (an int), in a format of
        `FORMATS`.

        Example:
            >>> OctaveHistogram.from_values([2**-25, 2**-24]).survival("float16").rounded_to_zero
            1
        """
        edge = limits(fmt)
        octave = self._octaves(log2_scale)
        below = octave < edge["zero_octave"]
        tie = octave == edge["zero_octave"]
        to_zero = self.counts[below].sum() + self.powers[tie].sum()
        overflow = self.counts[octave > edge["top_octave"]].sum()
        overflow += self.above[octave == edge["top_octave"], edge["overflow"]].sum()
        normal = edge["normal_octave"]
        subnormal = self.counts[octave < normal].sum() - to_zero
        subnormal -= self.above[octave == normal - 1, edge["rounds_up"]].sum()
        lost_squares = np.where(below, self.squares, self.powers * tie)
        return Survival(
            zero=self.zeros,
            rounded_to_zero=int(to_zero),
            subnormal=int(subnormal),
            normal=int(self.counts.sum() - to_zero - subnormal - overflow),
            overflow=int(overflow),
            nonfinite_input=self.nans + self.infinities,
            norm_lost=self._share(lost_squares),
        )

    def relative_error(self, fmt: str, log2_scale: int = 0) -> float:
        """‖fl(S·x)/S − x‖ / ‖x‖ over all values, for S = 2**log2_scale; fl rounds to a
        format.

        Exact for every S; infinity where a value overflows or was not finite.
        ValueError for float32.

        Example:
            >>> OctaveHistogram.from_values([2**-25, 3 * 2**-25]).relative_error("float16")
            0.4472135954999579
        """
        facts = formats.facts(fmt)
        edge = limits(fmt)
        if facts["fraction_bits"] > KEPT_BITS[-1]:
            raise ValueError(
                f"{fmt} keeps more bits than are counted: give a narrower format."
            )
        survival = self.survival(fmt, log2_scale)
        if survival.overflow or survival.nonfinite_input:
            return math.inf
        octave = self._octaves(log2_scale)
        bits = facts["fraction_bits"] - np.maximum(0, edge["normal_octave"] - octave)
        column = np.maximum(bits, KEPT_BITS[0]) - KEPT_BITS[0]
        errors = np.take_along_axis(self.errors, column[:, None], axis=1)[:, 0]
        return math.sqrt(
            self._share(np.where(bits < KEPT_BITS[0], self.squares, errors))
        )

    def _octaves(self, log2_scale):
        """The octave of each row, once scaled."""
        return self.first + np.arange(len(self.counts)) + operator.index(log2_scale)

    def _share(self, squares):
        """What these sums for each octave are of the sum of squares of all finite
        values.
        """
        # The last octave as the unit: nothing overflows, and what underflows is too
        # small to count.
        unit = 4.0 ** np.arange(1 - len(squares), 1)
        return float(squares @ unit / (self.squares @ unit)) if len(unit) else 0.0

    def __add__(self, other):
        """The histogram of the values of both."""
        parts = [part for part in (self, other) if len(part.counts)] or [self]
        first = min(part.first for part in parts)
        end = max(part.first + len(part.counts) for part in parts)
        sums = {name: getattr(self, name) + getattr(other, name) for name in _COUNTERS}
        for name in _ARRAYS:
            mine = getattr(self, name)
            sums[name] = np.zeros((end - first, *mine.shape[1:]), mine.dtype)
            for part in parts:
                rows = slice(part.first - first, part.first - first + len(part.counts))
                sums[name][rows] += getattr(part, name)
        return OctaveHistogram(first=first, **sums)

    def as_data(self) -> dict:
        """The attributes as ints and lists, for JSON; `from_data` reads them back."""
        return {name: np.asarray(value).tolist() for name, value in vars(self).items()}

    @classmethod
    def from_data(cls, data: dict) -> "OctaveHistogram":
        """The histogram that `as_data` wrote down."""
        arrays = {name: np.array(data[name]) for name in _ARRAYS}
        return cls(**data | arrays)
