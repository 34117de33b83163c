"""What every figure shares: the canvas, the palette, and the picture with its words."""

import io
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from PIL import Image  # matplotlib's own reader and writer of PNG files

COLORS = {"float32": "#0072B2", "bfloat16": "#D55E00", "float16": "#009E73", "tf32": "#56B4E9"}
HATCHES = {"float32": "", "bfloat16": "//", "float16": ".."}
MARKERS = {"float32": "o", "bfloat16": "s", "float16": "^"}
LINES = {"float32": "-", "bfloat16": "--", "float16": ":"}
INK = "#767676"  # Text and axes: readable on white and on JupyterLab's dark background.


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure and its description, shown together by Jupyter.

    Attributes:
        figure: a `matplotlib.figure.Figure`.
        alt: what the figure shows, in words, for those who cannot see it.
    """

    figure: Figure
    alt: str

    def png(self) -> bytes:
        """The figure as a PNG file with a transparent background and at most 256 colors.

        A palette makes the file a third as large; notebooks with outputs stay light.
        """
        full, small = io.BytesIO(), io.BytesIO()
        self.figure.savefig(full, format="png", dpi=180, transparent=True, bbox_inches="tight")
        palette = Image.open(full).quantize(256, method=Image.Quantize.FASTOCTREE, dither=0)
        palette.save(small, "PNG", optimize=True)
        return small.getvalue()

    def _ipython_display_(self):
        from IPython import display

        display.display(display.Image(self.png(), format="png", retina=True))
        display.display(display.Markdown(f"*In words: {self.alt}*"))


def canvas(columns=1, width=7.0, height=3.4, **options):
    """An empty figure in the course's style: (figure, axes or array of axes)."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns, **options)
    for ax in np.ravel(axes):
        ax.patch.set_alpha(0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(INK)
        ax.tick_params(colors=INK, which="both")
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
            text.set_color(INK)
    return figure, axes


def dtype_of(policy: str) -> str:
    """The dtype whose color and marker a policy wears: "mixed_bfloat16" is "bfloat16"."""
    return policy.removeprefix("mixed_")


def legend(ax, **options):
    """A legend without a frame, in the ink that both themes show."""
    ax.legend(frameon=False, labelcolor=INK, **options)
