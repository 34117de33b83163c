"""The patients of the debugging clinic: their losses, and what to ask first."""

import math
import textwrap

import numpy as np

from course_utils.clinic import elimination
from course_utils.figures.base import INK, Picture, canvas, panels
from course_utils.figures.looks import COLORS

ACROSS = 4  # panels in a row of the gallery
ROW, BOX, EDGE = 0.42, 0.95, 1.05  # inches, of the tree


def gallery(record: dict) -> Picture:
    """Every patient's loss over the steps, the same run cured as a thin line; a cross
    where it ends in NaN.

    `record`: what `benchmark.records.clinic` gives.
    """
    patients = record["patients"]
    rows = math.ceil(len(patients) / ACROSS)
    figure, axes = panels(ACROSS, 8.0, 1.35 * rows, rows=rows)
    words = []
    for number, (ax, patient) in enumerate(zip(axes, patients, strict=False), start=1):
        loss, healthy = (np.array(patient[name], float) for name in ("loss", "healthy"))
        never = np.isnan(loss).all()
        lost = np.flatnonzero(np.isnan(loss) & ~np.isnan([0, *loss[:-1]]))
        ax.plot(healthy, color=INK, linewidth=1)
        ax.plot(loss, color=COLORS["bfloat16"], linewidth=2.5, marker=".", markersize=3)
        if never:
            ax.text(
                0.5, 0.5, "NaN in each step", color=COLORS["bfloat16"], fontsize=9,
                weight="bold", ha="center", transform=ax.transAxes,
            )  # fmt: skip
        else:
            for at in lost:
                top = np.nanmax([*loss, *healthy])
                ax.plot(at, top, "x", color=INK, markersize=9, clip_on=False)
        told = f"{loss[0]:.3g} to {loss[-1]:.3g}".replace("nan", "NaN")
        if never:
            told = "NaN in each step"
        elif len(lost):
            told += f", NaN in {np.isnan(loss).sum()} of {len(loss)} steps"
        ax.set_title(f"patient {number}", fontsize=9)
        ax.set_xticks([])
        ax.tick_params(labelsize=9)
        words.append(
            f"patient {number}: {told}, cured {healthy[0]:.3g} to {healthy[-1]:.3g}"
        )
    for ax in axes[len(patients) :]:
        ax.set_axis_off()
    key = "loss over the steps: thick as reported, thin the same run cured, × where NaN begins"
    figure.supxlabel(key, fontsize=9, color=INK)
    return Picture(figure, "Loss over the steps; " + "; ".join(words) + ".")


LIMITS = "Another reading, at any branch: none of these causes. “healthy” means: healthy so far."


def decision_tree(record: dict) -> Picture:
    """Which instrument to take first, and what its reading leaves, down to a cause in
    each row.

    `record`: what `benchmark.records.clinic` gives; the tree is `clinic.tree`'s.
    """
    names = {patient["key"]: patient["diagnosis"] for patient in record["patients"]}
    figure, ax = canvas(9.0, ROW * len(names))
    leaves, words = [], []

    def place(tree, x, way):
        """Draws a tree with its leaves in the next rows. → the row of its root"""
        if "left" in tree:
            cause = " or ".join(names[key] for key in tree["left"])
            words.append(f"{', '.join(way)}: {cause}")
            leaves.append((x, cause))
            return len(leaves) - 1
        tool = record["instruments"][tree["ask"]]
        ends = {kind: place(then, x + BOX + EDGE, [*way, f"{tool['name']} {kind}"])
                for kind, then in tree["then"].items()}  # fmt: skip
        row = sum(ends.values()) / len(ends)
        for kind, end in ends.items():
            more = BOX / 2 if "ask" in tree["then"][kind] else 0
            bend = [x + 0.6 * BOX, x + 1.1 * BOX, x + BOX + EDGE + more]
            ax.plot(bend, [row, end, end], color=INK, linewidth=1)
            ax.text(bend[1], end - 0.07, kind, color=INK, fontsize=9, style="italic")
        told = f"{textwrap.fill(tool['name'], 14)}\n{tool['minutes']} min"
        look = {
            "boxstyle": "round",
            "facecolor": "#ffffff",
            "edgecolor": COLORS["float32"],
        }
        ax.text(x + BOX / 2, row, told, ha="center", va="center", fontsize=9, bbox=look)
        return row

    place(elimination.tree(record), 0, [])
    end = max(x for x, _ in leaves)
    for row, (x, cause) in enumerate(leaves):
        ax.plot([x, end], [row, row], color=INK, linewidth=1, linestyle=":")
        ax.text(end + 0.05, row, cause, va="center", color=INK, fontsize=9)
    rows = len(leaves) + 1  # the last one says where the picture ends
    ax.text(0, rows - 1, LIMITS, va="center", color=INK, fontsize=9, style="italic")
    figure.set_layout_engine("none")
    figure.set_size_inches(end + 3, ROW * rows)
    ax.set_position([0, 0, 1, 1])
    ax.set_axis_off()
    ax.set(xlim=(-0.1, end + 2.9), ylim=(rows - 0.5, -0.5))
    return Picture(figure, f"{'; '.join(words)}. {LIMITS}")
