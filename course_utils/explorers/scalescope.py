"""ScaleScope: what a format keeps of gradients, and what a loss scale changes about it."""

import math
from dataclasses import astuple
from html import escape

from course_utils import formats as numbers
from course_utils import gradients as counting
from course_utils.explorers import fragment
from course_utils.numerals import quoted

TABS = ("gradients", "controller")
LONGEST_GROWTH = 100  # steps
TABLE_SCALES = (0, 3, 7, 9, 10, 15)
HEADS = [
    "loss scale",
    "already zero",
    "rounded to zero",
    "subnormal",
    "normal",
    "overflow",
    "share of ‖g‖² lost",
]
DIGITS = 7  # of the sums of squares in the fragment: they only make shares


class ScaleScope:
    """An interactive figure: slide gradients along a format's number line, and see what survives.

    Show it as the last line of a cell. Without JavaScript, and in a notebook that is not trusted,
    a table shows the same numbers at some scales.

    Args:
        gradients: an array, a list of arrays, a `gradients.OctaveHistogram`, or a dict of those
            by layer, in the order to show them.
        growth_steps: after how many finite steps the controller doubles its scale, 1 to 100.
        tab: what to show first, "gradients" or "controller": dynamic loss scaling, step by step.

    Raises:
        ValueError, TypeError: with one sentence that says what is accepted.

    Example: `ScaleScope({"conv": tape_gradients[0], "dense": tape_gradients[2]})`
    """

    def __init__(self, gradients, growth_steps=20, tab="gradients"):
        if growth_steps not in range(1, LONGEST_GROWTH + 1):
            shown = quoted(str(growth_steps))
            raise ValueError(
                f"growth_steps is {shown}: give a whole number from 1 to {LONGEST_GROWTH}."
            )
        if tab not in TABS:
            shown = quoted(str(tab))
            raise ValueError(f"There is no tab {shown}: choose one of {', '.join(TABS)}.")
        self.growth_steps = int(growth_steps)
        self.tab = tab
        self.layers = _layers(gradients)
        self.whole = sum(self.layers.values(), counting.OctaveHistogram.from_values([]))

    def _repr_mimebundle_(self, include=None, exclude=None):
        title = f"ScaleScope: {self.whole.total:,} gradients in float16"
        bad = self.whole.nans + self.whole.infinities
        if bad:
            title += f", of which {bad:,} NaN or infinite"
        rows = []
        for scale in TABLE_SCALES:
            *counts, _, lost = astuple(self.whole.survival("float16", scale))
            shares = [*(count / (self.whole.total or 1) for count in counts), lost]
            rows.append([f"2^{scale} = {2**scale}", *map(percent, shares)])
        cells = [[head, *(fragment.cell(escape(text)) for text in texts)] for head, *texts in rows]
        table = fragment.html_table(title, HEADS, cells)
        html = fragment.assemble("scalescope", table, self._data())
        return {"text/html": html, "text/plain": fragment.plain_table(title, [HEADS, *rows])}

    def _data(self):
        return {
            "growth": self.growth_steps,
            "tab": self.tab,
            "formats": [_parameters(name) for name in numbers.FORMATS],
            "layers": [_plain(name, layer) for name, layer in self.layers.items()],
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


def _layers(given):
    """Name of the layer -> its histogram."""
    if not isinstance(given, dict):
        return {"all": _histogram(given)}
    if not given:
        raise ValueError("The dict holds no layer: give a name and its gradients.")
    return {str(name): _histogram(values) for name, values in given.items()}


def _histogram(values):
    counted = isinstance(values, counting.OctaveHistogram)
    return values if counted else counting.OctaveHistogram.from_values(values)


def _parameters(name):
    """What the app needs to know about a format."""
    return {
        "name": name,
        "precision": numbers.facts(name)["fraction_bits"] + 1,
        "overflow_is": numbers.encode("inf", name).kind,
        **counting.limits(name),
    }


def _plain(name, layer):
    """A histogram for JSON, as short as may be."""
    data = {key: value for key, value in layer.as_data().items() if key != "errors"}
    squares = [float(f"{value:.{DIGITS}g}") for value in data["squares"]]
    above = [[count for count in row if count] for row in data["above"]]  # zeros come last in a row
    return {"name": name, "total": layer.total, **data, "squares": squares, "above": above}
