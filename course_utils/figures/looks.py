"""What a dtype, or the policy named after it, looks like everywhere: color, hatch,
marker, line.
"""

import re
from collections.abc import Iterable

COLORS = {
    "float32": "#0072B2",
    "bfloat16": "#D55E00",
    "float16": "#009E73",
    "tf32": "#56B4E9",
}
SCALE = "#CC79A7"  # of the loss scale S
YOU = "#56B4E9"  # of what the reader guessed, drew or wrote
HATCHES = {"float32": "", "bfloat16": "//", "float16": ".."}
MARKERS = {"float32": "o", "bfloat16": "s", "float16": "^", "tf32": "D"}
LINES = {"float32": "-", "tf32": "-.", "bfloat16": "--", "float16": ":"}

EDGE: dict = {"edgecolor": "#333", "linewidth": 0.5}  # of bars


def dtype_of(policy: str) -> str:
    """The dtype whose color a label wears that names one: of "mixed_bfloat16, frozen" it
    is "bfloat16"; without one it is the label itself.
    """
    name = re.search(r"b?float16|float32|tf32", policy)
    return name[0] if name else policy


def line_look(policy: str) -> dict:
    """Color, marker and line of a policy or dtype."""
    dtype = dtype_of(policy)
    return {"color": COLORS[dtype], "marker": MARKERS[dtype], "linestyle": LINES[dtype]}


def filled(color: str, hatch: str = "") -> dict:
    """Color, hatch and border of bars."""
    return {"facecolor": color, "hatch": hatch, **EDGE}


def bar_look(policy: str) -> dict:
    """Color, hatch and border of the bars of one policy or dtype."""
    dtype = dtype_of(policy)
    return filled(COLORS[dtype], HATCHES[dtype])


def bar_looks(policies: Iterable[str]) -> dict:
    """Colors, hatches and border of bars, each of a policy of its own."""
    dtypes = [dtype_of(policy) for policy in policies]
    colors = [COLORS[dtype] for dtype in dtypes]
    return {"color": colors, "hatch": [HATCHES[dtype] for dtype in dtypes], **EDGE}
