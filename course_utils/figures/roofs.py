"""The roofline: what a device can do, and where steps and layers stand below it."""

from course_utils.figures.base import INK, Picture, canvas, legend
from course_utils.figures.looks import COLORS, LINES, MARKERS


def roofline(device, points=None, title: str | None = None) -> Picture:
    """Operations a second over operations per byte, both axes logarithmic: a roof for
    each dtype.

    Left of its ridge a roof is the memory's slope, which all dtypes share; right of it,
    the rate of the units. A dot is one pass of one layer, or the optimizer: its area is the time
    that it takes at best.

    `device`: a `roofline.Device`; `points`: the DataFrame of `roofline.points`, or None
    for the roofs alone.

    Example: `figures.roofline(devices()["T4"])`.
    """
    figure, ax = canvas(width=8.0, height=4.4)
    roofs = _roofs(device)
    # Below 10¹² operations a second the smaller unit reads better.
    unit, scale = ("GFLOP/s", 1e3) if max(roofs.values()) < 1 else ("TFLOP/s", 1.0)
    left, right = _range(device, points)
    slope = scale * 1e-12 * device.bandwidth
    words = []
    for names, peak in roofs.items():
        ridge = max(left, scale * peak / slope)
        style = {
            "color": COLORS[names[0]],
            "linestyle": LINES[names[0]],
            "linewidth": 2.2,
        }
        said = f"{' and '.join(names)} {scale * peak:.3g} {unit}"
        ax.plot([ridge, right], [scale * peak] * 2, label=said, **style)
        words.append(said)
    told = f"roofs of {device.name}: {'; '.join(words)}"
    if device.gb_per_s is None:
        told += "; its memory was not measured, so there is no slope"
        ax.set_ylim(scale * min(roofs.values()) / 30, scale * max(roofs.values()) * 2)
    else:
        said = f"memory {device.gb_per_s:.4g} GB/s"
        top = scale * max(roofs.values()) / slope
        ax.plot(
            [left, top],
            [slope * left, slope * top],
            color=INK,
            linewidth=1.6,
            label=said,
        )
        told += f"; {said}"
    if points is not None and len(points):
        told += ". " + _dots(ax, points, scale, unit)
    ax.set(xscale="log", yscale="log", xlabel="operations per byte moved", ylabel=unit)
    ax.set_title(title or f"The roofs of {device.name}")
    legend(ax, loc="lower right", fontsize=9)
    return Picture(figure, told + ".")


def _roofs(device):
    """{dtypes of the same rate: that rate in 10¹² operations a second}."""
    same = {}
    for dtype in LINES:
        if dtype in device.tflops:
            same.setdefault(device.tflops[dtype], []).append(dtype)
    return {tuple(names): peak for peak, names in same.items()}


def _range(device, points):
    """Intensities from a fourth of the smallest point to four times the last ridge."""
    dots = [] if points is None else list(points["intensity"][points["intensity"] > 0])
    ridges = [1e12 * peak / device.bandwidth for peak in device.tflops.values()]
    inside = [*dots, *(ridge for ridge in ridges if ridge > 0)] or [1.0]
    return min(1.0, *inside) / 4, 4 * max(inside)


def _dots(ax, points, scale, unit):
    """The dots, the four that take longest and the optimizer with their names; returns it in
    words.
    """
    words = []
    longest = points["ms"].max()
    named = {*points.groupby("label")["ms"].max().nlargest(4).index, "adam"}
    first = points[points["label"].isin(named)].drop_duplicates("label")
    order = list(first.sort_values("intensity", ascending=False).index)
    for dot in points.itertuples():
        at = (dot.intensity, scale * dot.tflops)
        look = {
            "color": COLORS[dot.dtype],
            "alpha": 0.75,
            "edgecolor": "#333",
            "zorder": 5,
        }
        ax.scatter(
            *at, s=12 + 500 * dot.ms / longest, marker=MARKERS[dot.dtype], **look
        )
        if dot.Index in order:
            # Beside the slope, and below a roof each a line lower than the one before.
            crowded = dot.intensity > 5
            below = (5, -26 - 13 * order.index(dot.Index)) if crowded else (14, -12)
            line = {
                "arrowstyle": "-",
                "color": INK,
                "linewidth": 0.6,
                "relpos": (0, 0.5),
            }
            beside = {
                "xytext": below,
                "textcoords": "offset points",
                "arrowprops": line,
            }
            ax.annotate(dot.label, at, color=INK, fontsize=9, **beside)
        if dot.label in named:
            told = f"{dot.intensity:.3g} operations per byte, {at[1]:.3g} {unit}, {dot.ms:.2g} ms"
            words.append(f"{dot.label} in {dot.dtype}: {told}")
    return "; ".join(words)
