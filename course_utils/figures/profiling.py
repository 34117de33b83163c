"""What a trace tells: operations, the parts of a step, and memory over one step."""

import numpy as np
import pandas as pd

from course_utils.figures.base import INK, Picture, canvas, legend, legend_below, panels
from course_utils.figures.looks import line_look, side_by_side, stack
from course_utils.figures.memory import PARTS

STEP_PARTS = {"input": ("#E69F00", "//"), "ops": ("#56B4E9", ""), "overhead": ("#999999", "..")}
WORDS = {"input": "waiting for input", "ops": "operations", "overhead": "neither"}
# The parts of the one time budget, which notebook 07 goes on with.
BUDGET = {
    "input": ("#E69F00", "//"),
    "launch": ("#999999", ".."),
    "products": ("#56B4E9", ""),
    "other": ("#F0E442", "\\\\"),
    "exchange": ("#CC79A7", "xx"),
}
UNTOLD = "not told yet"
PLATE = {"facecolor": "white", "edgecolor": "none", "pad": 1.2, "alpha": 0.85}  # behind numbers
PEAK_PARTS = {
    **{part: PARTS[part] for part in PARTS if part != "activation_gradients"},  # temporary there
    "batch": ("#FFFFFF", "++"),
    "temporary": ("#777777", "\\\\"),
    "rounding": ("#BBBBBB", "oo"),
}


def op_times(tables: dict) -> Picture:
    """Bars side by side: the time of each type of operation in one step, for up to three policies.

    `tables`: {policy: DataFrame of `profiling.op_times`}. After the first eight operations the
    others are summed up as "all others".

    Example: `op_times({"float32": before, "mixed_bfloat16": after})`.
    """
    sums = pd.DataFrame({policy: _by_name(table) for policy, table in tables.items()}).fillna(0.0)
    sums = sums.loc[sums.max(axis=1).sort_values(ascending=False, kind="stable").index]
    shown = sums[:8]
    if len(sums) > 8:
        shown = pd.concat([shown, sums[8:].sum().rename("all others").to_frame().T])
    figure, ax = canvas(width=8.0, height=1.2 + 0.34 * len(shown))
    side_by_side(ax, shown)
    ax.set(xlabel="ms per step, over all threads", title="Which operations take the time of a step")
    totals = [f"{policy}: {shown[policy].sum():.3g} ms in all" for policy in shown]
    legend(ax, labels=totals, fontsize=9, loc="lower right")
    words = [
        f"{policy}: " + ", ".join(f"{name} {ms:.3g} ms" for name, ms in shown[policy].items())
        for policy in shown
    ]
    return Picture(figure, "; ".join(words) + ".")


def time_budget(rows: dict, title: str = "Where the time of a step goes") -> Picture:
    """A lying bar for each row: input, launch, products, other and exchange end to end.

    `rows`: {label: {part: ms}} with parts of `BUDGET`, and "step", the whole, where not every part
    is told yet: what is missing of it stays empty. None and NaN are not told. Rows whose label
    begins with "predicted" are pale.

    Example: `time_budget({"predicted": {"products": 9, "launch": 2}, "measured": {"step": 14}})`.
    """
    table = pd.DataFrame.from_dict(rows, "index", float).reindex(columns=["step", *BUDGET])
    parts = table[list(BUDGET)].fillna(0.0)
    parts[UNTOLD] = (table["step"] - parts.sum(axis=1)).clip(lower=0).fillna(0.0)
    whole = parts.sum(axis=1)
    parts = parts.loc[:, parts.max() > 0.004 * whole.max()]
    figure, ax = canvas(width=7.5, height=1.4 + 0.42 * len(rows))
    looks = BUDGET | {UNTOLD: ("none", "")}
    stack(ax, list(rows), {part: (*looks[part], parts[part]) for part in parts}, 0.62, True)
    for bar in ax.containers[-1] if UNTOLD in parts else ():
        bar.set(edgecolor=INK, linestyle=":", linewidth=1.2, visible=bar.get_width() > 0)
    legend_below(figure, len(parts.columns))
    inside = {"ha": "center", "va": "center", "fontsize": 8, "bbox": PLATE}
    for part, group in zip(parts, ax.containers, strict=True):
        for at, (label, bar) in enumerate(zip(rows, group, strict=True)):
            bar.set_alpha(0.45 if label.startswith("predicted") else 1)
            if bar.get_width() > 0.08 * whole.max():
                middle = bar.get_x() + bar.get_width() / 2
                ax.text(middle, at, "?" if part == UNTOLD else _ms(bar.get_width()), **inside)
    for at, ms in enumerate(whole):
        ax.text(ms, at, f"  {_ms(ms)} ms", color=INK, va="center", fontsize=9)
    ax.invert_yaxis()
    ax.margins(x=0.13)
    ax.set(xlabel="ms", title=title)
    words = []
    for label, row in parts.iterrows():
        said = ", ".join(f"{part} {_ms(ms)}" for part, ms in row.items() if ms > 0)
        words.append(f"{label}: {_ms(whole[label])} ms ({said})")
    return Picture(figure, "; ".join(words) + ".")


