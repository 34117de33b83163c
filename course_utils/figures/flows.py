"""Which dtype flows where in a model."""

import math
import re
import textwrap

from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle
from matplotlib.ticker import EngFormatter

from course_utils.figures.base import INK, Picture, canvas, legend, listed
from course_utils.figures.looks import COLORS, EDGE, HATCHES, MARKERS, dtype_of

PER_ROW = 4
# In inches: a layer with half a pipe on either side; its box; the box of its weights
# and the pipe from there; how thick a pipe is; the piece of pipe that each row begins
# with.
CELL = (2.0, 1.45)
BOX = (1.0, 0.56)
WEIGHTS = (0.5, 0.14)
RISE = 0.3
PIPE = 0.13
STUB = 0.25
# in inches: of code; a line of code; a layer's column
LETTER, ROW, LANE = 0.067, 0.34, 0.72
WIDE = 15  # characters in a line of a box
BYTES = EngFormatter("B")  # 4100 is "4.1 kB"


def dtype_flow(flow) -> Picture:
    """A model as boxes and pipes: pipes in the color of what flows, weights in their
    own.

    A pipe brings each layer what arrives and takes on what leaves; another brings what
    it reads of its weights. A full diamond is a cast by a layer; a hollow one a change
    between layers, by an operation or at the door of a model or layer of your own.
    Layers come in the order of their calls; branches are not drawn as such.

    `flow`: the table of `precision.dtype_flow`; 3 to 20 layers read well. Raises a
    ValueError if the model calls no layer.
    """
    cells = list(flow[flow.input_dtype != ""].itertuples())
    if not cells:
        raise ValueError(
            "The flow has no layer that is called: give the flow of another model."
        )
    start = flow.attrs["input_dtype"]
    # what leaves the layer before
    before = [start, *(cell.output_dtype for cell in cells[:-1])]
    lines = math.ceil(len(cells) / PER_ROW)
    columns = math.ceil(len(cells) / lines)
    figure, ax = canvas(
        width=max(5.0, STUB + columns * CELL[0]), height=lines * CELL[1] + 0.9
    )
    ax.set(
        xlim=(-STUB, columns * CELL[0] + 0.1),
        ylim=(-lines * CELL[1], 0),
        aspect="equal",
    )
    ax.set_axis_off()
    for number, cell in enumerate(cells):
        line, column = divmod(number, columns)
        x = column * CELL[0]
        y = -line * CELL[1] - 0.52
        following = cells[number + 1 :][:1]
        ends = column == columns - 1 or not following
        _pipes(ax, x, y, cell, before[number], column == 0)
        if ends or following[0].input_dtype != cell.output_dtype:
            _write(
                ax,
                x + (3 * CELL[0] + BOX[0]) / 4,
                y + 0.09,
                cell.output_dtype,
                va="bottom",
            )
        if ends:
            ax.plot(x + CELL[0] + 0.04, y, ">", color=INK, markersize=8, clip_on=False)
        _layer(ax, x + CELL[0] / 2, y, cell)
    changes = [(c, b) for c, b in zip(cells, before, strict=True) if b != c.input_dtype]
    pipes = _distinct(
        [start, *(d for c in cells for d in (c.input_dtype, c.output_dtype))]
    )
    weights = _distinct(cell.variable_dtype for cell in cells if cell.parameters)
    casts = any(cell.cast or cell.variable_dtype != cell.read_dtype for cell in cells)
    _signs(ax, _distinct([*pipes, *weights]), casts, bool(changes))
    low = sum(cell.output_dtype in ("float16", "bfloat16") for cell in cells)
    share = f"16 bits leave {low} of {len(cells)} layers"
    verb = (
        "stay"
        if weights == ["float32"] and {"float16", "bfloat16"} & set(pipes)
        else "are"
    )
    held = f"weights {verb} {listed(weights)}" if weights else "there are no weights"
    ax.set_title(f"{share}; {held}", fontsize=11)
    return Picture(figure, f"{_in_words(cells, changes)} {share}; {held}.")


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
        ax.plot(cast, y, "D", color=INK, markersize=9)
    if before != cell.input_dtype:
        ax.plot(
            x,
            y,
            "D",
            markerfacecolor="none",
            color=INK,
            markersize=9,
            markeredgewidth=2,
        )
        if first:
            _write(ax, x - STUB, y - 0.12, before, va="top", ha="left")
    # A pipe with one dtype is labeled in its middle, else each half by itself.
    one = before == cell.input_dtype and not first
    _write(ax, x if one else (x + left) / 2, y + 0.09, cell.input_dtype, va="bottom")


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
            ax.plot(x, middle, "D", color=INK, markersize=9)
        ax.add_patch(Rectangle(corner, *WEIGHTS, **_style(cell.variable_dtype)))
        text = f"{cell.variable_dtype}, {BYTES(float(f'{cell.weight_bytes:.3g}'))}"
        _write(ax, x, corner[1] - 0.03, text, va="top")


