"""The figures of notebook 05 on single operations, and the rows of its table of operations."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from PIL import Image
from test_figures import contrast

from course_utils.figures import operations, profiling
from course_utils.figures.base import COLORS

BY_DTYPE = pd.DataFrame(
    {"float32": [2.0, 10.0], "bfloat16": [1.0, 30.0], "float16": [0.5, np.nan]}, ["add", "GELU"]
)
PARTS = pd.DataFrame(
    {"direct": [9.0, 1.0], "to float32": [1.0, 3.0], "compute": [4.0, 2.0], "back": [0.5, 1.5]},
    ["matrix product", "add"],
)


@pytest.fixture(params=["by_dtype", "casts"])
def picture(request):
    values = {"by_dtype": BY_DTYPE, "casts": PARTS}[request.param]
    return getattr(operations, request.param)(values)


def bars(ax):
    """(left end, width) of each bar, a list for each group."""
    return [[(bar.get_x(), bar.get_width()) for bar in group] for group in ax.containers]


def test_a_dtype_is_shown_against_float32_and_its_time_written_beside():
    figure = operations.by_dtype(BY_DTYPE).figure
    (ax,) = figure.axes
    widths = [[width for _, width in group] for group in bars(ax)]
    assert widths[:2] == [[1, 1], [0.5, 3]] and widths[2][0] == 0.25 and np.isnan(widths[2][1])
    assert [t.get_text() for t in ax.texts] == ["2 ms", "10 ms", "1 ms", "30 ms", "0.5 ms", ""]


def test_the_parts_of_the_way_by_float32_stand_end_to_end():
    (ax,) = operations.casts(PARTS).figure.axes
    direct, to, compute, back = bars(ax)
    assert [width for _, width in direct] == [9, 1]
    for n, row in enumerate(PARTS.itertuples()):
        assert to[n] == (0, row[2])
        assert compute[n] == (row[2], row.compute)
        assert back[n] == (row[2] + row.compute, row.back)


def test_casts_wear_the_color_of_their_dtype():
    for dtype in ("float16", "bfloat16"):
        figure = operations.casts(PARTS, dtype).figure
        color = figure.axes[0].containers[0][0].get_facecolor()
        assert tuple(round(255 * c) for c in color[:3]) == tuple(
            bytes.fromhex(COLORS[dtype].removeprefix("#"))
        )
        assert figure.legends[0].get_texts()[0].get_text() == f"the operation in {dtype}"


def test_bars_differ_by_more_than_their_color(picture):
    for ax in picture.figure.axes:
        hatches = [group[0].get_hatch() for group in ax.containers]
        assert len(set(hatches)) == len(hatches)


def test_each_figure_says_its_values_in_words():
    said = operations.by_dtype(BY_DTYPE).alt
    assert "add: float32 2 ms, bfloat16 1 ms, float16 0.5 ms; GELU: float32 10 ms" in said
    said = operations.casts(PARTS).alt
    words = "matrix product: 9 ms in float16; cast 1 ms, compute 4 ms, cast back 0.5 ms; add: 1"
    assert words in said


def test_text_reads_on_light_and_dark_and_the_picture_is_transparent(picture):
    texts = [t for t in picture.figure.findobj(Text) if t.get_text()]
    assert len(texts) > 8
    for text in texts:
        assert min(contrast(text.get_color(), "white"), contrast(text.get_color(), "#111")) > 3
    pixels = np.asarray(Image.open(io.BytesIO(picture.png())).convert("RGBA"))
    assert pixels[0, 0, 3] == 0


def test_one_operation_is_one_row_whichever_library_ran_it():
    before = ["_MklNativeFusedConv2D", "_MklNativeConv2DBackpropFilterWithBias", "_MklMatMul",
              "_FusedMatMul", "FusedBatchNormV3"]  # fmt: skip
    after = ["Conv2D", "Conv2DBackpropFilter", "MatMul", "Cast"]
    tables = {
        "float32": pd.DataFrame({"op": before, "ms": [5.0, 4.0, 2.0, 1.0, 0.5]}),
        "mixed_float16": pd.DataFrame({"op": after, "ms": [50.0, 40.0, 30.0, 0.25]}),
    }
    (ax,) = profiling.op_times(tables).figure.axes
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert rows == ["Conv2D", "Conv2DBackpropFilter", "MatMul", "FusedBatchNormV3", "Cast"]
    widths = [[width for _, width in group] for group in bars(ax)]
    assert widths == [[5, 4, 3, 0.5, 0], [50, 40, 30, 0, 0.25]]


def test_a_long_operation_has_no_power_of_ten_in_its_label():
    figure = operations.by_dtype(pd.DataFrame({"float32": [31.0], "float16": [114.0]}, ["GELU"]))
    labels = [text.get_text() for text in figure.figure.axes[0].texts]
    assert "114 ms" in figure.alt and "114 ms" in labels
