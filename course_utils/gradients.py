"""Where the sizes of gradients lie, octave by octave, and what a format does with them.

Multiplying by a power of two moves every value by whole octaves and changes nothing else. So one
histogram answers for every format and every power-of-two scale, exactly, if each octave also
knows how many of its values lie past the few borders inside octaves that formats have: a tie that
rounds to zero, to the smallest normal number or beyond the largest one.

    from course_utils import gradients

    histogram = gradients.OctaveHistogram.from_values([3e-8, 2e-8, 1.0])
    histogram.survival("float16").rounded_to_zero                  # 1
    histogram.survival("float16", log2_scale=10).rounded_to_zero   # 0
"""

import operator
from dataclasses import dataclass

import numpy as np

from course_utils import formats, octaves
from course_utils.octaves import THRESHOLDS

_COUNTERS = ("zeros", "nans", "infinities")
_ARRAYS = {  # dtype, and columns in a row
    "counts": (np.int64, ()),
    "squares": (np.float64, ()),
    "powers": (np.int64, ()),
    "above": (np.int64, (len(THRESHOLDS),)),
}


def limits(fmt: str) -> dict:
    """The octaves at which a format's bands begin and end.

    Args:
        fmt: a name of `formats.FORMATS`.

    Returns:
        A dict of ints, octave e being 2**e <= |x| < 2**(e + 1):
        zero_octave: values below 2**zero_octave, and 2**zero_octave itself, round to zero.
        normal_octave: the smallest normal number's. In the octave below it, values counted in
            column `rounds_up` of `OctaveHistogram.above` round up to that number.
        top_octave: the largest number's. In it, column `overflow` counts what rounds beyond.

    Raises:
        ValueError: there is no such format.

    Example:
        >>> limits("float16")["zero_octave"], limits("float16")["top_octave"]
        (-25, 15)
    """
    facts = formats.facts(fmt)
    overflow, rounds_up = octaves.borders(fmt)
    return {
        "zero_octave": octaves.octave(facts["smallest_subnormal"]) - 1,
        "normal_octave": octaves.octave(facts["smallest_normal"]),
        "rounds_up": THRESHOLDS.index(rounds_up),
        "top_octave": octaves.octave(facts["largest"]),
        "overflow": THRESHOLDS.index(overflow),
    }


