"""ScaleScope: one gradient's bits and all gradients' error, while a loss scale moves
them.
"""

import math

from course_utils import formats as numbers
from course_utils import gradients as counting
from course_utils.explorers import fragment

FACTS = ("name", "bits", "exponent_bits", "fraction_bits", "bias", "has_infinity")
SCOPE_FORMATS = ("float16", "bfloat16", "float8_e5m2", "float8_e4m3fn")
LAST_SCALE = 48  # the right end of the slider, as an exponent
TABLE_SCALES = (0, 3, 9, 15, 24, 32)
RESULTS = ("rounded_to_zero", "subnormal", "normal", "overflow")
HEADS = [
    "loss scale", "relative error", *(name.replace("_", " ") for name in RESULTS)
]  # fmt: skip
COUNTERS = ("zeros", "nans", "infinities", "first", "counts", "powers")


class ScaleScope:
    """An interactive figure: drag the loss scale, and follow one gradient and the error
    of all.

    Shares are those of the nonzero gradients.

    Args:
        gradients: an array, a list of arrays, a `gradients.OctaveHistogram`, or a dict of those
            by layer, in the order to show them.

    Raises:
        ValueError, TypeError: with one sentence that says what is accepted.

    Example: `ScaleScope({"conv": tape_gradients[0], "dense": tape_gradients[2]})`
    """

    def __init__(self, gradients: object):
        self.layers = _layers(gradients)
        self.whole = sum(self.layers.values(), counting.OctaveHistogram.from_values([]))

    def _repr_mimebundle_(self, **selection):
        title = f"ScaleScope: {self.whole.total:,} gradients in float16, shares of the nonzero"
        bad = self.whole.nans + self.whole.infinities
        if bad:
            title += f", of which {bad:,} NaN or infinite"
        rows = []
        for scale in TABLE_SCALES:
            survival = self.whole.survival("float16", scale)
            counts = [getattr(survival, name) for name in RESULTS]
            error = error_text(in_percent(self.whole.relative_error("float16", scale)))
            shares = [percent(count / (sum(counts) or 1)) for count in counts]
            rows.append([f"2^{scale} = {2**scale}", error, *shares])
        return fragment.bundle("scalescope", title, HEADS, rows, self._data())

    def _data(self):
        layers = [*self.layers.items()]
        if len(layers) > 1:
            layers.insert(0, ("all layers", self.whole))
        return {
            "formats": [parameters(name) for name in SCOPE_FORMATS],
            "layers": [{"name": name} | _plain(layer) for name, layer in layers],
        }


def percent(share: float) -> str:
    """A share in percent, as words.mjs writes it: little is never 0, nor much 100.

    Example:
        >>> percent(0.5), percent(1e-9), percent(0.9999999)
        ('50 %', '<0.01 %', '>99.99 %')
    """
    value = share * 100
    if value <= 0:
        return "0 %"
    if value >= 100:
        return "100 %"
    if value < 0.01:
        return "<0.01 %"
    if value > 99.99:
        return ">99.99 %"
    grain = 100 if value < 1 or value >= 99 else 10
    return f"{math.floor(value * grain + 0.5) / grain:g} %"


def in_percent(error: float) -> float:
    """A relative error in percent, rounded to the two digits that are shown."""
    return float(f"{100 * error:.2g}")


def error_text(error: float) -> str:
    """An error in percent, as words.mjs writes it.

    Example:
        >>> error_text(in_percent(0.02837)), error_text(math.inf)
        ('2.8 %', '∞')
    """
    if error == math.inf:
        return "∞"
    return "<0.001 %" if 0 < error < 0.001 else f"{error:g} %"


def _layers(gradients):
    """Name of the layer -> its histogram."""
    layers = gradients if isinstance(gradients, dict) else {"all": gradients}
    if not layers:
        raise ValueError("The dict holds no layer: give a name and its gradients.")
    kind = counting.OctaveHistogram
    return {
        str(name): values if isinstance(values, kind) else kind.from_values(values)
        for name, values in layers.items()
    }


def parameters(name: str) -> dict:
    """What codec.mjs and the pictures need to know about a format."""
    facts = numbers.facts(name)
    nan = None if name == "float4_e2m1fn" else numbers.encode("nan", name).code
    return {
        **{key: facts[key] for key in FACTS},
        "largest_code": numbers.encode(facts["largest"], name).code,
        "nan_code": nan,
        **counting.limits(name),
    }


def _plain(layer):
    """A histogram for JSON, as short as may be."""
    data = layer.as_data()
    # zeros come last in a row
    above = [[count for count in row if count] for row in data["above"]]
    counters = {name: data[name] for name in COUNTERS}
    return counters | {"above": above, "errors": _errors(layer)}


def _errors(layer):
    """For each format the error at scales 2^0, 2^1, … until it is finite and stays the
    same.
    """
    by_format = {}
    for name in SCOPE_FORMATS:
        exact = (layer.relative_error(name, scale) for scale in range(LAST_SCALE + 1))
        errors = [in_percent(error) for error in exact if error < math.inf]
        while errors[1:] and errors[-1] == errors[-2]:
            errors.pop()
        by_format[name] = errors
    return by_format
