"""How much faster than float32: one machine's policies, and those of recorded ones."""

import itertools
import re

import numpy as np

from course_utils.figures.base import (
    INK,
    Picture,
    canvas,
    legend,
    legend_below,
    listed,
    panels,
    short,
)
from course_utils.figures.looks import bar_look, line_look


def policies(comparison, guess: float | None = None) -> Picture:
    """Time, memory and loss of a `benchmark.Comparison`: a panel each, and in the first
    two a row for each policy.

    Beside a bar of speed stands the median of the paired ratios to float32 and the
    interval, drawn as a line; its axis is logarithmic. The dashed line is a guess of
    the better speedup. What is NaN is called unknown.
    """
    table = comparison.table
    rows = range(len(table))
    figure, axes = panels(1, 6.6, 6.0, rows=3, height_ratios=(5, 4, 4))
    time, memory, loss = axes
    last = _last_losses(comparison.steps).reindex(table.index)
    words = []
    for y, (name, row) in enumerate(table.iterrows()):
        look = bar_look(name)
        ratio = row["speedup"] if row["speedup"] > 0 else 1.0  # of none no bar
        interval = row[["speedup_low", "speedup_high"]].to_list()
        time.barh(y, ratio - 1, 0.66, left=1, **look)
        memory.barh(y, np.nan_to_num(row["peak_mb"]), 0.66, **look)
        speed = _or_unknown(row["speedup"], "{:.2f}×")
        peak = _or_unknown(row["peak_mb"], "{:.0f} MB")
        said = f"{name} takes {_or_unknown(row['step_ms'], '{:.3g} ms')} a step"
        if name == "float32":
            _beside(time, y, "1×")
        else:
            between = ""
            if not np.isnan(interval).any():
                between = "({:.2f} to {:.2f})".format(*interval)
                time.plot(interval, [y, y], color=INK, linewidth=2)
            _beside(time, y, f"{speed}\n{between}".strip())
            said += f", speed {speed} {between}".rstrip()
        _beside(memory, y, peak)
        words.append(f"{said}, peak {peak}, loss {_or_unknown(last[name], '{:.3f}')}")
    ends = table[["speedup", "speedup_low", "speedup_high"]].to_numpy(float).ravel()
    around_one(time, [*ends[np.isfinite(ends)], *([] if guess is None else [guess])])
    steps = [_or_unknown(ms, "{:.3g} ms a step") for ms in table["step_ms"]]
    named = [f"{name}\n{ms}" for name, ms in zip(table.index, steps, strict=True)]
    time.set_yticks(rows, named, fontsize=9)
    time.set_ylim(len(table) - 0.4, -0.6)
    if guess is not None:
        time.axvline(guess, color=INK, linestyle="--", linewidth=1.5)
        words.append(f"you guessed {guess:g}")
    memory.set_yticks(rows, table.index, fontsize=9)
    memory.invert_yaxis()
    memory.set_xlim(0, None)
    if table["peak_mb"].isna().all():
        memory.set_xticks([])
    # the later ones are thinner: where all lie on one another, each is seen
    widths = itertools.count(5, -1.6)
    for policy, steps in comparison.steps.groupby("policy", sort=False):
        look = line_look(policy) | {"marker": "" if len(steps) > 9 else "o"}
        look["linewidth"] = max(1.2, next(widths))
        label = f"{policy}\nlast quarter: {_or_unknown(last[policy], '{:.3f}')}"
        loss.plot(steps["round"] + 1, steps["loss"], label=label, **look)
    if len(comparison.steps):
        legend(loss, fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
        loss.margins(y=0.1)
        loss.set_ylim(0, None)
        loss.xaxis.get_major_locator().set_params(integer=True)
        loss.set_xlabel("step")
    dashed = "" if guess is None else " (dashed: your guess)"
    where = f"(batch {comparison.batch_size} on {comparison.device})"
    for ax, title in (
        (time, f"Time: speed of a step against float32{dashed}"),
        (memory, "Memory: peak of a step, in MB"),
        (loss, f"Loss of each step {where}"),
    ):
        look = {"size": 10, "loc": "left", "color": INK}
        ax.set_title(title, pad=18 if ax is time else 6, **look)
    figure.suptitle(_verdict(table, guess), color=INK, size=13)
    return Picture(figure, "; ".join(words) + ".")


def _verdict(table, guess):
    """What the better policy's ratio to float32 says, below what was guessed."""
    speed = table["speedup"].drop("float32", errors="ignore")
    said = "Not measured"
    if speed.notna().any():
        better = speed.idxmax()
        verdict = table["verdict"][better]
        times = f"{speed[better]:.2f}×"
        said = {
            better: f"{better} is faster than float32: {times}",
            "float32": f"{better} is slower than float32: {times}",
            "cannot tell": f"{better}: {times}, and this run cannot tell more",
        }.get(verdict, f"{better} and float32: {verdict}")
    return said if guess is None else f"You guessed {guess:g}×\n{said}"


def _last_losses(steps):
    """The mean loss of each policy over the last quarter of the rounds."""
    late = steps[steps["round"] >= 0.75 * (steps["round"].max() + 1) - 1]
    return late.groupby("policy")["loss"].mean().astype(float)


def _or_unknown(value, form):
    return "unknown" if np.isnan(value) else form.format(value)


def _beside(ax, y, said):
    """Words at the right of a row."""
    place = {"transform": ax.get_yaxis_transform(), "va": "center"}
    ax.text(1.02, y, said, color=INK, fontsize=10, **place)


# What a record's settings are called beside its bars; the notebooks' first cell makes
# the second one itself, on the CPUs that need it.
IN_WORDS = {"TF_ENABLE_ONEDNN_OPTS=0": "oneDNN off", "remapping=off": ""}


def recorded(table) -> Picture:
    """Bars of speed against float32, a pair for each machine and its settings, from
    `benchmark.records.table`, with the interval of newer records. Many machines fit on
    a screen, with a name on one line and no numbers.
    """
    bars = table[table["policy"] != "float32"]
    pairs = list(bars.groupby(["device", "settings"], sort=False))
    many = len(pairs) > 12
    figure, ax = canvas(6.6, 1.4 + (0.2 if many else 0.8) * len(pairs))
    names, words = [], []
    for y, ((device, settings), rows) in enumerate(pairs):
        # "Some CPU 2 cores amx_bf16 avx512_fp16", as `bench` names it
        cpu = re.fullmatch(r"(.+? \d+ cores?) (\w+16.*)", device)
        parts = [cpu[1], cpu[2].replace(" ", ", ")] if cpu else [device]
        parts += [IN_WORDS.get(word, word) for word in settings.split()]
        name = "\n".join(filter(None, parts))
        names.append(short(name, 46, end=20) if many else name)
        for side, row in zip((-0.2, 0.2), rows.itertuples(), strict=False):
            look = {"label": "" if y else row.policy, **bar_look(row.policy)}
            ax.barh(y + side, row.speedup - 1, 0.38, left=1, **look)
            said = f"{row.speedup:.2f}×"
            interval = [row.speedup_low, row.speedup_high]
            if not many:
                _beside(ax, y + side, said)
            ax.plot(interval, [y + side] * 2, color=INK, linewidth=2)
            words.append(f"{names[-1].replace(chr(10), ', ')}: {row.policy} {said}")
    ax.set_yticks(range(len(pairs)), names, fontsize=9)
    ax.set_ylim(-0.6, len(pairs) - 0.4)
    ends = bars[["speedup", "speedup_low", "speedup_high"]].to_numpy(float).ravel()
    around_one(ax, ends[np.isfinite(ends)])
    faster = table[table["speedup"] > 1].groupby("policy").size()
    gains = [
        f"{name} in {faster.get(name, 0)}" for name in dict.fromkeys(bars["policy"])
    ]
    ax.set_title(
        f"Of {len(pairs)} records, faster than float32: {listed(gains)}",
        size=11,
        pad=22,
    )
    ax.set_xlabel("speed of a training step against float32")
    legend_below(figure, columns=2)
    return Picture(figure, "; ".join(words) + ".")


def around_one(ax, speeds):
    """A logarithmic axis of speeds: an octave to each side of 1, or as far as they
    reach.
    """
    octaves = np.log2([1.0, *speeds])
    low = min(-1, octaves.min()) - 0.4
    high = max(1, octaves.max()) + 0.4
    apart = int(np.searchsorted([5, 10], high - low)) + 1
    powers = [p for p in range(-64, 64) if p % apart == 0 and low < p < high]
    shown = [f"{2**p}×" if p >= 0 else f"1/{2**-p}×" for p in powers]
    ax.set(xscale="log", xlim=(2.0**low, 2.0**high))
    ax.set_xticks([2.0**p for p in powers], shown)
    ax.minorticks_off()
    ax.invert_yaxis()
    ax.axvline(1, color=INK, linewidth=1.5)
    ax.axvspan(2.0**low, 1, color=INK, alpha=0.07, linewidth=0)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    above = {
        "xycoords": ax.get_xaxis_transform(),
        "textcoords": "offset points",
        "color": INK,
    }
    for side, offset, said in (("right", -8, "← slower"), ("left", 8, "faster →")):
        ax.annotate(said, (1, 1), (offset, 4), ha=side, va="bottom", **above)
