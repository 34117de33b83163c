"""What is learned and how training goes: losses, accuracy, loss scale."""

import itertools

import numpy as np
import pandas as pd

from course_utils.figures.base import INK, Picture, canvas, legend, panels
from course_utils.figures.looks import COLORS, SCALE, YOU, dtype_of, line_look
from course_utils.figures.series import OTHERS, name_the_ends, plain_logarithm
from course_utils.figures.words import described, power


def loss_curves(curves) -> Picture:
    """How far two runs are apart at each step, beside the loss itself; medians over the
    seeds.

    Apart are each policy and float32 with the same seed, and two seeds of float32.
    `curves`: the DataFrame of `benchmark.loss_curves`, float32 among the policies.
    """
    figure, ax = canvas(8.0, 3.6)
    if curves.empty:
        return Picture(figure, "the training was interrupted before its first step.")
    loss = curves.pivot(index="step", columns=["policy", "seed"], values="loss")
    loss = loss.dropna(axis=1)  # without a seed that was interrupted
    float32 = loss["float32"]
    gray = {"color": INK, "linewidth": 3, "alpha": 0.6}
    series = [("the loss itself", float32, gray)]
    pairs = [float32[a] - float32[b] for a, b in itertools.combinations(float32, 2)]
    if pairs:
        apart = pd.concat(pairs, axis=1).abs()
        series.append(("two seeds, float32", apart, line_look("float32")))
    for policy in loss.columns.unique("policy").drop("float32"):
        apart = (loss[policy] - float32).abs()
        series.append((f"{policy} and float32, same seed", apart, line_look(policy)))
    typical = {}
    for label, values, look in series:
        middle = values.median(axis=1)
        typical[label] = middle.median()
        smooth = middle.rolling(10, min_periods=1).mean()
        ax.plot(smooth, label=label, markevery=0.1, **look)
    most = max((typical[label] for label in typical if "same seed" in label), default=0)
    title = "How far two runs are apart, beside the loss"
    if pairs and most:
        times = f"{typical['two seeds, float32'] / most:.2g} times as far"
        title = f"Another seed moves the loss {times} as another policy"
    ylabel = "loss, or difference in loss\n(means of 10 steps)"
    ax.set(xlabel="training step", ylabel=ylabel, yscale="log", title=title)
    legend(ax)
    return described(figure)


def histories(
    losses: dict, title: str, ylabel: str = "training loss", xlabel: str = "epoch",
    every: int = 1, scale: str = "log", first: int = 1, shaded: tuple | None = None,
) -> Picture:  # fmt: skip
    """One panel: a loss for each epoch of several runs, each named where its line ends.

    `losses`: label to the list of losses, or to one row for each seed, drawn thin
    behind their mean; a dtype policy as label gets that dtype's color, "yours" the
    reader's, and "S = 2^9" the loss scale's. Between two losses lie
    `every` of what `xlabel` counts, and before the first `first` times that; the axis
    has this `scale`.
    `shaded` is (from, to, why).
    """
    figure, ax = canvas(7.5, 3.6)
    others = itertools.cycle(look["color"] for look in OTHERS)
    dashes = itertools.cycle(
        ["--", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2))]
    )
    colors = COLORS | {"yours": YOU, "S": SCALE}
    ends = []
    for label, values in losses.items():
        name = dtype_of(label).split(" = ")[0]  # "S" of "S = 2^9"
        color = colors.get(name) or next(others)
        dash = ":" if label in COLORS else next(dashes)
        dash = "-" if label == "float32" else dash
        style = {"color": color, "linestyle": dash, "linewidth": 1.8}
        steps = every * (first + np.arange(np.shape(values)[-1]))
        if np.ndim(values) == 2:
            ax.plot(steps, np.transpose(values), color=color, linewidth=0.8, alpha=0.5)
            values = np.mean(values, axis=0)
        # a logarithmic axis has no place for a zero
        there = np.isfinite(values) & ((scale != "log") | (np.asarray(values) > 0))
        ax.plot(steps, np.where(there, values, np.nan), label=label, **style)
        numbers = np.flatnonzero(there)
        last = numbers.max(initial=-1)
        name = power(label)
        if last + 1 < len(steps):
            since = every * (first + 1 + last)
            name = f"{name}: {values[-1]:g} from {xlabel} {since} on"
        ends.append((values[last] if len(numbers) else np.nan, name, style))
    ax.set(xlabel=xlabel, ylabel=ylabel, yscale=scale, title=title)
    if shaded:
        start, end, why = shaded
        ax.axvspan(start, end, color=INK, alpha=0.12, lw=0)
        foot = ("data", "axes fraction")
        ax.annotate(f" {why}", (start, 0.02), xycoords=foot, fontsize=9)
    if scale == "log":
        plain_logarithm(ax, "y")
    name_the_ends(ax, ends)
    return described(figure)


