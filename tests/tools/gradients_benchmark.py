"""Times the octave histogram and 40 scales against one float16 cast whose results are counted.

    .venv/bin/python tests/tools/gradients_benchmark.py [--values 1e8] [--repeats 3]

Both take turns, so that a slow spell of the machine meets both; the medians are compared. The
cast's cost depends on the values: NumPy is slow where results are subnormal or zero.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from course_utils.gradients import OctaveHistogram  # noqa: E402
from course_utils.octaves import CHUNK  # noqa: E402

SCALES = range(40)


def gradients(count: int) -> np.ndarray:
    """Float32 with log-normal sizes around 6e-6, random signs and a tenth of zeros."""
    generator = np.random.default_rng(0)
    values = generator.standard_normal(count, np.float32)
    for start in range(0, count, CHUNK):
        part = values[start : start + CHUNK]
        np.exp(4 * part - 12, out=part)
        part *= generator.choice(np.array([-1, 1], np.float32), part.size)
        part[generator.random(part.size) < 0.1] = 0
    return values


def cast_and_count(values: np.ndarray) -> tuple:
    """The counts of `Survival` at scale 1 the plain way, a part at a time to stay in the cache."""
    counts = np.zeros(6, np.int64)
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, values.size, CHUNK):
            part = values[start : start + CHUNK]
            sizes = part.astype(np.float16).view(np.uint16) & 0x7FFF
            zero = part.size - np.count_nonzero(part)
            gone = part.size - np.count_nonzero(sizes)
            small = np.count_nonzero(sizes < 0x0400)
            large = np.count_nonzero(sizes >= 0x7C00)
            bad = part.size - np.count_nonzero(np.isfinite(part))
            normal = part.size - small - large
            counts += (zero, gone - zero, small - gone, normal, large - bad, bad)
    return tuple(counts.tolist())


def histogram_and_scales(values: np.ndarray) -> tuple:
    """The same counts at scale 1, after the histogram and every scale."""
    histogram = OctaveHistogram.from_values(values)
    found = [histogram.survival("float16", scale) for scale in SCALES]
    return tuple(vars(found[0]).values())[:6]


def seconds(function, values) -> tuple[float, tuple]:
    start = time.perf_counter()
    result = function(values)
    return time.perf_counter() - start, result


def main(count: int, repeats: int) -> int:
    values = gradients(count)
    times = {cast_and_count: [], histogram_and_scales: []}
    for _ in range(repeats):
        results = []
        for function, taken in times.items():
            duration, result = seconds(function, values)
            taken.append(duration)
            results.append(result)
        if results[0] != results[1]:
            print(f"The counts differ: {results[0]} by casting, {results[1]} by octaves.")
            return 1
    cast, octaves = (statistics.median(taken) for taken in times.values())
    print(f"{count:,} values; zero, rounded to zero, subnormal, normal, overflow, nonfinite:")
    print(f"  {results[0]}, the same both ways")
    print(f"one float16 cast, counted:      {cast:.2f} s")
    print(f"histogram and {len(SCALES)} scales:       {octaves:.2f} s")
    print(f"ratio:                          {octaves / cast:.2f} (at most 0.5 is asked)")
    return 0 if octaves <= cast / 2 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--values", type=float, default=1e8, help="how many (default: 1e8)")
    parser.add_argument("--repeats", type=int, default=3, help="of each (default: 3)")
    arguments = parser.parse_args()
    sys.exit(main(int(arguments.values), arguments.repeats))
