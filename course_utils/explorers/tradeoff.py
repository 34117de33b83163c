"""TradeOff: networks by size, accuracy and latency, and what a limit leaves of them."""

import math

from course_utils.explorers import fragment

COLUMNS = {
    "file_kb": "file, kB",
    "packed_kb": "packed, kB",
    "accuracy": "right, %",
    "ms": "ms",
}


def front(points, size="file_kb"):
    """The names of those points that no other one beats in size and in accuracy.

    Example:
        >>> point = lambda name, kb, accuracy: {"name": name, "file_kb": kb, "accuracy": accuracy}
        >>> front([point("a", 9, 0.9), point("b", 4, 0.8), point("c", 5, 0.7)])
        ['b', 'a']
    """
    found = []
    best = -math.inf
    for point in sorted(points, key=lambda one: (one[size], -one["accuracy"])):
        if point["accuracy"] > best:
            best = point["accuracy"]
            found.append(point["name"])
    return found


class TradeOff:
    """An interactive figure: set a limit in kB or ms, and see which networks remain.

    Args:
        points: dicts with name, file_kb, packed_kb (after gzip), accuracy (0 to 1) and ms. The name
            tells the look: "pruned", and "float32", "bfloat16", "float16", "dynamic" or "int8".
        error: the standard error of an accuracy, 0 to 1, drawn below the best one.

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
        title = "TradeOff: networks by the size of their file; * on the front of size and accuracy"
        best = front(self.points)
        rows = []
        for point in sorted(self.points, key=lambda one: one["file_kb"]):
            name = f"{point['name']}{' *' * (point['name'] in best)}"
            shown = {**point, "accuracy": 100 * point["accuracy"]}
            rows.append([name, *(f"{shown[key]:.3g}" for key in COLUMNS)])
        heads = ["network", *COLUMNS.values()]
        data = {"points": self.points, "error": self.error}
        return fragment.bundle("tradeoff", title, heads, rows, data)
