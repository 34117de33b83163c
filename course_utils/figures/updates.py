"""What training loops do to a step, and what a resumed training lacks."""

import numpy as np

from course_utils.figures.base import INK, Picture, canvas, legend

RIGHT, WRONG = "#009E73", "#D55E00"  # always with a marker of their own
NEAR = 0.05  # how far from 1 a length still counts as right


def adam_curve(gradients, factor: float = 2.0**15, epsilon: float = 1e-7) -> Picture:
    """Adam's step over the size of a gradient that stays the same, and where a
    network's lie.

    `gradients`: floats of any shape; the middle 90 % of those that are not zero are a
    band, and again `factor` times smaller. A step is a share of the learning rate.
    """
    sizes = np.abs(np.ravel(gradients))
    low, middle, high = np.percentile(sizes[sizes > 0], (5, 50, 95))
    figure, ax = canvas(width=8.0)
    size = np.logspace(-12, 1, 200)
    ax.plot(size, size / (size + epsilon), color=INK, linewidth=2)
    bands = (("the network's gradients", 1.0, RIGHT, "", "o"),
             (f"{factor:,.0f} times smaller", factor, WRONG, "//", "X"))  # fmt: skip
    words = []
    for label, over, color, hatch, marker in bands:
        at = middle / over
        step = at / (at + epsilon)
        look = {"facecolor": color, "hatch": hatch, "edgecolor": INK, "alpha": 0.25}
        ax.axvspan(low / over, high / over, label=label, **look)
        ax.plot(at, step, marker, color=color, markersize=9)
        ax.annotate(f"{step:.2g}", (at, step), (8, -14), textcoords="offset points")
        words.append(f"{label}: at their middle {at:.1g} a step of {step:.2g}")
    ax.axvline(epsilon, color=INK, linestyle=":", linewidth=1, label="ε")
    ax.set(
        xscale="log",
        yscale="log",
        ylim=(1e-5, 5),
        xlabel="|gradient| that reaches Adam",
        ylabel="step / learning rate",
        title="The step that Adam makes of a gradient",
    )
    legend(ax, loc="upper left", fontsize=9)
    return Picture(figure, "; ".join(words) + " of the learning rate.")


def loop_plane(watched: dict) -> Picture:
    """Training loops by what `precision.probe` measures: the step's length, and what ∞
    moves.

    `watched`: label to `precision.Watched`, or anything with its `length` and `moves`.
    """
    figure, ax = canvas(width=8.0, height=3.0)
    rows: dict = {}
    words = []
    good = 0
    for label, loop in watched.items():
        right = abs(loop.length - 1) < NEAR and not loop.moves
        good += right
        # near ones get a row each
        place = round(np.log10(loop.length) / 3), bool(loop.moves)
        rows[place] = rows.get(place, -1) + 1
        at = (loop.length, loop.moves + 0.18 * rows[place] - 0.18)
        marker, color = ("o", RIGHT) if right else ("X", WRONG)
        ax.plot(*at, marker, markersize=10, color=color)
        side, offset = ("left", 8) if loop.length < 10 else ("right", -8)
        beside = {"textcoords": "offset points", "ha": side, "va": "center"}
        ax.annotate(label, at, (offset, 0), **beside)
        moves = "moves" if loop.moves else "does not move"
        words.append(
            f"{label}: a step {loop.length:.2g} times as long, ∞ {moves} the weights"
        )
    ax.axvline(1, color=INK, linestyle=":", linewidth=1)
    ax.axhline(0.5, color=INK, linewidth=0.5)
    ax.set(xscale="log", xlim=(1e-6, 1e6), ylim=(-0.4, 1.4))
    ax.set_title(
        f"Right: {good} of {len(watched)} loops (length 1, and ∞ moves nothing)"
    )
    ax.set_yticks([0, 1], ["∞ moves\nnothing", "∞ moves\nthe weights"])
    ax.set_xlabel("length of a step, float32's = 1")
    return Picture(figure, "; ".join(words) + ".")