def _lane(dtype):
    return _style(dtype) | {"linewidth": 0}  # no seams between pieces of one dtype


def _style(dtype):
    """Color and hatch of a dtype; integers and the like are gray and crossed."""
    color, hatch = COLORS.get(dtype, "#999999"), HATCHES.get(dtype, "xx")
    return {"facecolor": color, "hatch": 2 * hatch, **EDGE}


def _write(ax, x, y, text, ha="center", **options):
    ax.text(
        x,
        y,
        text.replace(", float", "\nfloat"),
        ha=ha,
        color=INK,
        fontsize=9,
        **options,
    )


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
    return "\n".join(line.replace("_ ", "_") for line in lines[:4])


def _signs(ax, dtypes, cast, changed):
    signs = [Patch(label=dtype, **_style(dtype)) for dtype in dtypes]
    style = {"color": INK, "marker": "D", "linestyle": "none"}
    if cast:
        signs.append(Line2D([], [], label="cast by the layer", **style))
    if changed:
        hollow = {"markerfacecolor": "none", "markeredgewidth": 2}
        signs.append(
            Line2D(
                [], [], label="change at a door or between layers", **style, **hollow
            )
        )
    ncols = len(signs) if len(signs) < 5 else math.ceil(len(signs) / 2)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "ncols": ncols}
    legend(ax, handles=signs, fontsize=9, **place)


def _distinct(names):
    """The dtypes in "float16, float32" and the like, each one once, in order."""
    return list(
        dict.fromkeys(dtype for several in names for dtype in several.split(", "))
    )


def _in_words(cells, changes):
    casts = [
        f"{c.layer} from {c.input_dtype} to {c.compute_dtype}" for c in cells if c.cast
    ]
    between = [f"before {c.layer} from {b} to {c.input_dtype}" for c, b in changes]
    reads = [
        f"{c.layer} to {c.read_dtype}"
        for c in cells
        if c.read_dtype != c.variable_dtype
    ]
    told = [f"{len(cells)} layer{'s' * (len(cells) > 1)}."]
    kinds = {
        "cast{}": casts,
        "cast{} of weights": reads,
        "change{} between layers": between,
    }
    for kind, items in kinds.items():
        if items or kind == "cast{}":
            named = f": {'; '.join(items)}" * bool(items)
            told.append(f"{len(items)} {kind.format('s' * (len(items) != 1))}{named}.")
    return " ".join(told)


def policy_timeline(history) -> Picture:
    """Lines of code from the top down; a band is the policy in force, a dot a layer at
    its birth.

    A layer's line keeps the color of its policy, whatever band it comes into.
    `history`: what `precision.policy_history` returns.
    """
    lines, bands, layers = zip(*history, strict=True)
    names = list(layers[-1])
    left = max(map(len, lines)) * LETTER + 0.3
    right = left + len(names) * LANE + 1.3
    low = -len(lines) * ROW
    figure, ax = canvas(width=right, height=0.6 - low)
    ax.set(xlim=(0, right), ylim=(low, 0.3), aspect="equal")
    ax.set_axis_off()
    changes = [
        row for row, band in enumerate(bands) if row == 0 or bands[row - 1] != band
    ]
    for row, (line, band) in enumerate(zip(lines, bands, strict=True)):
        y = -(row + 0.5) * ROW
        text = {"fontsize": 9, "va": "center", "color": INK}
        ax.text(0, y, line, family="monospace", **text)
        style = _lane(dtype_of(band)) | {"hatch": "", "alpha": 0.2}
        ax.add_patch(Rectangle((left, y - ROW / 2), right - left, ROW, **style))
        ax.text(right - 0.06, y, band * (row in changes), ha="right", **text)
    kept = 0
    for column, name in enumerate(names):
        x = left + (column + 0.5) * LANE
        dtype = dtype_of(layers[-1][name])
        born = next(row for row, made in enumerate(layers) if name in made)
        kept += layers[-1][name] == bands[born]
        look = {"color": COLORS[dtype], "linewidth": 3, "zorder": 3}
        ax.plot([x, x], [-(born + 0.5) * ROW, low], **look)
        ax.plot(x, -(born + 0.5) * ROW, MARKERS[dtype], markersize=11, **look)
        ax.text(x, 0.08, name, fontsize=9, ha="center", va="bottom", color=INK)
    ax.set_title(
        f"Layers with the policy in force when they were made: {kept} of {len(names)}",
        fontsize=11,
    )
    told = [f"{name} has {policy}" for name, policy in layers[-1].items()]
    policies = listed([f"from line {row + 1} on {bands[row]}" for row in changes])
    return Picture(figure, f"In force are {policies}. Made in turn, {listed(told)}.")
