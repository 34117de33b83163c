"""Where the bytes are."""

import numpy as np

from course_utils.figures.base import INK, Picture, canvas, legend, legend_below, panels
from course_utils.figures.looks import EDGE, line_look

PARTS = {
    "weights": ("#56B4E9", ""),
    "gradients": ("#E69F00", "xx"),
    "optimizer": ("#999999", ".."),
    "weight_copies": ("#CC79A7", "||"),
    "activations": ("#F0E442", "//"),
    "activation_gradients": ("#F0E442", "xx"),
}


def memory_by_batch(accounts, sweep) -> Picture:
    """What a step needs as areas over the batch size, a panel for each policy, and
    measured peaks.

    `accounts`: {(batch_size, policy): `roofline.MemoryAccount`}, of two batch sizes at
    least; `sweep`: the DataFrame of `benchmark.batch_sweep`, whose peaks are drawn with
    the line through them. Every part is a straight line in the batch size, so it is
    drawn down to 0.
    """
    policies = list(dict.fromkeys(policy for _, policy in accounts))
    figure, axes = panels(len(policies), height=3.8, sharey=True)
    words = []
    for ax, policy in zip(axes, policies, strict=True):
        own = {
            size: account
            for (size, name), account in accounts.items()
            if name == policy
        }
        ends = np.array([0, max(own)])
        sizes = list(own)
        parts = {part: [getattr(a, part) / 1e6 for a in own.values()] for part in PARTS}
        lines = [np.polyfit(sizes, held, 1) for held in parts.values()]
        areas = ax.stackplot(ends, [np.polyval(line, ends) for line in lines])
        for area, (part, (color, hatch)) in zip(areas, PARTS.items(), strict=True):
            area.set(facecolor=color, hatch=hatch, label=part.replace("_", " "), **EDGE)
        said = "counted {1:.3g} MB + {0:.3f} MB an image".format(*np.sum(lines, axis=0))
        found = sweep[(sweep["policy"] == policy) & sweep["peak_mb"].notna()]
        if len(found) > 1:
            line = np.polyfit(found["batch_size"], found["peak_mb"], 1)
            said += "\nmeasured {1:.3g} MB + {0:.3f} MB an image".format(*line)
            ax.plot(
                ends, np.polyval(line, ends), color=INK, linestyle="--", linewidth=1.2
            )
            ax.plot(
                found["batch_size"],
                found["peak_mb"],
                "D",
                color=INK,
                label="measured peak",
            )
        ax.set(xlabel="batch size", xlim=ends, ylim=(0, None))
        ax.set_title(f"{policy}\n{said}", fontsize=9)
        words.append(f"{policy}: {', '.join(said.splitlines())}")
    axes[0].set_ylabel("memory of a step (MB)")
    figure.suptitle("Memory of a step as the batch grows", color=INK)
    legend_below(figure, 4, handles=axes[0].get_legend_handles_labels()[0])
    return Picture(figure, "; ".join(words) + ".")


def bytes_per_parameter(sweep, parameters: int, pays_from: float) -> Picture:
    """Measured peaks over the batch size in bytes per parameter, and where 16 bits
    should pay.

    `sweep`: the DataFrame of `benchmark.batch_sweep`; `pays_from`: the predicted batch
    size.
    """
    figure, ax = canvas(width=7.5, height=3.2)
    words = []
    for policy, rows in sweep.groupby("policy", sort=False):
        found = rows["peak_mb"] * 1e6 / parameters
        ax.plot(rows["batch_size"], found, label=policy, **line_look(policy))
        words.append(
            f"{policy} {found.iloc[0]:.3g} to {found.iloc[-1]:.3g} bytes per parameter"
        )
    ax.axvline(pays_from, color=INK, linewidth=1)
    ax.set(xlabel="batch size", ylabel="bytes per parameter", ylim=(10, None))
    ax.set_title("Peak memory of a step for each parameter of the model")
    place = {
        "xytext": (4, 4),
        "textcoords": "offset points",
        "color": INK,
        "fontsize": 9,
    }
    ax.annotate(
        f"predicted to pay\nfrom batch {pays_from:.0f}", (pays_from, 10), **place
    )
    legend(ax)
    sizes = sweep["batch_size"]
    said = f"from batch {sizes.min()} to {sizes.max()}: {'; '.join(words)}"
    return Picture(figure, f"{said}; they should pay from batch {pays_from:.0f}.")
