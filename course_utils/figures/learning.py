"""What is learned and how training goes: digits, losses, accuracy, loss scale."""

import itertools

import numpy as np
import pandas as pd

from course_utils.figures.base import INK, Picture, canvas, legend, panels
from course_utils.figures.looks import COLORS, dtype_of, line_look


def digits(images, labels) -> Picture:
    """The first ten of uint8 images (n, 28, 28) in a row, each under its label."""
    figure, axes = panels(10, height=1.3)
    for ax, image, label in zip(axes, images, labels, strict=False):
        ax.imshow(image, cmap="gray")
        ax.set_axis_off()
        ax.set_title(str(label))
    shown = ", ".join(str(label) for label in labels[:10])
    return Picture(figure, f"handwritten digits, white on black: {shown}.")


def loss_curves(curves) -> Picture:
    """Two panels: the loss over the steps, and how far apart two runs are at each step.

    Left: the median of the seeds as a line and their range as a band, per policy. Right: the
    distance from float32 with the same seed, beside the distance between two seeds. `curves`: the
    DataFrame of `benchmark.loss_curves`, float32 among the policies.
    """
    figure, axes = panels(2)
    if curves.empty:
        return Picture(figure, "the training was interrupted before its first step.")
    loss = curves.pivot(index="step", columns=["policy", "seed"], values="loss")
    loss = loss.loc[:, loss.notna().sum() == len(loss)]  # without a seed that was interrupted
    seeds = loss["float32"].columns
    words = []
    for policy in loss.columns.unique("policy"):
        style, runs = line_look(policy) | {"marker": ""}, loss[policy]
        axes[0].plot(runs.median(axis=1), label=policy, **style)
        band = runs.min(axis=1), runs.max(axis=1)
        axes[0].fill_between(runs.index, *band, alpha=0.2, color=style["color"])
        if policy != "float32":
            apart = (runs - loss["float32"]).abs().median(axis=1)
            axes[1].plot(_smooth(apart), label=f"{policy} and float32", **style)
            words.append(f"{policy} and float32 differ by {apart.median():.2g}")
    if len(seeds) > 1:
        pairs = itertools.combinations(seeds, 2)
        two = [(loss["float32"][a] - loss["float32"][b]).abs() for a, b in pairs]
        apart = pd.concat(two, axis=1).median(axis=1)
        style = {"color": COLORS["float32"], "marker": "."}
        axes[1].plot(_smooth(apart), label="two seeds, float32", **style)
        words.append(f"two seeds of float32 by {apart.median():.2g}")
    axes[0].set(ylabel="loss of the batch", title=f"Median and range of {len(seeds)} seeds")
    axes[1].set_ylabel("difference in loss")
    axes[1].set_title("How far two runs are apart (mean of 10 steps)", fontsize=10)
    for ax in axes:
        ax.set(xlabel="training step", yscale="log")
        legend(ax, fontsize=8)
    return Picture(figure, f"half of the time, {', '.join(words)} or less.")


def training(history) -> Picture:
    """Two or three panels over the steps of `TrainingPanel.history`: loss, accuracy, loss scale."""
    keys = [key for key in ("loss", "accuracy", "loss_scale") if key in history[-1]]
    figure, axes = panels(len(keys), height=2.4)
    shown = history[:: len(history) // 500 + 1]  # more points than pixels only take time
    for ax, key in zip(axes, keys, strict=True):
        ax.plot([r["step"] for r in shown], [r[key] for r in shown], color=COLORS["float32"])
        ax.set(xlabel="step", title=key.replace("_", " "))
    axes[0].set_yscale("log")
    if "loss_scale" in keys:
        axes[-1].set_yscale("log", base=2)
    last = ", ".join(f"{key.replace('_', ' ')} {history[-1][key]:.4g}" for key in keys)
    return Picture(figure, f"after {len(history)} steps: {last}.")


def histories(losses: dict, title: str, ylabel: str = "training loss") -> Picture:
    """One panel: a loss for each epoch of several runs, each named where its line ends.

    `losses`: label to the list of losses; a dtype policy as label gets that dtype's color.
    """
    figure, ax = canvas(width=7.5, height=3.6)
    others = iter(["#56B4E9", "#E69F00", "#CC79A7", INK])  # no dtype's colors
    dashes = iter(["--", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2))])
    ends = []
    for label, values in losses.items():
        pure = label in COLORS and label != "float32"
        color = COLORS[dtype_of(label)] if dtype_of(label) in COLORS else next(others)
        dash = ":" if pure else "-" if label == "float32" else next(dashes)
        style = {"color": color, "linestyle": dash, "linewidth": 1.8}
        ax.plot(range(1, len(values) + 1), values, **style)
        ends.append((values[-1], label, style))
    ax.set(xlabel="epoch", ylabel=ylabel, yscale="log", title=title)
    _name_the_ends(ax, ends)
    said = ", ".join(f"{label} {value:.3g}" for value, label, _ in ends)
    return Picture(figure, f"after {len(values)} epochs the loss is: {said}.")


def loss_scale(table) -> Picture:
    """The scales in a `training.LossScaleRecorder`'s table; a cross at each skipped step."""
    figure, ax = canvas(width=7.5, height=2.8)
    skipped = table[~table["applied"]]
    ax.step(table["step"], table["scale"], where="mid", color=COLORS["float32"], label="loss scale")
    cross = {"color": COLORS["bfloat16"], "markersize": 8, "label": "step skipped"}
    ax.plot(skipped["step"], skipped["scale"], "x", **cross)
    ax.set_yscale("log", base=2)
    title = f"{len(skipped)} of {len(table)} steps were skipped"
    ax.set(xlabel="step", ylabel="loss scale", title=title)
    legend(ax, fontsize=8)
    low, high = table["scale"].min(), table["scale"].max()
    moves = f"the loss scale moves between {low:.4g} and {high:.4g} in {len(table)} steps"
    return Picture(figure, f"{moves}; {len(skipped)} of them were skipped.")


def _name_the_ends(ax, ends):
    """Labels right of the lines' ends, moved apart where lines end together."""
    ends = sorted(ends, key=lambda end: end[0])
    low, high = np.log10(ax.get_ylim())
    place = -1.0
    for value, label, style in ends:
        place = max((np.log10(value) - low) / (high - low), place + 0.075)
        ax.plot([1.01, 1.07], [place, place], transform=ax.transAxes, clip_on=False, **style)
        ax.text(1.08, place, label, color=INK, va="center", fontsize=9, transform=ax.transAxes)


def _smooth(series):
    return series.rolling(10, min_periods=1).mean()
