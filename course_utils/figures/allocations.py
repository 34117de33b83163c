"""Where the bytes of a training step are, counted and measured."""

import numpy as np

from course_utils.figures.base import INK, Picture, canvas, legend, legend_below, panels
from course_utils.figures.looks import COLORS, HATCHES, dtype_of, line_look
from course_utils.figures.series import stack
from course_utils.figures.words import described
from course_utils.profiling.ops import BACKWARD
from course_utils.profiling.recordings import PASSES

PARTS = {
    "weights": ("#56B4E9", ""),
    "gradients": ("#E69F00", "xx"),
    "optimizer": ("#999999", ".."),
    "weight_copies": ("#CC79A7", "||"),
    "activations": ("#F0E442", "//"),
}


LARGE = 0.02  # of the peak: what an array has to be for its operation to be drawn


def alive(lines: dict, steps: dict) -> Picture:
    """MB of arrays that are alive while each operation of a step runs, a line a policy.

    `lines`: policy to the MB in the order of the operations; the highest point of each
    is marked. `steps`: policy to these operations (`roofline.operations`). Those that
    make and free little are left out; the others spread evenly over their band, so that
    the bands of all policies coincide.
    """
    figure, ax = canvas(width=8.0, height=3.4)
    words = []
    tops = {policy: max(mb) for policy, mb in lines.items()}
    large = {
        policy: np.flatnonzero(np.abs(np.diff(mb, prepend=0)) > LARGE * tops[policy])
        for policy, mb in lines.items()
    }
    phases = {policy: _phases(step)[large[policy]] for policy, step in steps.items()}
    counts = {policy: np.bincount(own, minlength=3) for policy, own in phases.items()}
    widths = np.max(list(counts.values()), axis=0)
    starts = np.cumsum([0, *widths])
    for policy, mb in lines.items():
        own = phases[policy]
        nth = np.concatenate([np.arange(count) for count in counts[policy]])
        x = starts[own] + widths[own] * (nth + 0.5) / counts[policy][own]
        values = np.array(mb)[large[policy]]
        look = line_look(policy)
        ax.step(x, values, where="mid", label=policy, **look | {"marker": ""})
        top = int(np.argmax(values))
        at = (x[top], tops[policy])
        ax.plot(*at, look["marker"], color=look["color"], markersize=8)
        text = f"{tops[policy]:.1f} MB"
        ax.annotate(text, at, (8, 2), textcoords="offset points", fontsize=9)
        words.append(f"{policy} has its peak of {text} in the {PASSES[own[top]]} pass")
    for n, name in enumerate(PASSES):
        ax.axvspan(*starts[n : n + 2], color=INK, alpha=0.06 * (n % 2), linewidth=0)
        look = {"ha": "center", "va": "top", "fontsize": 10}
        middle = starts[n : n + 2].mean()
        ax.text(middle, 0.98, name, transform=ax.get_xaxis_transform(), **look)
    first, *_, last = tops
    ratio = f"{tops[last] / tops[first]:.2f}"
    ax.set_title(f"At the peak of {last} {ratio} of {first}'s bytes are alive")
    ax.set(
        xlabel="operations that make or free large arrays, in their order",
        ylabel="arrays alive (MB)",
        ylim=(0, 1.25 * max(tops.values())),
        xlim=(0, starts[-1]),
        xticks=[],
    )
    legend(ax, loc="center right")
    return Picture(figure, f"{ax.get_title()}: {'; '.join(words)}.")


def _phases(step):
    """The pass of each operation, as its place in PASSES."""
    backward = [n for n, op in enumerate(step) if BACKWARD in op.name]
    phases = np.zeros(len(step), int)
    if backward:
        phases[backward[0] :] = 1
        phases[backward[-1] + 1 :] = 2
    return phases


def peak_parts(measured) -> Picture:
    """The counted and the measured peak of a step: a panel for each batch, two policies
    in each.

    `measured`: the DataFrame of `profiling.peaks`. A bar stacks the medians of the
    variables, the arrays and the working space. Beside it are the medians of what the
    step asked for and of what the allocator gave, each with its range over the builds.
    """
    batches = list(measured.groupby("batch", sort=False))
    figure, axes = panels(len(batches), width=8.4, height=3.9)
    within = []
    for ax, (batch, here) in zip(axes, batches, strict=True):
        policies = list(dict.fromkeys(here["policy"]))
        for place, policy in enumerate(policies):
            own = here[here["policy"] == policy].drop(columns=["policy", "batch"])
            middle = own.median()
            arrays = middle["counted"] - middle["variables"]
            dtype = dtype_of(policy)
            parts = {
                "variables": ("#999999", "", middle["variables"]),
                f"arrays alive, {policy}": (COLORS[dtype], HATCHES[dtype], arrays),
                "working space": ("#F0E442", "xx", np.nan_to_num(middle["working"])),
            }
            top = stack(ax, place - 0.12, parts, 0.5)
            for shift, column, label, marker in (
                (0.26, "asked", "asked for, measured", "D"),
                (0.42, "given", "given by the allocator", "^"),
            ):
                low, high = own[column].min(), own[column].max()
                ax.plot(2 * [place + shift], [low, high], color=INK, linewidth=1.5)
                ax.plot(place + shift, middle[column], marker, color=INK, label=label)
            if own["asked"].notna().all():
                within.append(own["asked"].min() <= top <= own["given"].max())
        names = [name.replace("mixed_", "mixed_\n") for name in policies]
        ax.set_xticks(range(len(policies)), names, fontsize=9)
        ax.set(xlim=(-0.5, len(policies) - 0.4), ylim=(0, None))
        ax.set_title(f"batch {batch}", fontsize=10)
        ax.margins(y=0.1)
    axes[0].set_ylabel("peak of a step (MB)")
    figure.suptitle(
        "Count and working space are within the measured spread in "
        f"{sum(within)} of {len(within)} cases"
        if within
        else "Counted: this device's allocator does not tell what it gave"
    )
    handles, labels = axes[0].get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    legend_below(figure, 3, handles=once.values(), labels=once.keys())
    return described(figure)
