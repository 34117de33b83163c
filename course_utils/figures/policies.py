"""When a layer gets its policy."""

from matplotlib.patches import Rectangle

from course_utils.figures.base import INK, Picture, canvas, listed
from course_utils.figures.looks import COLORS, MARKERS, dtype_of

# in inches: of code; a line of code; a layer's column
LETTER, ROW, LANE = 0.07, 0.34, 0.72


def policy_timeline(history) -> Picture:
    """Lines of code from the top down; a band is the policy that is set, a marker a layer
    where it is made.

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
        corner = (left, y - ROW / 2)
        box = Rectangle(corner, right - left, ROW, linewidth=0, alpha=0.2)
        box.set_facecolor(COLORS[dtype_of(band)])
        ax.add_patch(box)
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
    return Picture(
        figure, f"The global policy is {policies}. Made in turn, {listed(told)}."
    )
