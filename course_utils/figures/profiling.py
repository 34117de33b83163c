"""What a trace tells: operations, the parts of a step, and memory over one step."""

import numpy as np

from course_utils.figures.base import (
    COLORS,
    HATCHES,
    INK,
    LINES,
    MARKERS,
    Picture,
    canvas,
    dtype_of,
    legend,
)
from course_utils.figures.memory import PARTS

STEP_PARTS = {"input": ("#E69F00", "//"), "ops": ("#56B4E9", ""), "overhead": ("#999999", "..")}
WORDS = {"input": "waiting for input", "ops": "operations", "overhead": "neither"}
PEAK_PARTS = {
    **PARTS,
    "batch": ("#FFFFFF", "++"),
    "temporary": ("#777777", "\\\\"),
    "rounding": ("#BBBBBB", "oo"),
    "other": ("#DDDDDD", ""),
}


def op_times(tables: dict, top: int = 8) -> Picture:
    """Bars side by side: the time of each type of operation in one step, for each policy.

    Args:
        tables: {policy: DataFrame of `profiling.op_times`}; up to three policies.
        top: how many operations to name; the others are summed up as "all others".

    Raises:
        ValueError: no table has an operation in it.

    Example:
        figures.profiling.op_times({"float32": before, "mixed_bfloat16": after})
    """
    sums = {policy: _by_name(table) for policy, table in tables.items()}
    largest = {}
    for table in sums.values():
        for name, ms in table.items():
            largest[name] = max(ms, largest.get(name, 0))
    if not largest:
        raise ValueError("These traces hold no operation: record a step that runs some.")
    names = sorted(largest, key=largest.get, reverse=True)[:top]
    rows = {p: [t.get(n, 0.0) for n in names] for p, t in sums.items()}
    if len(largest) > top:
        for policy, table in sums.items():
            rows[policy].append(sum(table.values()) - sum(rows[policy]))
        names = [*names, "all others"]
    figure, ax = canvas(width=8.0, height=1.2 + 0.34 * len(names))
    height = 0.8 / len(rows)
    for number, (policy, values) in enumerate(rows.items()):
        dtype = dtype_of(policy)
        at = np.arange(len(names)) + (number - (len(rows) - 1) / 2) * height
        style = {"color": COLORS[dtype], "hatch": HATCHES[dtype], "edgecolor": "#333"}
        total = f"{policy}: {sum(values):.3g} ms in all"
        ax.barh(at, values, height, label=total, linewidth=0.5, **style)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set(xlabel="ms per step, over all threads")
    ax.set_title("Which operations take the time of a step", color=INK)
    legend(ax, fontsize=9, loc="lower right")
    words = []
    for policy, values in rows.items():
        said = ", ".join(f"{n} {v:.3g} ms" for n, v in zip(names, values, strict=True))
        words.append(f"{policy}: {said}")
    return Picture(figure, "; ".join(words) + ".")


def step_times(tables: dict) -> Picture:
    """Bars: the median step, split into waiting for input, operations, and neither.

    Args:
        tables: {label: DataFrame of `profiling.step_times`}.

    Example:
        figures.profiling.step_times({"as it was": slow, "with prefetch": fast})
    """
    figure, ax = canvas(height=1.3 + 0.45 * len(tables))
    medians = {label: table.median() for label, table in tables.items()}
    left = np.zeros(len(tables))
    for part, (color, hatch) in STEP_PARTS.items():
        values = np.array([row[f"{part}_ms"] for row in medians.values()])
        style = {"color": color, "hatch": hatch, "edgecolor": "#333", "linewidth": 0.5}
        ax.barh(list(medians), values, 0.6, left=left, label=WORDS[part], **style)
        left += values
    ax.invert_yaxis()
    ax.set(xlabel="ms (median of the steps)")
    ax.set_title("What a step spends its time on", color=INK)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, labelcolor=INK, fontsize=9)
    words = [
        f"{label}: " + ", ".join(f"{WORDS[p]} {row[f'{p}_ms']:.3g} ms" for p in STEP_PARTS)
        for label, row in medians.items()
    ]
    return Picture(figure, "; ".join(words) + ".")


def step_memory(memories: dict, other: bool = True) -> Picture:
    """Lines: memory in use over one step, for each policy; beside it, what the peaks are made of.

    Args:
        memories: {policy: `profiling.Memory`}. One that knows nothing is left out and named.
        other: whether to draw what is older than the step and not the model's; without it, steps
            that were recorded one after the other in one process begin at the same height.

    Raises:
        ValueError: none of them knows what was in memory.

    Example:
        figures.profiling.step_memory({"float32": before, "mixed_bfloat16": after})
    """
    known = {policy: m for policy, m in memories.items() if len(m.timeline)}
    if not known:
        raise ValueError(next(iter(memories.values())).notes[0])
    drawn = [part for part in PEAK_PARTS if other or part != "other"]
    options = {"width_ratios": (1.7, 1)}
    figure, (line, bars) = canvas(2, width=8.0, height=3.8, gridspec_kw=options)
    words = []
    for policy, memory in known.items():
        dtype = dtype_of(policy)
        style = {"color": COLORS[dtype], "linestyle": LINES[dtype], "label": policy}
        less = 0.0 if other else memory.parts["other"]
        line.step(memory.timeline["ms"], memory.timeline["mb"] - less, where="post", **style)
        mark = {"color": COLORS[dtype], "marker": MARKERS[dtype], "linestyle": "", "zorder": 3}
        line.plot(memory.peak_ms, memory.peak_mb - less, markersize=9, **mark)
        if not np.isnan(memory.backward_ms):
            line.axvline(memory.backward_ms, color=COLORS[dtype], linewidth=0.8, alpha=0.7)
        said = ", ".join(
            f"{part.replace('_', ' ')} {mb:.3g}"
            for part, mb in memory.parts[drawn].items()
            if mb > 0.005
        )
        words.append(f"{policy} peaks at {memory.peak_mb - less:.3g} MB ({said})")
    line.set(xlabel="ms since the step began (thin line: backward pass)", ylabel="MB in use")
    line.set_ylim(0)
    line.set_title("Memory in use over one step", color=INK, fontsize=10)
    legend(line, fontsize=8)
    bottom = np.zeros(len(known))
    for part in drawn:
        color, hatch = PEAK_PARTS[part]
        values = np.array([memory.parts[part] for memory in known.values()])
        if values.max() > 0.005:
            style = {"color": color, "hatch": hatch, "edgecolor": "#333", "linewidth": 0.5}
            bars.bar(list(known), values, 0.6, bottom=bottom, label=part.replace("_", " "), **style)
            bottom += values
    bars.tick_params(axis="x", labelsize=8)
    bars.set_title("What the peaks are made of (MB)", color=INK, fontsize=10)
    handles, labels = bars.get_legend_handles_labels()
    look = {"frameon": False, "labelcolor": INK, "fontsize": 8}
    figure.legend(handles[::-1], labels[::-1], loc="outside right center", **look)
    words += [f"{policy}: unknown" for policy in memories if policy not in known]
    return Picture(figure, "; ".join(words) + ".")


def _by_name(table):
    """{operation: ms}, with oneDNN's kernels and fused ones called as TensorFlow's plain ones."""
    names = table["op"].str.replace(r"^_(Mkl)?(Native)?(Fused)?|WithBias$", "", regex=True)
    return table["ms"].groupby(names).sum().to_dict()
