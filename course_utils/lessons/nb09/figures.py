"""The patients of the debugging clinic: their losses."""

import math

import numpy as np

from course_utils.figures.base import INK, Picture, panels, write
from course_utils.figures.looks import COLORS
from course_utils.figures.words import described

ACROSS = 6  # panels in a row of the gallery


def draw_gallery(record: dict) -> Picture:
    """Every patient's loss over the steps, the same run cured as a thin line; a bar at
    the top, from a cross on, where it is NaN.

    `record`: what `records.clinic` gives.
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
            write(ax, 0.5, 0.5, "NaN in\neach step", va="center", **look)
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
