"""When a layer gets its policy."""

from matplotlib.patches import Rectangle

from course_utils.figures.base import Picture, canvas, listed, write
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
    policies = layers[-1]
    left = max(map(len, lines)) * LETTER + 0.3
    right = left + len(policies) * LANE + 1.3
    low = -len(lines) * ROW
    figure, ax = canvas(right, 0.6 - low)
    ax.set(xlim=(0, right), ylim=(low, 0.3), aspect="equal")
    ax.set_axis_off()
    changes = []
    for row, (line, band) in enumerate(zip(lines, bands, strict=True)):
        y = -(row + 0.5) * ROW
        write(ax, 0, y, line, ha="left", family="monospace")
        box = Rectangle((left, y - ROW / 2), right - left, ROW, linewidth=0, alpha=0.2)
        box.set_facecolor(COLORS[dtype_of(band)])
        ax.add_patch(box)
        if row == 0 or bands[row - 1] != band:
            write(ax, right - 0.06, y, band, ha="right")
            changes.append(f"from line {row + 1} on {band}")
    kept = 0
    for column, (name, policy) in enumerate(policies.items()):
        x = left + (column + 0.5) * LANE
        dtype = dtype_of(policy)
        row = next(row for row, made in enumerate(layers) if name in made)
        kept += policy == bands[row]
        top = -(row + 0.5) * ROW
        look = {"color": COLORS[dtype], "linewidth": 3, "zorder": 3}
        ax.plot([x, x], [top, low], **look)
        ax.plot(x, top, MARKERS[dtype], markersize=11, **look)
        write(ax, x, 0.08, name, va="bottom")
    ax.set_title(
        f"Layers with the policy in force when they were made: {kept} of {len(policies)}",
        fontsize=11,
    )
    told = [f"{name} has {policy}" for name, policy in policies.items()]
    return Picture(
        figure, f"The global policy is {listed(changes)}. Made in turn, {listed(told)}."
    )
