"""The patients of the debugging clinic: their losses, and what to ask first."""

import math
import textwrap

import numpy as np

from course_utils.clinic import elimination
from course_utils.figures.base import INK, Picture, canvas, panels, write
from course_utils.figures.looks import COLORS
from course_utils.figures.words import described

ACROSS = 4  # panels in a row of the gallery
ROW, BOX, EDGE = 0.42, 0.95, 1.05  # inches, of the tree


def gallery(record: dict) -> Picture:
    """Every patient's loss over the steps, the same run cured as a thin line; a bar at
    the top, from a cross on, where it is NaN.

    `record`: what `benchmark.records.clinic` gives.
    """
    patients = record["patients"]
    rows = math.ceil(len(patients) / ACROSS)
    figure, axes = panels(ACROSS, 8.0, 1.35 * rows, rows=rows)
    red = COLORS["bfloat16"]
    for number, (ax, patient) in enumerate(zip(axes, patients, strict=False), start=1):
        loss, healthy = (np.array(patient[name], float) for name in ("loss", "healthy"))
        nan = np.isnan(loss)
        ax.plot(healthy, color=INK, linewidth=1, label="cured")
        ax.plot(loss, color=red, linewidth=2.5, marker=".", markersize=3, label="loss")
        if nan.all():
            look = {"color": red, "weight": "bold", "transform": ax.transAxes}
            write(ax, 0.5, 0.5, "NaN in each step", va="baseline", **look)
        else:
            top = np.nanmax([*loss, *healthy])
            starts = np.flatnonzero(np.diff(nan.astype(int), prepend=0) == 1)
            bar = {"color": INK, "linewidth": 4, "clip_on": False}
            cross = {"marker": "x", "markevery": list(starts), "markersize": 9}
            ax.plot(np.where(nan, top, np.nan), **bar, **cross)
        ax.set_title(f"patient {number}", fontsize=9)
        ax.set_xticks([])
        ax.tick_params(labelsize=9)
    for ax in axes[len(patients) :]:
        ax.set_axis_off()
    key = "loss over the steps: thick as reported, thin the same run cured, × and bar: NaN"
    figure.supxlabel(key, fontsize=9)
    return described(figure)


LIMITS = "At each branch, another reading: none of these causes. “healthy” means: healthy so far."


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
        if not way:
            leaves.append((x + BOX + EDGE, "none of these"))
            ends["another"] = len(leaves) - 1
        row = sum(ends.values()) / len(ends)
        for kind, end in ends.items():
            more = BOX / 2 if "ask" in tree["then"].get(kind, "") else 0
            bend = [x + 0.6 * BOX, x + 1.1 * BOX, x + BOX + EDGE + more]
            ax.plot(bend, [row, end, end], color=INK, linewidth=1)
            above = bend[1], end - 0.07
            write(ax, *above, kind, ha="left", va="baseline", style="italic")
        question = f"{textwrap.fill(tool['name'], 14)}\n{tool['minutes']} min"
        plate = {"boxstyle": "round", "fc": "#ffffff", "ec": COLORS["float32"]}
        write(ax, x + BOX / 2, row, question, bbox=plate)
        return row

    place(elimination.tree(record), 0, [])
    end = max(x for x, _ in leaves)
    for row, (x, cause) in enumerate(leaves):
        ax.plot([x, end], [row, row], color=INK, linewidth=1, linestyle=":")
        write(ax, end + 0.05, row, cause, ha="left")
    rows = len(leaves) + 1  # the last one says where the picture ends
    write(ax, 0, rows - 1, LIMITS, ha="left", style="italic")
    figure.set_layout_engine("none")
    figure.set_size_inches(end + 3, ROW * rows)
    ax.set_position([0, 0, 1, 1])
    ax.set_axis_off()
    ax.set(xlim=(-0.1, end + 2.9), ylim=(rows - 0.5, -0.5))
    return Picture(figure, f"{'; '.join(words)}. {LIMITS}")
