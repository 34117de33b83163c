"""How much faster one way is than another, from measurements that took turns."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

SAME = 0.1  # an interval of ratios that is wider than this on a side tells nothing


class Ratio(NamedTuple):
    """The median of paired ratios, and an interval that covers their noise with 95 %."""

    median: float
    low: float
    high: float

    def verdict(self, a: str, b: str) -> str:
        """What the ratio of a's speed to b's says: `a`, `b`, "the same within x %" or
        "cannot tell".

        Where the interval leaves out 1, the faster one has a name. Where it holds 1, the
        two are the same within its far end, unless that is more than 10 % away.

        Example:
            >>> [Ratio(*r).verdict("a", "b") for r in ((2, 1.9, 2.1), (0.5, 0.4, 0.6))]
            ['a', 'b']
            >>> [Ratio(1, 0.98, high).verdict("a", "b") for high in (1.03, 1.5)]
            ['the same within 3 %', 'cannot tell']
        """
        if self.low > 1 or self.high < 1:
            return a if self.low > 1 else b
        far = max(self.high, 1 / self.low) - 1
        # NaN, of fewer than six pairs, is no number that is small enough
        return f"the same within {100 * far:.0f} %" if far <= SAME else "cannot tell"


def paired(seconds: ArrayLike, others: ArrayLike) -> Ratio:
    """How many times as fast as `others` something is, measured in turns with it.

    `seconds` and `others` are arrays of shape (n,), in the same unit; what stands at one
    place was measured in one round, so that a slow minute of the machine hits both and
    leaves their ratio. The interval comes from the order of the ratios (SciPy's
    `quantile_test`) and supposes no distribution; below six pairs it is NaN. Pairs with
    NaN are left out.

    Example:
        >>> ratio = paired([1.0] * 7, [1.9, 2.0, 2.0, 2.0, 2.0, 2.1, 2.2])
        >>> ratio.median, ratio.low, ratio.high
        (2.0, 1.9, 2.2)
    """
    from scipy import stats  # late: it takes a second

    ratios = np.asarray(others, float) / np.asarray(seconds, float)
    ratios = ratios[np.isfinite(ratios)]
    if not len(ratios):
        return Ratio(np.nan, np.nan, np.nan)
    test = stats.quantile_test(ratios, q=1, p=0.5)
    interval = test.confidence_interval(0.95)
    median = float(np.median(ratios))
    return Ratio(median, float(interval.low), float(interval.high))
