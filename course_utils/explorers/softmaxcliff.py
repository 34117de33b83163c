"""SoftmaxCliff: what a confident mistake teaches through a softmax, at every loss
scale.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from course_utils.explorers import fragment

POLICIES = {
    "float32": "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
}
# gaps from 0 to 20
STEP = 0.1
COUNT = 201
SHARES = range(-8, 25)  # log2 of scale over batch: scales 1 to 2**24, batches 1 to 256


class SoftmaxCliff:
    """An interactive figure: drag the loss scale, and see where the gradient breaks.

    Args:
        gradients: a function of a policy's name, an array of logit gaps and a loss scale, that
            measures the gradient which one wrong sample gives its first logit, divided by the
            scale. It is called for three policies and all powers of two from 2**-8 to 2**24.
        gaps: of the samples of a batch, to be drawn on the lines; a negative one is of a sample
            whose right class has the largest logit.

    Example: `SoftmaxCliff(gradients, gaps)`
    """

    def __init__(
        self, gradients: Callable[[str, np.ndarray, float], np.ndarray], gaps: ArrayLike
    ):
        self.samples = np.sort(np.round(np.asarray(gaps, dtype=float), 1))
        if not np.isfinite(self.samples).all():
            raise ValueError(
                "A gap of the batch is not finite: give finite logit gaps."
            )
        axis = np.arange(COUNT, dtype="float32") * np.float32(STEP)
        self.curves = {}
        for dtype, policy in POLICIES.items():
            sizes = np.abs([gradients(policy, axis, 2.0**share) for share in SHARES])
            # a scale changes how many are finite, and none of those
            self.curves[dtype] = {
                "values": np.round(sizes[0].astype(float), 3).tolist(),
                "broken": [_ends(~np.isfinite(row)) for row in sizes],
            }

    @staticmethod
    def gaps_of(logits: ArrayLike, labels: ArrayLike) -> np.ndarray:
        """How far the wrong classes lie above the right one: (n, k), (n,) → (n,).

        It is ln((1 - p) / p) of the right class's probability p.

        >>> SoftmaxCliff.gaps_of([[5.0, 0.0], [0.0, 5.0]], [1, 1]).tolist()
        [5.0, -5.0]
        """
        logits = np.asarray(logits).astype("float32")
        is_right = np.asarray(labels)[:, None] == np.arange(logits.shape[1])
        wrong = np.where(is_right, -np.inf, logits)
        return np.logaddexp.reduce(wrong, axis=1) - logits[is_right]

    def _repr_mimebundle_(self, **selection):
        title = "SoftmaxCliff: at which logit gaps a wrong sample has which gradient"
        heads = ["loss scale, batch of 32", *POLICIES]
        rows = [[f"2^{s} = {2**s:,}", *(self.outcome(d, s - 5) for d in POLICIES)]
                for s in range(0, 21, 5)]  # fmt: skip
        counts = [f"{self.zero_count(dtype)} teach nothing" for dtype in POLICIES]
        rows.append([f"of {self.samples.size} samples", *counts])
        data = {
            "step": STEP,
            "first": SHARES[0],
            "curves": self.curves,
            "samples": self.samples.tolist(),
        }
        return fragment.bundle("softmaxcliff", title, heads, rows, data)

    def outcome(self, dtype: str, share: int) -> str:
        """What becomes of a dtype's gradients, `share` being log2 of scale over batch."""
        values = self.curves[dtype]["values"]
        broken = self.curves[dtype]["broken"][share - SHARES[0]]
        parts = [f"not finite from {broken[0] * STEP:.1f}"] if broken else []
        parts += [f"zero from {values.index(0) * STEP:.1f}"] if 0 in values else []
        return ", ".join(parts) or "right at every gap"

    def zero_count(self, dtype: str) -> int:
        """How many samples of the batch have the gradient zero in a dtype."""
        places = np.clip(np.rint(self.samples / STEP), 0, COUNT - 1).astype(int)
        return int((np.array(self.curves[dtype]["values"])[places] == 0).sum())


def _ends(mask):
    """Where the places that are marked begin, and behind the last; None without any."""
    places = np.flatnonzero(mask).tolist()
    return [places[0], places[-1] + 1] if places else None
