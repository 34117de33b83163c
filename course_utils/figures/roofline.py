"""The roofline: what a device can do, and where steps and layers stand below it."""

from course_utils.figures.base import INK, Picture, canvas, legend
from course_utils.figures.looks import COLORS, LINES, MARKERS


def roofline(device, points=None, title: str | None = None) -> Picture:
    """Operations a second over operations per byte, both axes logarithmic: a roof for each dtype.

    Left of its ridge a roof is the memory's slope, which all dtypes share; right of it, the rate of
    the units. Predicted dots are hollow, measured ones full. An arrow leads from the prediction for
    float32 to those for 16 bits.

    `device`: a `roofline.Device`; `points`: the DataFrame of `roofline.points`, or None for the
    roofs alone.

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
        style = {"color": COLORS[names[0]], "linestyle": LINES[names[0]], "linewidth": 2.2}
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
        ax.plot([left, top], [slope * left, slope * top], color=INK, linewidth=1.6, label=said)
        told += f"; {said}"
    if points is not None and len(points):
        told += ". " + _dots(ax, points, scale, unit)
        if points["measured"].any():
            for said, fill in (("predicted", "none"), ("measured", INK)):
                ax.plot([], [], "o", color=INK, markerfacecolor=fill, label=said)
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
    """The dots, and arrows from float32 to 16 bits; returns it in words."""
    words = []
    for dot in points.itertuples():
        at, color = (dot.intensity, scale * dot.tflops), COLORS[dot.dtype]
        style = {"color": color, "markerfacecolor": color if dot.measured else "none"}
        style |= {"markeredgewidth": 1.8, "markersize": 8, "zorder": 5}
        ax.plot(*at, MARKERS[dot.dtype], **style)
        if dot.dtype == "float32" and not dot.measured:
            start = at
        elif not dot.measured:
            arrow = {"arrowstyle": "->", "color": INK, "shrinkA": 6, "shrinkB": 6}
            ax.annotate("", xy=at, xytext=start, arrowprops=arrow)
        kind = "measured" if dot.measured else "predicted"
        words.append(
            f"step in {dot.dtype}, {kind}: {dot.intensity:.3g} operations per byte, "
            f"{at[1]:.3g} {unit}"
        )
    return "; ".join(words)
