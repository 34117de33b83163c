"""TradeOff: networks by size, accuracy and latency, and what a limit leaves of them."""

import math

from course_utils.explorers import fragment

COLUMNS = {
    "file_kb": "file, kB",
    "packed_kb": "packed, kB",
    "accuracy": "right, %",
    "ms": "ms",
}


TIE = 0.01  # sizes that differ by a smaller share are the same


def front(points, size="file_kb", error=0.0):
    """The names of those points that no other one beats, the smallest first.

    A point beats another one that is larger or less accurate, if it is no worse in the
    other respect. Accuracies that differ by at most `error`, 0 to 1, and sizes that
    differ by at most `TIE` of the smaller are ties.

    Example:
        >>> point = lambda name, kb, accuracy: {"name": name, "file_kb": kb, "accuracy": accuracy}
        >>> points = [point("a", 9, 0.9), point("b", 4, 0.8), point("c", 5, 0.81)]
        >>> front(points), front(points, error=0.02)
        (['b', 'c', 'a'], ['b', 'a'])
        >>> front([point("a", 4, 0.8), point("b", 4.03, 0.8), point("c", 4.05, 0.8)])
        ['a', 'b']
    """

    def beats(one, other):
        """The same comparison, in the same order, stands in tradeoff.mjs."""
        smaller = other[size] > one[size] * (1 + TIE)
        larger = one[size] > other[size] * (1 + TIE)
        better = one["accuracy"] - other["accuracy"] > error
        worse = other["accuracy"] - one["accuracy"] > error
        return (smaller or better) and not (larger or worse)

    best = [p for p in points if not any(beats(other, p) for other in points)]
    return [p["name"] for p in sorted(best, key=lambda p: (p[size], -p["accuracy"]))]


class TradeOff:
    """An interactive figure: set a limit in kB or ms, and see which networks remain.

    Args:
        points: dicts with name, file_kb, packed_kb (after gzip), accuracy (0 to 1) and ms. The name
            tells the look: "pruned", and "float32", "bfloat16", "float16", "dynamic" or "int8".
        error: the standard error of an accuracy, 0 to 1, drawn below the best one. What
            differs by less is a tie.

    Raises ValueError where there is no point, or a number of one is not finite and
    above zero.
    """

    def __init__(self, points, error=0.0):
        self.points = list(points)
        self.error = float(error)
        if not self.points or any(
            not 0 < p[key] < math.inf for p in self.points for key in COLUMNS
        ):
            raise ValueError(
                "Give one point at least, its sizes, accuracy and ms above zero."
            )

    def _repr_mimebundle_(self, include=None, exclude=None):
        title = "TradeOff: networks by the size of their file; * no other one beats it, ties aside"
        best = front(self.points, error=self.error)
        rows = []
        for point in sorted(self.points, key=lambda one: one["file_kb"]):
            name = f"{point['name']}{' *' * (point['name'] in best)}"
            shown = {**point, "accuracy": 100 * point["accuracy"]}
            rows.append([name, *(f"{shown[key]:.3g}" for key in COLUMNS)])
        heads = ["network", *COLUMNS.values()]
        data = {"points": self.points, "error": self.error}
        return fragment.bundle("tradeoff", title, heads, rows, data)
