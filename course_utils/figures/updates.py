"""One step of several training loops, each beside the step that would be right."""

import numpy as np

from course_utils.figures.base import INK, Picture, panels

STEP = "#E69F00"  # no dtype's color
REACH = 1.2  # how far a panel shows, in lengths of the right step
SHORTEST = 0.06  # what is shorter than this share of it is drawn as a point
ROUNDING = 0.02  # how far from the right length still counts as "as long"


def updates(steps: dict, right, title: str) -> Picture:
    """A panel for each loop: the plane of two weights, the right step and the loop's own.

    The right step is broad and gray, the loop's own thin and orange; it ends at the border if it is
    longer than the panel, and is a point if it is too short to see. Its length is in words too.

    `steps`: label to the change of the two weights, up to six; one of zero is a ring, one that is
    not finite a cross. `right`: the right change, finite and not zero.

    Example:
        >>> updates({"half": (0.5, 0.0)}, (1.0, 0.0), "A step").alt
        'half: 0.5 × as long as the right step.'
    """
    right = np.array(right, float)
    unit = np.linalg.norm(right)
    figure, axes = panels(len(steps), height=2.5)
    words = []
    for ax, (label, step) in zip(axes, steps.items(), strict=True):
        step = np.array(step, float) / unit
        said = _length(step)
        ax.set(xlim=(-0.2, REACH), ylim=(-0.2, REACH), aspect="equal", xticks=[], yticks=[])
        _arrow(ax, right / unit, "simple", INK, alpha=0.75, mutation_scale=26, linewidth=0)
        _draw(ax, step)
        # A long name goes on two lines, so that neighbors do not meet.
        first, _, last = label.rpartition(" ")
        ax.set_title(f"{first}\n{last}" if first else f"{last}\n", fontsize=9)
        ax.set_xlabel(said, fontsize=9)
        far = said in ("no step", "not finite")
        words.append(f"{label}: {said}" if far else f"{label}: {said} as the right step")
    figure.suptitle(title, color=INK, fontsize=11)
    axes[0].set_ylabel("second weight", fontsize=8)
    return Picture(figure, "; ".join(words) + ".")


def _length(step):
    """The length of a step in words, in lengths of the right one."""
    ratio = np.linalg.norm(step)
    if not np.isfinite(ratio):
        return "not finite"
    if ratio == 0:
        return "no step"
    if abs(ratio - 1) < ROUNDING:
        return "as long"
    if ratio < 0.1:
        return f"1/{1 / ratio:,.0f} as long"
    return f"{ratio:,.2g} × as long"


def _draw(ax, step):
    point = {"color": STEP, "zorder": 5}
    length = np.linalg.norm(step)
    if not np.isfinite(step).all():
        ax.plot(0, 0, "X", markersize=13, markeredgecolor=INK, **point)
    elif length < SHORTEST:
        full = STEP if length else "none"
        ax.plot(0, 0, "o", markerfacecolor=full, markersize=7, markeredgewidth=2, **point)
    else:
        end = step * min(1, REACH / np.abs(step).max())
        _arrow(ax, end, "-|>", STEP, mutation_scale=11, linewidth=2.2)


def _arrow(ax, end, kind, color, **options):
    style = {"arrowstyle": kind, "shrinkA": 0, "shrinkB": 0, "color": color, **options}
    ax.annotate("", xy=end, xytext=(0, 0), arrowprops=style)
