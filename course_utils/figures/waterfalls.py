"""From the best possible time to the measured one, and predictions beside the clock."""

from course_utils.figures.base import Picture, name_all, panels, write
from course_utils.figures.budgets import BUDGET
from course_utils.figures.looks import bar_look, filled
from course_utils.figures.words import described

PARTS = {"products": "products", "other": "other\n operations", "launch": "starting"}


def waterfall(falls: dict, title: str) -> Picture:
    """The way from the best possible time of a step to the measured one, a panel for
    each policy.

    `falls`: {policy: (best, predicted, measured)}, where best is the `budget` of a
    `roofline.Floor`, predicted what `profiling.forecast` returns, and measured one
    number; all in ms. A bar for each part says what it adds to the best possible time;
    the last but one is what remains to the measured time, to the left where the
    prediction was too long.

    Example: `waterfall({"float32": ({"products": 3, "other": 1}, {"products": 5,
    "other": 2, "launch": 1}, 9)}, "One step")`.
    """
    figure, axes = panels(len(falls), height=3.2, sharey=True, sharex=True)
    for ax, (policy, (best, predicted, measured)) in zip(
        axes, falls.items(), strict=True
    ):
        end = sum(best.values())
        steps = {"best possible": (0.0, end, bar_look(policy))}
        for part, name in PARTS.items():
            more = predicted[part] - best.get(part, 0.0)
            steps[name] = (end, more, BUDGET[part])
            end += more
        steps["not explained"] = (end, measured - end, filled("#dddddd", "xx"))
        steps["measured"] = (0.0, measured, bar_look(policy))
        for at, (start, more, look) in enumerate(steps.values()):
            ax.barh(at, more, 0.66, left=start, **look)
            sign = "" if start == 0 else "+" if more >= 0 else "−"
            right = max(start, start + more)
            write(ax, right, at, f" {sign}{abs(more):.3g}", ha="left")
        name_all(ax.yaxis, list(steps))
        ax.set(xlabel="ms", title=policy)
    longest = max(bar.get_bbox().xmax for ax in axes for bar in ax.patches)
    axes[0].set_xlim(0, 1.18 * longest)
    axes[0].invert_yaxis()
    figure.suptitle(title)
    return described(figure)
