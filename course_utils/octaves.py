"""Numbers sorted by size into octaves, exactly; the plumbing of `gradients`.

Octave e holds the values with 2**e <= |x| < 2**(e + 1). Within an octave only a few borders
matter, the significands at which some format rounds up, down, or beyond its largest number.
"""

import math

import numpy as np

from course_utils import formats

# Values looked at together: they fit into the processor's cache, and a float64 sum of so many
# squares is off by 2e-12 at the worst.
CHUNK = 1 << 15
LOWEST, OCTAVES = -1074, 2098  # of float64, the widest type that is read
_READ = (np.float32, np.int64, np.uint64, np.float64)  # every type goes into one of these exactly


def octave(value: float) -> int:
    """The octave of a positive number: 0 from 1 to below 2.

    >>> octave(65504.0)
    15
    """
    return math.frexp(value)[1] - 1


def borders(fmt: str) -> tuple[float, float]:
    """The significands from which on values overflow (top octave) or round up into the normals.

    >>> [border.hex() for border in borders("float16")]
    ['0x1.ffc0000000000p+0', '0x1.ff80000000000p+0']
    """
    facts = formats.facts(fmt)
    largest = facts["largest"] / 2.0 ** octave(facts["largest"])
    overflow = largest + facts["epsilon"] / 2
    if largest / facts["epsilon"] % 2 == 0:  # Even, so the tie stays finite: 464 in E4M3 does.
        overflow = math.nextafter(overflow, 2)
    return overflow, 2 - facts["epsilon"]  # The largest subnormal is odd, so that tie goes up.


# Significands in [1, 2): column k of `above` counts the values from THRESHOLDS[k]
# on. A border that is not part of its range stands here as the next float64.
THRESHOLDS = tuple(sorted({border for fmt in formats.FORMATS for border in borders(fmt)}))

# A significand's place: 0 for exactly 1, else 1 more than the number of thresholds it reached.
_EDGES = np.array([math.nextafter(1, 2), *THRESHOLDS])
_PLACES = len(_EDGES) + 1


def _place(significand):
    return np.searchsorted(_EDGES, significand, side="right")


# A bin holds the float32 that share their upper half: exponent and 7 fraction bits, signs aside.
# Only values in bins that a threshold parts, subnormals, infinities and NaN are looked at one by
# one.
_BINS = 1 << 15
_LOW = np.tile(1 + np.arange(128) / 128, 256)
_BIN_PLACE = _place(_LOW)
_EXPONENT = np.arange(_BINS) >> 7
_UNDECIDED = _BIN_PLACE != _place(_LOW + (2.0**-7 - 2.0**-23))
_UNDECIDED |= (_EXPONENT == 0) | (_EXPONENT == 255)


