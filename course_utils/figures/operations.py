"""Single operations: their time in each dtype, and what casting to float32 and back would take."""

import numpy as np

from course_utils.figures.base import COLORS, HATCHES, INK, Picture, canvas, legend

CAST_PARTS = {
    "to float32": ("#E69F00", "//", "cast to float32"),
    "compute": (COLORS["float32"], "", "compute in float32"),
    "back": ("#F0E442", "xx", "cast back"),
}


def by_dtype(times) -> Picture:
    """Bars: the time of each operation in each dtype against its time in float32.

    Args:
        times: a DataFrame of ms with a row per operation and a column per dtype, float32 among
            them.

    Example:
        by_dtype(pd.DataFrame({"float32": [2.0], "float16": [1.0]}, ["add"]))
    """
    ratios = times.div(times["float32"], axis=0)
    figure, ax = canvas(width=8.0, height=1.2 + 0.5 * len(times))
    height = 0.8 / times.shape[1]
    for number, dtype in enumerate(times):
        at = np.arange(len(times)) + (number - (times.shape[1] - 1) / 2) * height
        style = {"color": COLORS[dtype], "hatch": HATCHES[dtype], "edgecolor": "#333"}
        bars = ax.barh(at, ratios[dtype], height, label=dtype, linewidth=0.5, **style)
        said = ["" if np.isnan(ms) else _ms(ms) for ms in times[dtype]]
        ax.bar_label(bars, said, color=INK, padding=3, fontsize=8)
    ax.axvline(1, color=INK, linewidth=1, alpha=0.4, zorder=0)  # labels stand on it
    ax.set_yticks(range(len(times)), times.index)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.set(xlabel="time against float32 (shorter is faster)")
    ax.set_title("One operation, three dtypes", color=INK)
    legend(ax, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    words = [
        f"{name}: " + ", ".join(f"{dtype} {_ms(ms)}" for dtype, ms in row.items())
        for name, row in times.iterrows()
    ]
    return Picture(figure, "; ".join(words) + ".")


def casts(times, dtype: str = "float16") -> Picture:
    """Bars: one 16-bit operation beside casting to float32, computing there, and casting back.

    Args:
        times: a DataFrame of ms with a row per operation and the columns "direct", "to float32",
            "compute" and "back".
        dtype: "float16" or "bfloat16".

    Example:
        columns = {"direct": [9.0], "to float32": [1.0], "compute": [4.0], "back": [1.0]}
        casts(pd.DataFrame(columns, ["matrix product"]))
    """
    figure, ax = canvas(width=8.0, height=1.6 + 0.7 * len(times))
    at, edge = np.arange(len(times)), {"edgecolor": "#333", "linewidth": 0.5}
    style = {"color": COLORS[dtype], "hatch": HATCHES[dtype], **edge}
    ax.barh(at - 0.2, times["direct"], 0.36, label=f"the operation in {dtype}", **style)
    left = np.zeros(len(times))
    for part, (color, hatch, said) in CAST_PARTS.items():
        style = {"color": color, "hatch": hatch, "label": said, **edge}
        ax.barh(at + 0.2, times[part], 0.36, left=left, **style)
        left += times[part].to_numpy()
    ax.set_yticks(at, times.index)
    ax.invert_yaxis()
    ax.set(xlabel="ms")
    ax.set_title(f"In {dtype}, or by way of float32", color=INK)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, labelcolor=INK, fontsize=9)
    words = [
        f"{name}: {_ms(row['direct'])} in {dtype}; cast {_ms(row['to float32'])}, compute "
        f"{_ms(row['compute'])}, cast back {_ms(row['back'])}"
        for name, row in times.iterrows()
    ]
    return Picture(figure, "; ".join(words) + ".")


def _ms(ms):
    """Two digits, and no power of ten: 0.94 ms, 12 ms, 110 ms."""
    return f"{ms:.0f} ms" if ms >= 100 else f"{ms:.2g} ms"