def loss_scale(table=None, drawn: dict | None = None, cliff=None) -> Picture:
    """The scales in a `training.LossScaleRecorder`'s table; a cross at each skipped
    step.

    If the table has a column `ceiling`, it lies over them: from there on a scale
    overflows. A second panel enlarges the last quarter. So does what was `drawn` before
    lie over them, {step: log2 of the scale}; without a table it is shown alone. `cliff`
    is the exponent from which on the bathtub overflows.
    """
    enlarged = table is not None and "ceiling" in table
    options = {"gridspec_kw": {"width_ratios": [5, 3]}} if enlarged else {}
    figure, axes = panels(2 if enlarged else 1, 7.5, 3.6, **options)
    whole = axes[0]
    words = ""
    for ax in axes:
        ax.set_yscale("log", base=2)
        ax.set_xlabel("step")
        if table is not None:
            trace(ax, table)
        if cliff is not None:
            look = {"color": COLORS["float16"], "linestyle": "--", "linewidth": 1.4}
            label = power(f"the bathtub's cliff, 2^{cliff:.0f}")
            ax.axhline(2.0**cliff, label=label, **look)
    if table is not None:
        skipped = ~table["applied"]
        whole.set_title(f"{skipped.sum()} of {len(table)} steps were skipped")
    elif drawn:
        whole.set(
            xlim=(0, 1.05 * max(drawn)),
            ylim=(0.5, 2.0**61),
            yticks=[2.0**s for s in range(0, 61, 10)],
            title="Draw the loss scale",
        )
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
    if drawn:
        look = {"color": YOU, "linestyle": "--", "marker": "D", "markersize": 5}
        scales = [2.0**value for value in drawn.values()]
        whole.plot([*drawn], scales, label="your curve", mec=INK, **look)
        whole.set_ylim(top=max(whole.get_ylim()[1], 2 * max(scales)))
    whole.set_ylabel("loss scale")
    legend(whole)
    return described(figure, words)


def trace(ax, table) -> None:
    """The scale of each step, a cross where it was skipped, and the ceiling if it is
    known.
    """
    skipped = table[~table["applied"]]
    look = {"where": "mid", "color": SCALE, "linewidth": 1.8, "label": "loss scale S"}
    ax.step(table["step"], table["scale"], **look)
    cross = {"color": INK, "markersize": 6, "label": "step skipped"}
    ax.plot(skipped["step"], skipped["scale"], "x", zorder=3, **cross)
    if "ceiling" in table:
        step, ceiling = table["step"], table["ceiling"]
        ax.plot(step, ceiling, color=INK, linewidth=0.8, label="ceiling")
        ax.set_ylim(top=4 * ceiling.max())
        ax.fill_between(step, ceiling, 2.0**99, color=INK, alpha=0.25, lw=0)
        place = {"xycoords": "axes fraction", "va": "top", "fontsize": 9}
        ax.annotate(" overflow", (0, 0.98), **place)


LONG = 8  # halvings in a row that no saw makes
VERDICTS = {
    "rises and dips": """Healthy.
The largest gradient
overflows now and then.
Do nothing.""",
    "falls, then stops falling": """Is the loss of the
skipped steps finite?
No: look at those batches.
Yes: gradients overflowed,
and halving S cured it.""",
    "falls without end": """Loss finite? The backward
pass is not (a square root at 0).
Not finite? Look at batch,
weights, and the first layer
whose output is not finite.""",
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
    figure, axes = panels(len(tables), 8.0, 4.2)
    words = []
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        kind = verdict(table)
        trace(ax, table.drop(columns="ceiling", errors="ignore"))
        ax.set_yscale("log", base=2)
        ax.set_title(f"{kind}\n({name})", fontsize=10)
        advice = VERDICTS[kind]
        ax.set_xlabel(f"step\n{advice}", fontsize=9.5, linespacing=1.5)
        words.append(f"{name}: the scale {kind}. {advice}".replace("\n", " "))
    axes[0].set_ylabel("loss scale S")
    figure.suptitle("What a trace of the loss scale says")
    return Picture(figure, " ".join(words))
