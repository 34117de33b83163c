"""What every figure shares: the canvas, and the picture with its words."""

import base64
import html
import io
import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image  # matplotlib's own reader and writer of PNG files

# Text and axes, and the card they stand on in light and dark pages alike: 13 to 1.
INK = "#2b2b2b"
CARD = "#fbfaf6"
INCH = 96  # pixels on a page: a point of a text is a point there
DPI = 160  # of the file: sharp on a dense screen, light in a notebook


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure and `alt`, what it shows in words; Jupyter shows the words folded below
    it.
    """

    figure: Figure
    alt: str

    def __post_init__(self):
        """Texts that nobody gave another color are in the course's ink."""
        for text in self.figure.findobj(Text):
            if text.get_color() == "black":
                text.set_color(INK)

    def png(self) -> bytes:
        """The figure as a PNG file of at most 256 colors.

        A palette makes the file a third as large; notebooks with outputs stay light.
        """
        full = io.BytesIO()
        small = io.BytesIO()
        self.figure.savefig(
            full, format="png", dpi=DPI, bbox_inches="tight", pad_inches=0.15
        )
        palette = (
            Image.open(full)
            .convert("RGB")
            .quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        )
        palette.save(small, "PNG", optimize=True)
        return small.getvalue()

    def svg(self) -> str:
        """The figure as an `<svg>` element for a page; its letters are in the page's
        fonts.
        """
        text = io.StringIO()
        fonts = matplotlib.rc_context(
            {"svg.fonttype": "none", "svg.hashsalt": "course"}
        )
        with fonts, warnings.catch_warnings():
            # the page's fonts may have it
            warnings.filterwarnings("ignore", "Glyph .* missing")
            self.figure.savefig(text, format="svg", metadata={"Date": None})
        drawing = text.getvalue()
        opening = f'<svg role="img" aria-label="{html.escape(self.alt)}" '
        return opening + drawing[drawing.index("<svg ") + 5 :]

    def _ipython_display_(self):
        from IPython import display

        # As metadata: the IPython of Colab (7.34) knows no `alt`.
        metadata = {"alt": self.alt}
        png = self.png()
        width = round(Image.open(io.BytesIO(png)).width * INCH / DPI)
        display.display(
            display.Image(png, format="png", width=width, metadata=metadata)
        )
        # A second output: JupyterLab would show only the HTML of an output that holds
        # both.
        display.display(_in_words(self.alt), raw=True)


@dataclass(frozen=True)
class Drawing:
    """A drawing that is kept as a file, an `svg` whose `<desc>` says in words what is
    seen.
    """

    svg: str

    @classmethod
    def read(cls, path: Path) -> "Drawing":
        """The drawing in an SVG file."""
        return cls(path.read_text(encoding="utf-8"))

    @property
    def alt(self) -> str:
        return re.findall("<desc[^>]*>(.*?)</desc>", self.svg, re.DOTALL)[0]

    def _ipython_display_(self):
        from IPython import display

        title = re.findall("<title[^>]*>(.*?)</title>", self.svg)[0]
        # JupyterLab shows an SVG of its own only where a notebook is trusted, an <img>
        # everywhere.
        url = (
            f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"
        )
        image = f'<img src="{url}" alt="{html.escape(self.alt)}">'
        display.display({"text/html": image, "text/plain": title}, raw=True)
        display.display(_in_words(self.alt), raw=True)


def _in_words(alt):
    """What a figure shows, folded: a reader, a screen reader or the page's search opens
    it.
    """
    words = f"<small>{html.escape(alt)}</small>"
    details = f"<details><summary><small>In words</small></summary>{words}</details>"
    return {"text/html": details, "text/plain": f"In words: {alt}"}


def canvas(width: float = 7.0, height: float = 3.4) -> tuple[Figure, Any]:
    """An empty figure in the course's style: (figure, axes)."""
    figure, (ax,) = panels(1, width, height)
    return figure, ax


def panels(
    count: int, width: float = 8.0, height: float = 3.6, rows: int = 1, **options: Any
) -> tuple[Figure, np.ndarray]:
    """A figure like `canvas` with several axes, `count` in each row: (figure, flat array
    of axes).
    """
    figure = Figure(figsize=(width, height), layout="constrained", facecolor=CARD)
    axes = figure.subplots(rows, count, squeeze=False, **options).ravel()
    for ax in axes:
        ax.patch.set_alpha(0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(INK)
        ax.tick_params(colors=INK, which="both")
    return figure, axes


def write(ax: Axes, x: float, y: float, text: str, **options: Any) -> None:
    """A text around a point of the axes, or where `options` of `ax.text` say."""
    look: dict = {"ha": "center", "va": "center", "fontsize": 9} | options
    ax.text(x, y, text, **look)


def name_all(axis: Axis, names: Collection[object], fontsize: int = 9) -> None:
    """Names at the whole places of an axis of axes, from 0 on."""
    axis.set_ticks(range(len(names)), [str(name) for name in names], fontsize=fontsize)


def legend(place: Axes | Figure, **options: Any) -> None:
    """The legend of axes or of a figure, without a frame."""
    place.legend(**{"frameon": False, "fontsize": 9} | options)


def legend_below(
    figure: Figure, columns: int, handles: Sequence[Artist] = (), **options: Any
) -> None:
    """The figure's legend in rows below its panels: of `handles`, or of what its panels
    label, each label once.
    """
    once: dict = {}
    for ax in figure.axes:
        for handle in ax.get_legend_handles_labels()[0]:
            once.setdefault(handle.get_label(), handle)
    if handles := [*(handles or once.values())]:
        legend(
            figure,
            loc="outside lower center",
            ncols=columns,
            handles=handles,
            **options,
        )


def listed(words: list[str]) -> str:
    """Words as one lists them: "a", "a and b", "a, b and c"."""
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
