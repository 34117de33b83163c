"""Which dtype flows where in a model."""

import math
import re
import textwrap

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle
from matplotlib.ticker import EngFormatter

from course_utils.figures.base import INK, Picture, canvas, legend, listed, write
from course_utils.figures.looks import COLORS, HATCHES, filled
from course_utils.figures.words import described

PER_ROW = 4
# in inches
CELL = 2.0  # width of a layer with half a pipe on either side
LINE = 1.66  # its height
SIDE = 0.57  # half the width of its box
FOOT = 0.38  # half the height
WEIGHTS = (0.5, 0.14)  # the box of its weights
RISE = 0.3  # the pipe from there
PIPE = 0.13  # how thick a pipe is
STUB = 0.55  # the piece of pipe that each row begins with
CHARACTERS_PER_LINE = 15  # of the text in a box
NARROW = ("float16", "bfloat16")
FULL: dict = {"marker": "D", "color": INK, "linestyle": "none"}
HOLLOW: dict = FULL | {"markerfacecolor": "none", "markeredgewidth": 2}
RING: dict = HOLLOW | {"marker": "o"}
BYTES = EngFormatter("B")  # 4100 is "4.1 kB"


def draw_dtypes(flow: pd.DataFrame) -> Picture:
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
    table = flow[flow.input_dtype != ""]
    if table.empty:
        raise ValueError(
            "The flow has no layer that is called: give the flow of another model."
        )
    start = flow.attrs["input_dtype"]
    table = table.assign(
        before=table.output_dtype.shift(fill_value=start),
        after=table.input_dtype.shift(-1),
    )
    cells = list(table.itertuples())
    leaks = [c.layer for c in cells if c.compute_dtype in NARROW and _hands_on_32(c)]
    lines = math.ceil(len(cells) / PER_ROW)
    columns = math.ceil(len(cells) / lines)
    figure, ax = canvas(max(5.0, STUB + columns * CELL), lines * LINE + 0.9)
    ax.set(xlim=(-STUB, columns * CELL + 0.1), ylim=(-lines * LINE, 0), aspect="equal")
    ax.set_axis_off()
    _write_bytes(ax, -0.12, -0.72, sum(flow.attrs["borders"].values()), ha="right")
    for number, cell in enumerate(cells):
        line, column = divmod(number, columns)
        x = (column + 0.5) * CELL
        y = -line * LINE - 0.6
        ends = column == columns - 1 or cell is cells[-1]
        _draw_input(ax, x - SIDE, x - CELL / 2, y, cell, column == 0)
        _draw_output(ax, x + SIDE, x + CELL / 2, y, cell, ends)
        if cell.layer in leaks:
            ax.plot(x + SIDE + 0.17, y, markersize=22, **RING)
            at = (x + SIDE + 0.03, y - 0.3)
            write(ax, *at, "leak", ha="left", va="top", weight="bold")
        _layer(ax, x, y, cell)
    pipes = _distinct([start, *table[["input_dtype", "output_dtype"]].to_numpy().flat])
    weights = _distinct(table.variable_dtype[table.parameters > 0])
    signs: list = [Patch(label=d, **_style(d)) for d in _distinct([*pipes, *weights])]
    cast = table.cast | (table.inside_moved > 0)
    if (cast | (table.variable_dtype != table.read_dtype)).any():
        signs.append(Line2D([], [], label="cast, with the bytes it moves", **FULL))
    if (table.before != table.input_dtype).any():
        label = "cast by the model, or a change between layers"
        signs.append(Line2D([], [], label=label, **HOLLOW))
    if leaks:
        signs.append(Line2D([], [], label="leak", **RING | {"markersize": 11}))
    ncols = len(signs) if len(signs) < 4 else math.ceil(len(signs) / 2)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "ncols": ncols}
    legend(ax, handles=signs, **place)
    low = table.output_dtype.isin(NARROW).sum()
    heading = f"{low} of {len(cells)} layers hand on 16 bits"
    if leaks:
        heading = f"{listed(leaks)}: its policy says 16 bits, and it hands on float32"
    weights_text = "there are no weights"
    if weights:
        stay = weights == ["float32"] and {*NARROW} & {*pipes}
        weights_text = f"weights {'stay' if stay else 'are'} {listed(weights)}"
    cast_bytes = total_cast_bytes(flow)
    casts = "nothing is cast"
    if cast_bytes:
        batch = flow.attrs["batch_size"]
        casts = f"casts move {_bytes(cast_bytes)} in a forward pass of {batch}"
    ax.set_title(f"{heading}\n{weights_text}; {casts}", fontsize=11)
    return described(figure, "; ".join(map(_in_words, cells)))


def _hands_on_32(cell):
    return "float32" in cell.output_dtype.split(", ")


def total_cast_bytes(flow: pd.DataFrame) -> int:
    """Bytes that all casts of a table of `precision.dtype_flow` read and write."""
    columns = ["input_moved", "weight_moved", "inside_moved"]
    cast_bytes = flow[columns].to_numpy().sum()
    return int(cast_bytes) + sum(flow.attrs["borders"].values())


def _write_bytes(ax, x, y, count, **options):
    if count:
        write(ax, x, y, _bytes(count), va="top", **options)


