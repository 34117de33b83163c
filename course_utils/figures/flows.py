"""Which dtype flows where in a model."""

import math
import re
import textwrap

from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle
from matplotlib.ticker import EngFormatter

from course_utils.figures.base import INK, Picture, canvas, legend, listed
from course_utils.figures.looks import COLORS, EDGE, HATCHES
from course_utils.figures.words import described

PER_ROW = 4
# In inches: a layer with half a pipe on either side; its box; the box of its weights
# and the pipe from there; how thick a pipe is; the piece of pipe that each row begins
# with.
CELL = (2.0, 1.66)
BOX = (1.14, 0.76)
WEIGHTS = (0.5, 0.14)
RISE = 0.3
PIPE = 0.13
STUB = 0.55
WIDE = 15  # characters in a line of a box
NARROW = ("float16", "bfloat16")
FULL: dict = {"marker": "D", "color": INK, "linestyle": "none"}
HOLLOW: dict = FULL | {"markerfacecolor": "none", "markeredgewidth": 2}
RING: dict = HOLLOW | {"marker": "o"}
BYTES = EngFormatter("B")  # 4100 is "4.1 kB"


def dtype_flow(flow) -> Picture:
    """A model as boxes and pipes: pipes in the color of what flows, weights in their
    own.

    A pipe brings each layer what arrives and takes on what leaves; another brings what
    it reads of its weights. A full diamond is a cast by a layer; a hollow one a change
    between layers, by an operation or by a model of your own. Beside it are the bytes
    that it reads and writes. A ring marks a leak: a layer that computes in 16 bits and
    hands on float32. Layers come in the order of their calls; branches are not drawn.

    `flow`: the table of `precision.dtype_flow`; 3 to 20 layers read well. Raises a
    ValueError if the model calls no layer.
    """
    cells = list(flow[flow.input_dtype != ""].itertuples())
    if not cells:
        raise ValueError(
            "The flow has no layer that is called: give the flow of another model."
        )
    start = flow.attrs["input_dtype"]
    leaks = [c.layer for c in cells if c.compute_dtype in NARROW and leaks_out(c)]
    # what leaves the layer before
    before = [start, *(cell.output_dtype for cell in cells[:-1])]
    lines = math.ceil(len(cells) / PER_ROW)
    columns = math.ceil(len(cells) / lines)
    width = max(5.0, STUB + columns * CELL[0])
    figure, ax = canvas(width, height=lines * CELL[1] + 0.9)
    ax.set(
        xlim=(-STUB, columns * CELL[0] + 0.1),
        ylim=(-lines * CELL[1], 0),
        aspect="equal",
    )
    ax.set_axis_off()
    for number, cell in enumerate(cells):
        line, column = divmod(number, columns)
        x = column * CELL[0]
        y = -line * CELL[1] - 0.6
        following = cells[number + 1 :][:1]
        ends = column == columns - 1 or not following
        place = x + (CELL[0] + BOX[0]) / 2
        _pipes(ax, x, y, cell, before[number], column == 0)
        if not number:
            border = sum(flow.attrs["borders"].values())
            _moved(ax, x - 0.12, y - 0.12, border, ha="right")
        if cell.layer in leaks:
            ax.plot(place + 0.17, y, markersize=22, **RING)
            _write(
                ax, place + 0.03, y - 0.3, "leak", ha="left", va="top", weight="bold"
            )
        if ends or following[0].input_dtype != cell.output_dtype:
            text = {"ha": "left", "va": "bottom"}
            _write(ax, place + 0.03, y + 0.09, cell.output_dtype, **text)
        if ends:
            ax.plot(x + CELL[0] + 0.04, y, ">", color=INK, markersize=8, clip_on=False)
        _layer(ax, x + CELL[0] / 2, y, cell)
    changes = [(c, b) for c, b in zip(cells, before, strict=True) if b != c.input_dtype]
    pipes = _distinct(
        [start, *(d for c in cells for d in (c.input_dtype, c.output_dtype))]
    )
    weights = _distinct(cell.variable_dtype for cell in cells if cell.parameters)
    casts = any(
        cell.cast or cell.inside_moved or cell.variable_dtype != cell.read_dtype
        for cell in cells
    )
    _signs(ax, _distinct([*pipes, *weights]), casts, bool(changes), bool(leaks))
    low = sum(cell.output_dtype in NARROW for cell in cells)
    heading = f"{low} of {len(cells)} layers hand on 16 bits"
    if leaks:
        heading = f"{listed(leaks)}: its policy says 16 bits, and it hands on float32"
    mixed = weights == ["float32"] and {*NARROW} & set(pipes)
    held = "there are no weights"
    if weights:
        held = f"weights {'stay' if mixed else 'are'} {listed(weights)}"
    moved = total_moved(flow)
    told = "nothing is cast"
    if moved:
        batch = flow.attrs["batch_size"]
        told = f"casts move {_bytes(moved)} in a forward pass of {batch}"
    ax.set_title(f"{heading}\n{held}; {told}", fontsize=11)
    return described(figure, _in_words(cells, changes))