def step_times(tables: dict) -> Picture:
    """Bars: the median step, split into waiting for input, operations, and neither.

    Example: `step_times({"as it was": profiling.step_times(trace), "with prefetch": fast})`.
    """
    figure, ax = canvas(height=1.3 + 0.45 * len(tables))
    medians = {label: table.median() for label, table in tables.items()}
    parts = {
        WORDS[part]: (*look, [row[f"{part}_ms"] for row in medians.values()])
        for part, look in STEP_PARTS.items()
    }
    stack(ax, list(medians), parts, 0.6, sideways=True)
    ax.invert_yaxis()
    ax.set(xlabel="ms (median of the steps)", title="What a step spends its time on")
    legend_below(figure, 3)
    words = [
        f"{label}: " + ", ".join(f"{WORDS[p]} {row[f'{p}_ms']:.3g} ms" for p in STEP_PARTS)
        for label, row in medians.items()
    ]
    return Picture(figure, "; ".join(words) + ".")


def step_memory(memories: dict) -> Picture:
    """Lines: memory in use over one step, for each policy; beside it, what the peaks are made of.

    `memories`: {policy: `profiling.Memory`} of traces that tell what is in memory. "other", what is
    older than the step and not the model's, is taken off: steps recorded one after the other in one
    process begin at the same height.
    """
    figure, (line, bars) = panels(2, height=3.8, width_ratios=(1.7, 1))
    words = []
    for policy, memory in memories.items():
        look = line_look(policy)
        less, marker = memory.parts["other"], look.pop("marker")
        ms, mb = memory.timeline["ms"], memory.timeline["mb"] - less
        line.step(ms, mb, where="post", label=policy, **look)
        mark = {"color": look["color"], "markersize": 9, "zorder": 3}
        line.plot(memory.peak_ms, memory.peak_mb - less, marker, **mark)
        if not np.isnan(memory.backward_ms):
            line.axvline(memory.backward_ms, color=look["color"], linewidth=0.8, alpha=0.7)
        seen = memory.parts[list(PEAK_PARTS)][lambda mb: mb > 0.005]
        said = ", ".join(f"{part.replace('_', ' ')} {mb:.3g}" for part, mb in seen.items())
        words.append(f"{policy} peaks at {memory.peak_mb - less:.3g} MB ({said})")
    xlabel = "ms since the step began (thin line: backward pass)"
    line.set(xlabel=xlabel, ylabel="MB in use", ylim=(0, None))
    line.set_title("Memory in use over one step", fontsize=10)
    legend(line, fontsize=8)
    parts = {}
    for part, look in PEAK_PARTS.items():
        held = [memory.parts[part] for memory in memories.values()]
        if max(held) > 0.005:
            parts[part.replace("_", " ")] = (*look, held)
    stack(bars, list(memories), parts, 0.6)
    bars.tick_params(axis="x", labelsize=8)
    bars.set_title("What the peaks are made of (MB)", fontsize=10)
    below_first = {"handles": bars.containers, "reverse": True}
    legend(figure, loc="outside right center", fontsize=8, **below_first)
    return Picture(figure, "; ".join(words) + ".")


def _by_name(table):
    """{operation: ms}, with oneDNN's kernels and fused ones called as TensorFlow's plain ones."""
    names = table["op"].str.replace(r"^_(Mkl)?(Native)?(Fused)?|WithBias$", "", regex=True)
    return table["ms"].groupby(names, sort=False).sum()


def _ms(ms):
    """Two digits, or the whole number: 0.94, 2.1, 21, 480."""
    return f"{ms:.0f}" if ms >= 10 else f"{ms:.2g}"
