"""Figures of notebook 11: a network after one bad batch."""

from course_utils.figures.base import Picture, legend_below, panels
from course_utils.figures.looks import YOU
from course_utils.figures.series import lines
from course_utils.figures.words import described


def draw_blind_steps(
    seen: dict[float, dict[int, float]], guess: float | None = None
) -> Picture:
    """How much of the test set is right after one bad batch, step by step: all steps,
    and the last ten of them.

    `seen`: {how many times too large the batch was: {ordinary steps since then: the
    share that is right}}; each dot is one of these shares. `guess` is a number of steps.

    Example: `draw_blind_steps({1e6: {0: 0.9, 1: 0.1, 1025: 0.9}}, guess=10)`.
    """
    figure, (left, right) = panels(2, 9.0, 3.8, sharey=True, width_ratios=[3, 2])
    series = {
        f"× {times:,.0f}": tuple(zip(*seen[times].items(), strict=True))
        for times in seen
    }
    last = max(max(shares) for shares in seen.values())
    for ax in (left, right):
        lines(ax, series)
        ax.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
        ax.set(xlabel="ordinary steps after it", ylim=(0, 1.05))
    left.set(ylabel="share right", title="One bad batch, and the steps after it")
    right.set(title="The last ten steps", xlim=(last - 10.5, last + 0.5))
    if guess is not None:
        left.axvline(min(guess, last), color=YOU, linestyle=":", label="your guess")
    legend_below(figure, 4)
    return described(figure)