class Tally:
    """Counts while values come in; `places` has a row for each octave, a column for each place.

    Example: `tally = Tally(); tally.add(np.ones(3, np.float32), np.float32); tally.rows()`
    """

    def __init__(self):
        self.zeros = self.nans = self.infinities = 0
        self.places = np.zeros((OCTAVES, _PLACES), np.int64)
        self.squares = np.zeros(OCTAVES)
        self.bins = np.zeros(_BINS, np.int64)
        self.bin_squares = np.zeros(_BINS)
        # Taken once: new memory for every chunk would cost as much as the counting.
        self.scratch = np.empty(CHUNK, np.float32), np.empty(CHUNK, np.intp), np.empty(CHUNK)

    def add(self, array, dtype):
        """Count the values of an array, read as a dtype of `_READ`, a chunk at a time."""
        count = self._float32 if dtype is np.float32 else self._each
        chunks = np.nditer(
            array, ["external_loop", "buffered", "zerosize_ok"], op_dtypes=[dtype], order="K",
            casting="safe", buffersize=CHUNK,
        )  # fmt: skip
        with np.errstate(invalid="ignore"):  # A signaling NaN is only a NaN here.
            for chunk in chunks:
                count(chunk)

    def _float32(self, values):
        sizes, bins, squares = (memory[: len(values)] for memory in self.scratch)
        np.abs(values, out=sizes)
        np.right_shift(sizes.view(np.uint32), 16, out=bins)
        np.multiply(values, values, out=squares, dtype=np.float64)  # exact: 48 bits of 53
        self.bins += np.bincount(bins, minlength=_BINS)
        self.bin_squares += np.bincount(bins, squares, _BINS)
        nonzero = sizes != 0  # Gradients may hold many zeros: picking them out would take long.
        self.zeros += len(sizes) - np.count_nonzero(nonzero)
        self._each(sizes[_UNDECIDED[bins] & nonzero])

    def _each(self, values):
        sizes = np.abs(values) if values.dtype.kind == "f" else _whole_sizes(values)
        self.zeros += len(sizes) - np.count_nonzero(sizes)
        self.nans += np.count_nonzero(np.isnan(sizes))
        self.infinities += np.count_nonzero(np.isinf(sizes))
        half, exponent = np.frexp(sizes[(sizes > 0) & (sizes < np.inf)])
        if not len(half):
            return
        first = exponent.min()
        significand, row = 2 * half.astype(np.float64), exponent - first
        squares = np.bincount(row, significand * significand)
        cells = np.bincount(row * _PLACES + _place(significand), minlength=len(squares) * _PLACES)
        rows = slice(first - 1 - LOWEST, first - 1 - LOWEST + len(squares))
        self.places[rows] += cells.reshape(-1, _PLACES)
        self.squares[rows] += squares

    def rows(self) -> dict:
        """What was counted, from the first octave that holds a value to the last.

        Returns:
            The attributes of `gradients.OctaveHistogram`, by name.
        """
        sure, exponent = ~_UNDECIDED, _EXPONENT[~_UNDECIDED] - 127
        places, squares = self.places.copy(), self.squares.copy()
        np.add.at(places, (exponent - LOWEST, _BIN_PLACE[sure]), self.bins[sure])
        np.add.at(squares, exponent - LOWEST, self.bin_squares[sure] * 4.0**-exponent)
        held = np.flatnonzero(places.any(axis=1))
        first, end = (held[0], held[-1] + 1) if len(held) else (-LOWEST, -LOWEST)
        reached = places[first:end, ::-1].cumsum(axis=1)[:, ::-1]  # this place or a later one
        return dict(
            zeros=int(self.zeros),
            nans=int(self.nans),
            infinities=int(self.infinities),
            first=int(first) + LOWEST,
            counts=reached[:, 0].copy(),
            squares=squares[first:end].copy(),
            powers=places[first:end, 0].copy(),
            above=reached[:, 2:].copy(),
        )


def arrays(values):
    """Every array in a nested list, with the dtype to read it as.

    Raises:
        TypeError, ValueError: as `gradients.OctaveHistogram.from_values`.

    Example: `[dtype for array, dtype in arrays([1, 2.0])]`
    """
    if type(values) in (int, float):
        values = [values]
    if not isinstance(values, list | tuple):
        yield _array(values)
        return
    yield np.array([v for v in values if type(v) is float]), np.float64
    try:
        yield np.array([abs(v) for v in values if type(v) is int], np.uint64), np.uint64
    except OverflowError:
        raise ValueError(
            "The list holds an integer of more than 64 bits: give it as a float, such as 2.0**70."
        ) from None
    for value in values:
        if value is not None and type(value) not in (int, float):
            yield from arrays(value)


def _array(value):
    name = type(value).__name__
    try:
        array = np.asarray(value.values if name == "IndexedSlices" else value)
    except Exception:  # Whatever a tensor raises that has no value yet.
        raise TypeError(
            f"A value of type {name} cannot be read as an array: give one that holds numbers, and "
            "call this outside of tf.function and jax.jit."
        ) from None
    kind = array.dtype
    read = next((dtype for dtype in _READ if np.can_cast(kind, dtype)), None)
    if read is None or kind.kind == "b":
        said = f"A value of type {name}" if kind.kind == "O" else f"An array of type {kind}"
        raise TypeError(
            f"{said} has no octaves: give integers or floats of up to 64 bits, as an array, a "
            "tensor or a list of these."
        )
    return array, read


def _whole_sizes(values):
    """Sizes of 64-bit integers as float64, on the same side of every threshold as the integers."""
    sizes = np.abs(values).view(np.uint64)  # The most negative one stays, and is right unsigned.
    rest = sizes & 0x7FF
    odd = (sizes - rest) | ((rest > 0).astype(np.uint64) << 11)  # float64 would round, even to 2^n.
    return np.where(sizes >> 53 > 0, odd, sizes).astype(np.float64)
