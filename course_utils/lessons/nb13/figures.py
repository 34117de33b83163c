"""Figures of notebook 13: the roofs, recomputation, and forecasts beside the clock."""

import textwrap

import numpy as np
import pandas as pd

from course_utils.figures.base import (
    INK,
    Picture,
    canvas,
    legend,
    legend_below,
    name_all,
    panels,
)
from course_utils.figures.looks import COLORS, LINES, MARKERS, line_look
from course_utils.figures.words import described
from course_utils.roofline import Device


def draw_roofline(device: Device, points: pd.DataFrame, title: str) -> Picture:
    """Operations a second over operations per byte, both axes logarithmic: a roof for
    each dtype.

    Left of its ridge a roof is the memory's slope, which all dtypes share (dotted: that
    of the cache); right of it, the rate of the units. A dot is one pass of one layer, or
    the optimizer: its area is the time that `points` gives it.

    `points`: the DataFrame of `roofline.points`.

    Example: `draw_roofline(devices()["T4"], points, "The layers of a CNN")`.
    """
    figure, ax = canvas(8.0, 4.4)
    roofs: dict = {}
    for dtype in LINES:
        if dtype in device.tflops:
            roofs.setdefault(device.tflops[dtype], []).append(dtype)
    # Below 10¹² operations a second the smaller unit reads better.
    unit = "TFLOP/s"
    scale = 1.0
    if max(roofs) < 1:
        unit = "GFLOP/s"
        scale = 1e3
    slope = scale * 1e-12 * device.bandwidth
    ends = [*points["intensity"], *(scale * peak / slope for peak in roofs)]
    ends = [end for end in ends if end > 0]
    left = min(1.0, *ends) / 4
    right = 4 * max(ends)
    for peak, names in roofs.items():
        ridge = max(left, scale * peak / slope)
        look = line_look(names[0]) | {"marker": "", "linewidth": 2.2}
        label = f"{' and '.join(names)} {scale * peak:.3g} {unit}"
        ax.plot([ridge, right], [scale * peak] * 2, label=label, **look)
    words = [line.get_label() for line in ax.lines]
    top = scale * max(roofs)
    slopes = {"memory": device.gb_per_s, "cache": device.cache_gb_per_s}
    for (place, speed), style in zip(slopes.items(), ("-", ":"), strict=True):
        if speed:
            words.append(f"{place} {speed:.4g} GB/s")
            x = np.array([left, top / (1e-3 * scale * speed)])
            look = {"color": INK, "linewidth": 1.6, "linestyle": style}
            ax.plot(x, 1e-3 * scale * speed * x, label=words[-1], **look)
    alt = (
        f"roofs of {device.name}: {'; '.join(words)}. {_dots(ax, points, scale, unit)}."
    )
    ax.set(xscale="log", yscale="log", xlabel="operations per byte moved", ylabel=unit)
    ax.set_title(title)
    legend(ax, loc="lower right")
    return Picture(figure, alt)


def _dots(ax, points, scale, unit):
    """The dots, the four that take longest and the optimizer with their names; returns it in
    words.
    """
    words = []
    longest = points["ms"].max()
    to_name = {*points.groupby("label")["ms"].max().nlargest(4).index, "adam"}
    first = points[points["label"].isin(to_name)].drop_duplicates("label")
    order = list(first.sort_values("tflops", ascending=False).index)
    for dot in points.itertuples():
        at = (dot.intensity, scale * dot.tflops)
        area = 12 + 500 * dot.ms / longest
        look = {"color": COLORS[dot.dtype], "marker": MARKERS[dot.dtype], "zorder": 5}
        ax.scatter(*at, area, alpha=0.75, edgecolor="#333", **look)
        if dot.Index in order:
            # Beside the slope, and below a roof each a line lower than the one before.
            crowded = dot.intensity > 5
            below = (5, -26 - 13 * order.index(dot.Index)) if crowded else (14, -12)
            line = {"color": INK, "linewidth": 0.6, "relpos": (0, 0.5)}
            ax.annotate(
                dot.label,
                at,
                below,
                textcoords="offset points",
                fontsize=9,
                arrowprops={"arrowstyle": "-", **line},
            )
        if dot.label in to_name:
            text = f"{dot.intensity:.3g} operations per byte, {at[1]:.3g} {unit}, {dot.ms:.2g} ms"
            words.append(f"{dot.label} in {dot.dtype}: {text}")
    return "; ".join(words)


def draw_forecasts(table: pd.DataFrame) -> Picture:
    """Each prediction divided by the measured time; 1 is right.

    `table`: a DataFrame with the columns device, case, policy and ratio. A panel for
    each device, a row for each case, a marker for each policy. The band is 25 % to both
    sides.

    Example: `draw_forecasts(profiling.recorded_forecasts())`.
    """
    devices = table.groupby("device", sort=False)
    cases = list(table["case"].unique())
    height = 1.6 + 0.3 * len(cases)
    figure, axes = panels(len(devices), height=height, sharey=True, sharex=True)
    for ax, (device, here) in zip(axes, devices, strict=True):
        ax.axvspan(0.75, 1.25, color="#00000018", linewidth=0)
        ax.axvline(1, color=INK, linewidth=1)
        for policy, own in here.groupby("policy", sort=False):
            rows = own["case"].map(cases.index)
            look = line_look(policy) | {"linestyle": "none"}
            ax.plot(own["ratio"], rows, label=policy, **look)
        ax.set_title(textwrap.fill(device, 36), fontsize=10)
        ax.set(xlabel="predicted / measured")
        name_all(ax.yaxis, cases)
    axes[0].invert_yaxis()
    legend_below(figure, 2)
    figure.suptitle("Predicted over measured")
    return described(figure)
