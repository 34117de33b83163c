"""The strategies in one picture: what stands where, read off the drawn shapes."""

import io

import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.text import Annotation, Text
from PIL import Image
from test_figures import contrast

from course_utils.figures import distributed
from course_utils.figures.strategies import BATCH, GRADIENT, NAMES


@pytest.fixture(scope="module")
def strategies():
    """The picture, drawn once, for layout is not free."""
    picture = distributed.strategies()
    picture.figure.draw_without_rendering()
    return picture


@pytest.fixture(scope="module")
def shapes(strategies):
    """Left, bottom, right and top of all that is drawn, in inches, by kind."""
    (ax,) = strategies.figure.axes
    found = {"machine": [], "process": [], "batch": [], "weights": [], "gradients": []}
    borders = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
    bars = [p for p in ax.patches if isinstance(p, Rectangle)]
    for patch in borders:
        kind = "machine" if patch.get_linestyle() == "--" else "process"
        if patch.get_height() > 1:  # lower ones are devices
            found[kind].append(patch)
    found["batch"] = [p for p in bars if p.get_hatch()]
    found["weights"] = [p for p in bars if not p.get_hatch()]
    found = {kind: [_edges(p.get_bbox()) for p in patches] for kind, patches in found.items()}
    arrows = [a for a in ax.texts if isinstance(a, Annotation)]
    for arrow in arrows:
        if arrow.arrow_patch.get_edgecolor()[:3] == to_rgb(GRADIENT):
            x, top = arrow.xy
            found["gradients"].append((x, arrow.xyann[1], x, top))
    return found


def _edges(box):
    return box.x0, box.y0, box.x1, box.y1


def inside(outer, shapes):
    """Those of the shapes whose border is within the outer one."""
    return [
        s for s in shapes
        if outer[0] < s[0] and outer[1] < s[1] and s[2] < outer[2] and s[3] < outer[3]
    ]  # fmt: skip


def test_each_device_has_a_copy_of_the_weights_and_its_part_of_the_batch(shapes):
    """One device; two; one of each of two workers; the cores of a TPU."""
    assert len(shapes["machine"]) == len(shapes["process"]) == 5
    for machine, devices in zip(shapes["machine"], (1, 2, 1, 1, 4), strict=True):
        (process,) = inside(machine, shapes["process"])
        assert len(inside(process, shapes["weights"])) == devices
        parts = inside(process, shapes["batch"])
        assert len(parts) == devices
        assert len({round(part[2] - part[0], 6) for part in parts}) == 1
        for left, right in zip(parts, parts[1:], strict=False):
            assert left[2] + 0.05 < right[0]  # the cut is seen


def test_weights_are_never_cut(shapes):
    heights = {round(top - low, 6) for _, low, _, top in shapes["weights"]}
    assert len(heights) == 1 and len(shapes["weights"]) == 1 + 2 + 2 + 4


def test_gradients_leave_the_process_between_machines_only(shapes):
    crossing = []
    for machine in shapes["machine"]:
        (process,) = inside(machine, shapes["process"])
        for x, low, _, top in shapes["gradients"]:
            if process[0] < x < process[2] and process[1] < top < process[3]:
                crossing.append((process[1] < low, machine[1] < low))
    # MirroredStrategy's two, one of each of the two workers, and the four cores' of a TPU.
    assert crossing == [(True, True)] * 2 + [(False, False)] * 2 + [(True, True)] * 4


def test_the_picture_names_what_it_shows(strategies):
    (ax,) = strategies.figure.axes
    said = [t.get_text() for t in ax.texts if t.get_text()]
    assert [said.count(name) for name in NAMES] == [1, 1, 1, 1]
    assert said.count("one process") == 5 and said.count("one machine") == 3
    assert said.count("weights") == 9
    assert (said.count(f"{BATCH} pictures"), said.count(f"all {BATCH} pictures")) == (0, 1)
    assert (said.count(f"{BATCH // 2} pictures"), said.count(str(BATCH // 4))) == (4, 4)
    assert [text for text in said if "network" in text] == ["network: gradients are added up"]
    for name in (*NAMES, "32 of the 64 pictures", "16 pictures", "over the network", "TF_CONFIG"):
        assert name in strategies.alt


def test_no_two_texts_of_the_strategies_meet(strategies):
    """Nor does any text run over the border of the picture."""
    (ax,) = strategies.figure.axes
    boxes = [(t.get_text(), Text.get_window_extent(t)) for t in ax.texts if t.get_text()]
    for number, (text, box) in enumerate(boxes):
        for other, around in boxes[number + 1 :]:
            assert not box.overlaps(around), (text, other)
        assert ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1, text


def test_it_is_drawn_and_reads_on_light_and_dark(strategies):
    image = Image.open(io.BytesIO(strategies.png())).convert("RGBA")
    assert image.getpixel((0, 0))[3] == 0 and 700 < image.width < 1400  # 700 at a zoom of 1
    for text in strategies.figure.findobj(Text):
        if text.get_text().strip():
            for background in ("#ffffff", "#111111"):
                assert contrast(text.get_color(), background) > 4, text.get_text()
