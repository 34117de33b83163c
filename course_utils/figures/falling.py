"""The page to print: what a loss scale that falls says, and what to look at first."""

from course_utils.figures.base import INK, Picture, panels
from course_utils.figures.learning import trace

LONG = 8  # halvings in a row that no saw makes
VERDICTS = {
    "rises and dips": (
        "Healthy.",
        "The largest gradient",
        "overflows now and then.",
        "Do nothing.",
    ),
    "falls, then stops falling": (
        "Is the loss of the",
        "skipped steps finite?",
        "No: look at those batches.",
        "Yes: gradients overflowed,",
        "and halving S cured it.",
    ),
    "falls without end": (
        "Loss finite? The backward",
        "pass is not (a square root at 0).",
        "Not finite? Look at batch,",
        "weights, and the first layer",
        "whose output is not finite.",
    ),
}


def verdict(table) -> str:
    """What the scale in a `training.LossScaleRecorder`'s table does.

    Example:
        >>> import pandas as pd
        >>> verdict(pd.DataFrame({"applied": [True] * 9 + [False] * 9}))
        'falls without end'
    """
    skipped = ~table["applied"]
    if skipped.tail(LONG).all():
        return "falls without end"
    rows = skipped.groupby(table["applied"].cumsum()).sum()
    return "falls, then stops falling" if rows.max() >= LONG else "rises and dips"


def falling_scale(tables: dict) -> Picture:
    """A panel for each recorded scale {name: table}: its trace, and what to do first.

    What stands over and under a panel follows from its trace (`verdict`).
    """
    figure, axes = panels(len(tables), width=8.0, height=4.2)
    words = []
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        kind = verdict(table)
        trace(ax, table.drop(columns="ceiling", errors="ignore"))
        ax.set_yscale("log", base=2)
        ax.set_title(f"{kind}\n({name})", fontsize=10)
        advice = "\n".join(("step", *VERDICTS[kind]))
        ax.set_xlabel(advice, color=INK, fontsize=9.5, linespacing=1.5)
        words.append(f"{name}: the scale {kind}. {' '.join(VERDICTS[kind])}")
    axes[0].set_ylabel("loss scale S")
    figure.suptitle("What a trace of the loss scale says", color=INK)
    return Picture(figure, " ".join(words))