@dataclass(frozen=True)
class Survival:
    """What becomes of values that are scaled and rounded to a format, once and to nearest even.

    Attributes:
        zero: values that were zero before.
        rounded_to_zero: values that were not.
        subnormal, normal: results of that kind; what rounds up to a normal number is normal.
        overflow: values that round beyond the largest number: to infinity, NaN in float8_e4m3fn,
            the largest number itself in float4_e2m1fn.
        nonfinite_input: values that were infinite or NaN before.
        norm_lost: share of the sum of squares of all finite values that was rounded to zero.

    Example: see `OctaveHistogram.survival`.
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

    Attributes:
        zeros, nans, infinities: how many values are that.
        first: the octave of row 0; the first and the last row hold values. 0 if there is no row.
        counts: int64 (n,), values in each octave.
        squares: float64 (n,), sum of (x / 2**octave)**2: each value adds from 1 to below 4.
        powers: int64 (n,), of the counts: exact powers of two.
        above: int64 (n, k), of the counts: significand |x| / 2**octave at or past `THRESHOLDS[k]`.

    Example:
        >>> histogram = OctaveHistogram.from_values([0.0, 0.25, -3.0, 3.5])
        >>> histogram.first, histogram.counts.tolist(), histogram.zeros
        (-2, [1, 0, 0, 2], 1)
    """

    zeros: int
    nans: int
    infinities: int
    first: int
    counts: np.ndarray
    squares: np.ndarray
    powers: np.ndarray
    above: np.ndarray

    @classmethod
    def from_values(cls, values) -> "OctaveHistogram":
        """Sort values into octaves, exactly; 10**8 float32 take a second or two.

        Args:
            values: numbers of any integer or float type up to 64 bits, as an array of NumPy,
                TensorFlow or JAX, or a nested list of arrays and numbers. Of an IndexedSlices its
                values count; None in a list (the gradient of an unused variable) counts nothing.

        Raises:
            TypeError: something else, such as complex numbers, bools or text.
            ValueError: a Python int beyond 64 bits.

        Example:
            >>> OctaveHistogram.from_values([None, np.ones(3), [2, 2.5]]).counts.tolist()
            [3, 2]
        """
        tally = octaves.Tally()
        for array, dtype in octaves.arrays(values):
            tally.add(array, dtype)
        return cls(**tally.rows())

    @property
    def total(self) -> int:
        """The number of all values, zeros and not finite ones included."""
        return self.zeros + self.nans + self.infinities + int(self.counts.sum())

    def survival(self, fmt: str, log2_scale: int = 0) -> Survival:
        """What becomes of the values, times 2**log2_scale, in a format.

        Args:
            fmt: a name of `formats.FORMATS`.
            log2_scale: any int; 15 is the loss scale that Keras starts with.

        Raises:
            ValueError: there is no such format.
            TypeError: log2_scale is not an int.

        Example:
            >>> OctaveHistogram.from_values([2**-25, 2**-24]).survival("float16").rounded_to_zero
            1
        """
        edge = limits(fmt)
        octave = self.first + np.arange(len(self.counts)) + _shift(log2_scale)
        below, tie = octave < edge["zero_octave"], octave == edge["zero_octave"]
        gone = self.counts[below].sum() + self.powers[tie].sum()
        over = self.counts[octave > edge["top_octave"]].sum()
        over += self.above[octave == edge["top_octave"], edge["overflow"]].sum()
        small = self.counts[octave < edge["normal_octave"]].sum() - gone
        small -= self.above[octave == edge["normal_octave"] - 1, edge["rounds_up"]].sum()
        return Survival(
            zero=self.zeros,
            rounded_to_zero=int(gone),
            subnormal=int(small),
            normal=int(self.counts.sum() - gone - small - over),
            overflow=int(over),
            nonfinite_input=self.nans + self.infinities,
            norm_lost=self._share(np.where(below, self.squares, self.powers * tie)),
        )

    def _share(self, squares):
        # The last octave as the unit: nothing overflows, and what underflows is too small to count.
        unit = 4.0 ** np.arange(1 - len(self.squares), 1)
        return float(squares @ unit / (self.squares @ unit)) if len(unit) else 0.0

    def __add__(self, other):
        """The histogram of the values of both."""
        if not isinstance(other, OctaveHistogram):
            return NotImplemented
        parts = [part for part in (self, other) if len(part.counts)]
        first = min((part.first for part in parts), default=0)
        end = max((part.first + len(part.counts) for part in parts), default=0)
        found = {name: getattr(self, name) + getattr(other, name) for name in _COUNTERS}
        for name, (dtype, columns) in _ARRAYS.items():
            found[name] = np.zeros((end - first, *columns), dtype)
            for part in parts:
                start = part.first - first
                found[name][start : start + len(part.counts)] += getattr(part, name)
        return OctaveHistogram(first=first, **found)

    def as_data(self) -> dict:
        """The attributes as ints and lists, for JSON; `from_data` reads them back."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return {name: getattr(self, name) for name in (*_COUNTERS, "first")} | arrays

    @classmethod
    def from_data(cls, data: dict) -> "OctaveHistogram":
        """The histogram that `as_data` wrote down.

        Raises:
            ValueError: the dict was not written by `as_data`.

        Example:
            >>> OctaveHistogram.from_data(OctaveHistogram.from_values([1, 2]).as_data()).total
            2
        """
        try:
            found = {name: operator.index(data[name]) for name in (*_COUNTERS, "first")}
            rows = len(data["counts"])
            for name, (dtype, columns) in _ARRAYS.items():
                found[name] = np.array(data[name], dtype).reshape(rows, *columns)
        except (KeyError, TypeError, ValueError):
            names = ", ".join((*_COUNTERS, "first", *_ARRAYS))
            raise ValueError(
                f"This is no histogram's data: give the dict that as_data returned, with {names} "
                f"and {len(THRESHOLDS)} columns in above."
            ) from None
        return cls(**found)


def _shift(log2_scale):
    try:
        if isinstance(log2_scale, bool | np.bool_):
            raise TypeError
        shift = operator.index(log2_scale)
    except TypeError:
        raise TypeError(
            f"log2_scale is a {type(log2_scale).__name__}: give the exponent of the scale as an "
            "int, 15 for a scale of 2**15."
        ) from None
    return max(-octaves.OCTAVES * 2, min(octaves.OCTAVES * 2, shift))  # Beyond, nothing changes.
