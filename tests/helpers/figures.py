"""What the tests of figures share: the checks that hold for each of them, and made-up
measurements.
"""

import base64
import inspect
import io
import re
from itertools import combinations
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgba
from matplotlib.text import Text
from PIL import Image

from course_utils.figures import base

OKABE_ITO = "#000000 #e69f00 #56b4e9 #009e73 #f0e442 #0072b2 #d55e00 #cc79a7".split()
SVG = "{http://www.w3.org/2000/svg}"


def rows(names, found, index=None):
    return pd.DataFrame(found, index, names.split())


POLICIES = ["float32", "mixed_bfloat16", "mixed_float16"]
DTYPES = ("float32", "bfloat16", "float16")
COMPARED = [
    (20.0, 1.0, 1.0, 1.0, 100.0, 0.9, 0.01, 7),
    (10.0, 2.0, 1.8, 2.2, 50.0, 0.91, 0.01, 7),
    (80.0, 0.25, np.nan, np.nan, np.nan, np.nan, np.nan, 7),
]
COLUMNS = "step_ms speedup speedup_low speedup_high peak_mb accuracy gap_se steps"
COMPARED = rows(COLUMNS, COMPARED, pd.Index(POLICIES, name="policy"))
COMPARED["verdict"] = [np.nan, "mixed_bfloat16", "cannot tell"]
TAKEN = [(p, n, 0.01, 8.0 - n) for p in POLICIES for n in range(7)]
TAKEN = rows("policy round seconds loss", TAKEN)
COMPARISON = SimpleNamespace(table=COMPARED, steps=TAKEN, batch_size=64, device="CPU:0")


# What a test looks at


def drawn(picture):
    """The axes of a picture: one, or a list."""
    axes = picture.figure.axes
    return axes[0] if len(axes) == 1 else axes


def ends(ax):
    """Where each bar ends."""
    return [[bar.get_x() + bar.get_width() for bar in group] for group in ax.containers]


def written(texts):
    return [t.get_text() for t in texts]


def displayed(monkeypatch):
    """What is displayed from now on."""
    found = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: found.append(data))
    return found


def makers(module):
    """The names of a module's own functions that return a picture."""
    return {
        name
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and function.__annotations__.get("return") is base.Picture
    }


# What holds for all of them


def check_picture(picture, may_meet=False):
    """It is drawn and told and reads on its card; its words may meet on purpose, as
    where lines end in one point.
    """
    image = Image.open(io.BytesIO(picture.png())).convert("RGBA")
    corner = np.array(image.getpixel((0, 0)))
    assert np.abs(corner - 255 * np.array(to_rgba(base.CARD))).max() <= 2
    assert 700 < image.width < 1800 and image.height < 1300
    assert len(picture.alt) > 20 and picture.alt.endswith(".")
    assert "nan" not in picture.alt
    for text in picture.figure.findobj(Text):
        if text.get_text().strip() and text.get_visible():
            on_a_box = text.get_bbox_patch() is not None
            assert on_a_box or text.get_color() == base.INK, text.get_text()
            assert text.get_fontsize() >= 9, text.get_text()
    for ax in picture.figure.axes:
        words = [text for text in ax.texts if text.get_text().strip()]
        boxes = [text.get_window_extent().padded(-1) for text in words]
        overlaps = [a.overlaps(b) for a, b in combinations(boxes, 2)]
        assert not any(overlaps) or may_meet, words
    for color in re.findall("(?:fill|stroke): (#\\w{6})", picture.svg()):
        gray = len({color[1:3], color[3:5], color[5:]}) == 1
        assert gray or color in (*OKABE_ITO, base.CARD), color


def check_drawing(drawing, monkeypatch):
    """It is shown with its words as an image, which a page shows that is not trusted
    too, as text alone it is the title; and its colors read on light and dark.
    """
    shown = displayed(monkeypatch)
    root = ElementTree.fromstring(drawing.svg)
    assert drawing.alt == root.find(f"{SVG}desc").text and drawing.alt.endswith(".")
    drawing._ipython_display_()
    assert shown[0]["text/plain"] == root.find(f"{SVG}title").text
    image = ElementTree.fromstring(shown[0]["text/html"].replace('">', '"/>'))
    assert image.get("alt") == drawing.alt
    data = image.get("src").removeprefix("data:image/svg+xml;base64,")
    assert base64.b64decode(data).decode() == drawing.svg
    for color in re.findall(r"#[0-9a-fA-F]{6}", drawing.svg):
        assert color.lower() in (*OKABE_ITO, base.INK, base.CARD)
