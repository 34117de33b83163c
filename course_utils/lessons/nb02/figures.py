"""Figures of notebook 02: one step, the bathtub, and how the loss scale goes."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd

from course_utils.figures.base import (
    INK,
    Axes,
    Drawing,
    Picture,
    canvas,
    legend,
    panels,
    write,
)
from course_utils.figures.histograms import CLASSES
from course_utils.figures.looks import COLORS, SCALE, YOU
from course_utils.figures.words import described, power


def draw_step() -> Drawing:
    """One step of mixed precision training: what is float16, and where the loss scale
    is.
    """
    return Drawing.read(Path(__file__).with_name("step.svg"))


def draw_bathtub(measured: dict, tried: dict) -> Picture:
    """The relative error of float16's gradient over the loss scale: wall, floor, cliff.

    `measured`: label to {exponent of 2: relative error}, of one network or several; an
    error that is not finite is an overflow. The title is about the last one, and its
    overflow is hatched. `tried`: exponents of scales that are marked, each with a name.
    """
    figure, ax = canvas(7.5, 3.9)
    top = 3.0
    words = []
    markers = itertools.cycle("v^s")
    for label, by_scale in measured.items():
        look = {"color": INK, "linewidth": 1, "linestyle": "--"}
        look["marker"] = next(markers)
        if label == list(measured)[-1]:
            look = {"color": COLORS["float16"], "marker": "o", "linewidth": 1.8}
        errors = pd.Series(by_scale)
        line = errors[np.isfinite(errors)]
        cliff = errors.index.difference(line.index).min()  # NaN without an overflow
        ax.plot(line, label=label, markersize=4, **look)
        if len(line) < len(errors):  # it goes up where the next scale overflows
            last = line.index[-1]
            up = {last: line[last], last + 0.5: 2 * top}
            ax.plot([*up], [*up.values()], **look | {"marker": ""})
            words.append(f"{label} overflows from 2^{cliff} on")
    left, right = errors.index.min(), errors.index.max()
    if len(line) < len(errors):
        color = CLASSES["overflow"]
        ax.axvspan(cliff - 0.5, right + 1, color=color, alpha=0.14, lw=0)
        write(ax, right + 0.8, 0.3, power(f"overflow\nfrom 2^{cliff}"), ha="right")
    for s, name in tried.items():
        words.append(f"{name} is marked at 2^{s}")
        ax.axvline(s, color=SCALE, linewidth=1.6, zorder=0)
        # beyond the cliff, the line goes up at the left
        side, offset = ("left", 0.3) if s > cliff else ("right", -0.3)
        write(ax, s + offset, 0.012, name, rotation=90, va="bottom", ha=side)
    ax.set(yscale="log", ylim=(1e-4, top), xlim=(left - 2.5, right + 1))
    ax.set(xlabel="loss scale S", ylabel="relative error of the gradient")
    ax.set_xticks(range(10 * (left // 10), right + 1, 10))
    ax.xaxis.set_major_formatter(lambda s, _: power(f"2^{s:g}"))
    floor = line.index[line < 0.01]
    title = label
    if len(floor):
        title += f": wrong by less than 1 % from 2^{floor[0]} to 2^{floor[-1]}"
    ax.set_title(power(title))
    legend(ax, loc="lower left")
    return described(figure, "; ".join(words))


def draw_loss_scale(
    table: pd.DataFrame | None = None,
    drawn: dict | None = None,
    cliff: float | None = None,
) -> Picture:
    """The scales in a `training.LossScaleRecorder`'s table; a cross at each skipped
    step.

    If the table has a column `ceiling`, it lies over them: from there on a scale
    overflows. A second panel enlarges the last quarter. `drawn`, the curve that a learner
    drew, {step: log2 of the scale}, lies over them too, or alone without a table. `cliff`
    is the exponent from which on the bathtub overflows.
    """
    enlarged = table is not None and "ceiling" in table
    options: dict = {"gridspec_kw": {"width_ratios": [5, 3]}} if enlarged else {}
    figure, axes = panels(2 if enlarged else 1, 7.5, 3.6, **options)
    whole = axes[0]
    words = ""
    for ax in axes:
        ax.set_yscale("log", base=2)
        ax.set_xlabel("step")
        if table is not None:
            draw_trace(ax, table)
        if cliff is not None:
            look = {"color": COLORS["float16"], "linestyle": "--", "linewidth": 1.4}
            label = power(f"the bathtub's cliff, 2^{cliff:.0f}")
            ax.axhline(2.0**cliff, label=label, **look)
    if table is not None:
        skipped = ~table["applied"]
        whole.set_title(f"{skipped.sum()} of {len(table)} steps were skipped")
        if enlarged:
            over = table["scale"] >= table["ceiling"]
            above = f"At or above the ceiling in {over.sum()} steps"
            words = f"{above}, {(over & skipped).sum()} of these skipped"
            end = table.tail(max(2, len(table) // 4))
            both = end[["scale", "ceiling"]]
            axes[1].set(
                xlim=(end["step"].min() - 1, end["step"].max() + 2),
                ylim=(both.min(axis=None) / 1.2, 1.4 * both.max(axis=None)),
                title="the end, enlarged",
            )
    elif drawn:
        whole.set(
            xlim=(0, 1.05 * max(drawn)),
            ylim=(0.5, 2.0**31),
            yticks=[2.0**s for s in range(0, 31, 5)],
            title="Draw the loss scale",
        )
    if drawn:
        look = {"color": YOU, "linestyle": "--", "marker": "D", "markersize": 5}
        scales = [2.0**value for value in drawn.values()]
        whole.plot([*drawn], scales, label="your curve", mec=INK, **look)
        whole.set_ylim(top=max(whole.get_ylim()[1], 2 * max(scales)))
    whole.set_ylabel("loss scale")
    legend(whole)
    return described(figure, words)


def draw_trace(ax: Axes, table: pd.DataFrame) -> None:
    """The scale of each step, a cross where it was skipped, and the ceiling if it is
    known.
    """
    skipped = table[~table["applied"]]
    look: dict = {
        "where": "mid",
        "color": SCALE,
        "linewidth": 1.8,
        "label": "loss scale S",
    }
    ax.step(table["step"], table["scale"], **look)
    cross: dict = {"color": INK, "markersize": 6, "label": "step skipped"}
    ax.plot(skipped["step"], skipped["scale"], "x", zorder=3, **cross)
    if "ceiling" in table:
        step, ceiling = table["step"], table["ceiling"]
        ax.plot(step, ceiling, color=INK, linewidth=0.8, label="ceiling")
        ax.set_ylim(top=4 * ceiling.max())
        ax.fill_between(step, ceiling, 2.0**99, color=INK, alpha=0.25, lw=0)
        place: dict = {"xycoords": "axes fraction", "va": "top", "fontsize": 9}
        ax.annotate(" overflow", (0, 0.98), **place)


LONG = 8  # halvings in a row: a fall, and no dip
VERDICTS = {
    "rises and dips": """Healthy, if the