def leaks_out(cell):
    """Whether float32 leaves a layer."""
    return "float32" in cell.output_dtype.split(", ")


def total_moved(flow) -> int:
    """Bytes that all casts of a table of `precision.dtype_flow` read and write."""
    columns = ("input_moved", "weight_moved", "inside_moved")
    return int(sum(flow[name].sum() for name in columns)) + sum(
        flow.attrs["borders"].values()
    )


def _moved(ax, x, y, count, **options):
    if count:
        _write(ax, x, y, _bytes(count), va="top", **options)


def _bytes(count):
    return BYTES(float(f"{count:.3g}"))


def _pipes(ax, x, y, cell, before, first):
    """The pipe into a layer and the one out of it, with diamonds where the dtype
    changes.
    """
    left = x + (CELL[0] - BOX[0]) / 2
    right = x + (CELL[0] + BOX[0]) / 2
    cast = left - 0.2 if cell.cast else left
    if first:
        _pipe(ax, x - STUB, x, y, before)
    _pipe(ax, x, cast, y, cell.input_dtype)
    _pipe(ax, cast, left, y, cell.compute_dtype)
    _pipe(ax, right, x + CELL[0], y, cell.output_dtype)
    if cell.cast:
        ax.plot(cast, y, markersize=9, **FULL)
        _moved(ax, cast + 0.1, y - 0.12, cell.input_moved, ha="right")
    if before != cell.input_dtype:
        ax.plot(x, y, markersize=9, **HOLLOW)
        if first:
            _write(ax, x - STUB, y + 0.09, before, ha="left", va="bottom")
    # A pipe with one dtype is labeled in its middle, else each half by itself.
    one = before == cell.input_dtype
    at = x if one else left - 0.03
    side = "center" if one else "right"
    _write(ax, at, y + 0.09, cell.input_dtype, ha=side, va="bottom")


def _pipe(ax, start, end, y, dtypes):
    """A piece of pipe, with a lane for each dtype of "float16, float32"."""
    names = dtypes.split(", ")
    for lane, dtype in enumerate(names):
        corner = (start, y + PIPE / 2 - (lane + 1) * PIPE / len(names))
        ax.add_patch(Rectangle(corner, end - start, PIPE / len(names), **_lane(dtype)))