def _bytes(count):
    return BYTES(float(f"{count:.3g}"))


def _draw_input(ax, x, start, y, cell, first):
    """The pipe into a layer, whose box begins at x, with diamonds where the dtype
    changes.
    """
    cast = x
    if cell.cast:
        cast -= 0.2
        _write_bytes(ax, cast + 0.1, y - 0.12, cell.input_moved, ha="right")
    if first:
        _pipe(ax, start - STUB, start, y, cell.before)
    _pipe(ax, start, cast, y, cell.input_dtype)
    _pipe(ax, cast, x, y, cell.compute_dtype)
    if cell.cast:
        ax.plot(cast, y, markersize=9, **FULL)
    if cell.before == cell.input_dtype:
        _above(ax, start, y, cell.input_dtype, "center")
        return
    # A pipe whose dtype changes is labeled in each half.
    ax.plot(start, y, markersize=9, **HOLLOW)
    _above(ax, x - 0.03, y, cell.input_dtype, "right")
    if first:
        _above(ax, start - STUB, y, cell.before, "left")


def _draw_output(ax, x, end, y, cell, last):
    """The pipe out of a layer, whose box ends at x."""
    _pipe(ax, x, end, y, cell.output_dtype)
    if last or cell.after != cell.output_dtype:
        _above(ax, x + 0.03, y, cell.output_dtype, "left")
    if last:
        ax.plot(end + 0.04, y, ">", color=INK, markersize=8, clip_on=False)


def _pipe(ax, start, end, y, dtypes):
    """A piece of pipe, with a lane for each dtype of "float16, float32"."""
    names = dtypes.split(", ")
    for lane, dtype in enumerate(names):
        corner = (start, y + PIPE / 2 - (lane + 1) * PIPE / len(names))
        ax.add_patch(Rectangle(corner, end - start, PIPE / len(names), **_lane(dtype)))


def _layer(ax, x, y, cell):
    """A layer's box around (x, y), and below it the box of its weights."""
    box = FancyBboxPatch(
        (x - SIDE, y - FOOT),
        2 * SIDE,
        2 * FOOT,
        boxstyle="round,pad=0,rounding_size=0.06",
        facecolor="none",
        edgecolor=INK,
        linewidth=1.2,
    )
    ax.add_patch(box)
    write(ax, x, y, _name(cell))
    if cell.parameters:
        low = y - FOOT - RISE
        middle = low + RISE / 2
        for start, dtype in ((middle, cell.read_dtype), (low, cell.variable_dtype)):
            corner = (x - PIPE / 2, start)
            ax.add_patch(Rectangle(corner, PIPE, RISE / 2, **_lane(dtype)))
        if cell.read_dtype != cell.variable_dtype:
            ax.plot(x, middle, markersize=9, **FULL)
            _write_bytes(ax, x + 0.13, middle + 0.07, cell.weight_moved, ha="left")
        corner = (x - WEIGHTS[0] / 2, low - WEIGHTS[1])
        ax.add_patch(Rectangle(corner, *WEIGHTS, **_style(cell.variable_dtype)))
        text = f"{cell.variable_dtype}, {_bytes(cell.weight_bytes)}"
        write(ax, x, low - WEIGHTS[1] - 0.03, text, va="top")


def _lane(dtype):
    return _style(dtype) | {"linewidth": 0}  # no seams between pieces of one dtype


def _style(dtype):
    """Color and hatch of a dtype; integers and the like are gray and crossed."""
    return filled(COLORS.get(dtype, "#999999"), 2 * HATCHES.get(dtype, "xx"))


def _above(ax, x, y, dtypes, ha):
    lines = dtypes.replace(", float", "\nfloat")
    write(ax, x, y + 0.09, lines, ha=ha, va="bottom")


def _name(cell):
    """The path in lines that fit the box, and the class where the name does not tell
    it.
    """
    *outer, name = cell.layer.split("/")
    lines = [f"{outer[-1]}/"] if outer else []
    lines += textwrap.wrap(re.sub("_(?=.)", "_ ", name), CHARACTERS_PER_LINE)
    if not name.replace("_", "").startswith(cell.kind.lower()):
        lines += textwrap.wrap(
            re.sub("(?<=[a-z])(?=[A-Z])", " ", f"({cell.kind})"), CHARACTERS_PER_LINE
        )
    lines = [line.replace("_ ", "_") for line in lines[:3]]
    if cell.inside_moved:
        lines.append(f"◆ {_bytes(cell.inside_moved)}")
    return "\n".join(lines)


def _distinct(names):
    """The dtypes in "float16, float32" and the like, each one once, in order."""
    return list(
        dict.fromkeys(dtype for several in names for dtype in several.split(", "))
    )


def _in_words(cell):
    """What comes into a layer, what it casts, and what it hands on."""
    words = [f"{cell.layer} gets {cell.input_dtype}"]
    if cell.cast:
        words.append(f"casts it to {cell.compute_dtype}")
    if cell.read_dtype != cell.variable_dtype:
        words.append(f"casts its weights to {cell.read_dtype}")
    if cell.inside_moved:
        words.append("casts inside")
    return ", ".join([*words, f"hands on {cell.output_dtype}"])