skipped batches pass
with a smaller S:
then do nothing.""",
    "falls, then stops falling": """Is the training loss of
the skipped steps finite?
No: look at batch and layers.
Yes: does that batch pass
with a smaller S? Then it
overflowed, and is cured.""",
    "falls to the end": """Is the training loss finite?
Yes: S is still too large, or
no S helps (the root of 0).
No: look at batch, weights, and
the first layer that is not.""",
}


def verdict(table: pd.DataFrame) -> str:
    """What the scale in a `training.LossScaleRecorder`'s table does.

    Example:
        >>> import pandas as pd
        >>> verdict(pd.DataFrame({"applied": [True] * 9 + [False] * 9}))
        'falls to the end'
    """
    skipped = ~table["applied"]
    if skipped.tail(LONG).all():
        return "falls to the end"
    rows = skipped.groupby(table["applied"].cumsum()).sum()
    return "falls, then stops falling" if rows.max() >= LONG else "rises and dips"


def draw_falling_scale(tables: dict) -> Picture:
    """A panel for each recorded scale {name: table}: its trace, and what to do first.

    What stands over and under a panel follows from its trace (`verdict`).
    """
    figure, axes = panels(len(tables), 8.0, 4.2)
    words = []
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        kind = verdict(table)
        draw_trace(ax, table.drop(columns="ceiling", errors="ignore"))
        ax.set_yscale("log", base=2)
        ax.set_title(f"{kind}\n({name})", fontsize=10)
        advice = VERDICTS[kind]
        ax.set_xlabel(f"step\n{advice}", fontsize=9.5, linespacing=1.5)
        words.append(f"{name}: the scale {kind}. {advice}".replace("\n", " "))
    axes[0].set_ylabel("loss scale S")
    figure.suptitle("What a trace of the loss scale says")
    return Picture(figure, " ".join(words))