def _layer(ax, x, y, cell):
    """A layer's box around (x, y), and below it the box of its weights."""
    low = y - BOX[1] / 2
    style = {
        "boxstyle": "round,pad=0,rounding_size=0.06",
        "facecolor": "none",
        "edgecolor": INK,
    }
    ax.add_patch(FancyBboxPatch((x - BOX[0] / 2, low), *BOX, linewidth=1.2, **style))
    _write(ax, x, y, _name(cell), va="center")
    if cell.parameters:
        middle = low - RISE / 2
        corner = (x - WEIGHTS[0] / 2, low - RISE - WEIGHTS[1])
        for start, dtype in (
            (middle, cell.read_dtype),
            (low - RISE, cell.variable_dtype),
        ):
            ax.add_patch(
                Rectangle((x - PIPE / 2, start), PIPE, RISE / 2, **_lane(dtype))
            )
        if cell.read_dtype != cell.variable_dtype:
            ax.plot(x, middle, markersize=9, **FULL)
            _moved(ax, x + 0.13, middle + 0.07, cell.weight_moved, ha="left")
        ax.add_patch(Rectangle(corner, *WEIGHTS, **_style(cell.variable_dtype)))
        text = f"{cell.variable_dtype}, {_bytes(cell.weight_bytes)}"
        _write(ax, x, corner[1] - 0.03, text, va="top")


def _lane(dtype):
    return _style(dtype) | {"linewidth": 0}  # no seams between pieces of one dtype


def _style(dtype):
    """Color and hatch of a dtype; integers and the like are gray and crossed."""
    color, hatch = COLORS.get(dtype, "#999999"), HATCHES.get(dtype, "xx")
    return {"facecolor": color, "hatch": 2 * hatch, **EDGE}


def _write(ax, x, y, text, ha="center", **options):
    lines = text.replace(", float", "\nfloat")
    ax.text(x, y, lines, ha=ha, fontsize=9, **options)


def _name(cell):
    """The path in lines that fit the box, and the class where the name does not tell
    it.
    """
    *outer, name = cell.layer.split("/")
    lines = [f"{outer[-1]}/"] if outer else []
    lines += textwrap.wrap(re.sub("_(?=.)", "_ ", name), WIDE)
    if not name.replace("_", "").startswith(cell.kind.lower()):
        lines += textwrap.wrap(
            re.sub("(?<=[a-z])(?=[A-Z])", " ", f"({cell.kind})"), WIDE
        )
    lines = [line.replace("_ ", "_") for line in lines[:3]]
    lines += [f"◆ {_bytes(cell.inside_moved)}"] * bool(cell.inside_moved)
    return "\n".join(lines)


def _signs(ax, dtypes, cast, changed, leak):
    signs = [Patch(label=dtype, **_style(dtype)) for dtype in dtypes]
    for is_there, label, look in (
        (cast, "cast, with the bytes it moves", FULL),
        (changed, "cast by the model, or a change between layers", HOLLOW),
        (leak, "leak", RING | {"markersize": 11}),
    ):
        if is_there:
            signs.append(Line2D([], [], label=label, **look))
    ncols = len(signs) if len(signs) < 4 else math.ceil(len(signs) / 2)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "ncols": ncols}
    legend(ax, handles=signs, fontsize=9, **place)


def _distinct(names):
    """The dtypes in "float16, float32" and the like, each one once, in order."""
    return list(
        dict.fromkeys(dtype for several in names for dtype in several.split(", "))
    )


def _in_words(cells, changes):
    """The casts: of what arrives, of weights, inside a layer, and between layers."""
    kinds = {
        "cast{}": [
            f"{c.layer} from {c.input_dtype} to {c.compute_dtype}"
            for c in cells
            if c.cast
        ],
        "cast{} of weights": [
            f"{c.layer} to {c.read_dtype}"
            for c in cells
            if c.read_dtype != c.variable_dtype
        ],
        "layer{} with casts inside": [c.layer for c in cells if c.inside_moved],
        "change{} between layers": [
            f"before {c.layer} from {dtype} to {c.input_dtype}" for c, dtype in changes
        ],
    }
    counts = {
        f"{len(items)} {kind.format('s' * (len(items) != 1))}": "; ".join(items)
        for kind, items in kinds.items()
    }
    return ". ".join(f"{count}: {items}" for count, items in counts.items() if items)
