"""GradientLife: one gradient on its way through a training step, and what mistakes do
to it.
"""

import numpy as np

from course_utils.explorers import fragment
from course_utils.explorers.scalescope import parameters

MISTAKES = {
    "forgotten": "scaling forgotten",
    "twice": "unscaled twice",
    "never": "never divided",
    "early": "clipped too early",
    "unchecked": "fixed, unchecked",
}
SIZE = -20  # the exponent of 2 to begin with
RATE, SLOW, EPSILON = map(np.float32, (0.1, 0.001, 1e-7))
RULES = {"SGD": lambda v: RATE * v, "Adam": lambda v: SLOW * v / (v + EPSILON)}


def travel(gradient, scale, mistakes=(), rule="SGD"):
    """A positive gradient at each station of a training step: [(station, value), ...].

    `mistakes` are keys of `MISTAKES`. Values are float32, in the backward pass float16,
    and None where the step is skipped. Adam's step is the one after many equal
    gradients.

    Example:
        >>> [f"{name} {v:.2g}" for name, v in travel(2.0**-26, 2.0**15)][::2]
        ['gradient 1.5e-08', 'backward 0.00049', '÷ S 1.5e-08', 'step 1.5e-09']
    """
    first, scale = np.float32(gradient), np.float32(scale)
    with np.errstate(all="ignore"):
        scaled = first if "forgotten" in mistakes else first * scale
        half = np.float16(scaled)
        v = np.float32(half)
        way = [("gradient", first), ("× S", scaled), ("backward", half), ("weight", v)]
        stations = ("limit 1", "÷ S") if "early" in mistakes else ("÷ S", "limit 1")
        for station in stations:
            if station == "÷ S" and not np.isfinite(v) and "unchecked" not in mistakes:
                v = None
            elif station == "÷ S":
                v = v if "never" in mistakes else v / scale
                v = v / scale if "twice" in mistakes else v
            elif v is not None:
                v = (
                    np.minimum(v, np.float32(1))
                    if np.isfinite(v)
                    else np.float32("nan")
                )
            way.append((station, v))
        return [*way, ("step", None if v is None else RULES[rule](v))]


class GradientLife:
    """An interactive figure: one gradient from the loss to its weight; switch mistakes
    on.

    Example: `GradientLife()`.
    """

    def _repr_mimebundle_(self, include=None, exclude=None):
        gradient = 1.3 * 2.0**SIZE
        title = (
            f"GradientLife: {gradient:.3g} on its way at the loss scale 2^15, with SGD"
        )
        heads = ["loop", "× S", "backward", "÷ S", "limit 1", "step"]
        rows = []
        for name, text in {"": "a right loop", **MISTAKES}.items():
            found = dict(travel(gradient, 2.0**15, (name,)))
            values = (found[head] for head in heads[1:])
            rows.append([text, *("none" if v is None else f"{v:.3g}" for v in values)])
        data = {"limits": parameters("float16"), "mistakes": MISTAKES, "size": SIZE}
        return fragment.bundle("gradientlife", title, heads, rows, data)
