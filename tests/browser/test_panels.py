"""The panels of the notebooks, answered by a kernel: typing, menus, sliders, an
interrupt.
"""

import nbformat
import pytest
from playwright.sync_api import expect

from tools.canonical_form import METADATA

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# The boxes of an output that are wider than their place.
CUT = """output => [...output.querySelectorAll(".widget-box")]
  .filter(box => box.scrollWidth > box.clientWidth).map(box => box.className)"""
TEXT, MENU, SLIDER = "input[type=text]", "select", ".noUi-handle"
# By notebook: the cells to run, the panel last; what it shows first; and what to do
# with which control, with what it shows then ("" for no matter what, None for anything
# else than before).
PANELS = {
    "01_floats": (
        "setup load-exercises long-sum long-sum-figure bit-strips delta converter",
        "0 01011 1001100110 · 0x2E66 · normal · 0.0999755859375",
        [
            (TEXT, 0, "fill", "65519", "65504.0"),
            (TEXT, 0, "fill", "65520", "inf"),
            (TEXT, 0, "fill", "seven", "is not a number"),
            (MENU, 0, "select_option", "bfloat16", ""),
            (TEXT, 0, "fill", "-4200000000", "1 10011110 1111010 · 0xCF7A · normal"),
        ],
    ),
    "02_loss_scaling": (
        "setup load-exercises draw",
        "your curve stays 2^15",
        [(SLIDER, 1, "press", "ArrowUp", "highest 2^16 at 32")]
        + [(SLIDER, 5, "press", "PageUp", None)],
    ),
    "03_policy": (
        "setup load-exercises three-places stored door panel",
        "weights stay float32",
        [
            (MENU, 1, "select_option", "float32", "weights are float32"),
            (MENU, 0, "select_option", "Prices", "0 of 1 layers hand on 16 bits"),
            (
                MENU,
                1,
                "select_option",
                "mixed_bfloat16",
                "gets bfloat16, casts it to float32",
            ),
        ],
    ),
    "13_how_far": (
        "setup load-exercises digits network count roofs panel-models panel-count panel",
        "roofs of T4: float32 8.1 TFLOP/s",
        [
            (MENU, 1, "select_option", "512", None),
            (MENU, 2, "select_option", "wide dense", None),
            (MENU, 0, "select_option", "TPU v4", "roofs of TPU v4"),
        ],
    ),
    "07_devices": (
        "setup load-exercises strategies-picture comment choose witness sum-first timeline",
        "Keras's own: replica 1 overflows in step 2, takes the step",
        [
            (
                SLIDER,
                0,
                "press",
                "ArrowLeft",
                "own: replica 0 overflows in step 2, is skipped",
            ),
            (
                SLIDER,
                1,
                "press",
                "ArrowRight",
                "replica 0 overflows in step 3, is skipped",
            ),
        ],
    ),
}


@pytest.mark.parametrize("name", PANELS)
def test_a_panel_follows_its_controls_fits_a_phone_and_is_there_tomorrow(name, lab):
    cells, shown, steps = PANELS[name]
    lab.open(f"notebooks/{name}.ipynb")
    lab.run(*cells.split())
    output = lab.output(cells.split()[-1])
    expect(output).to_contain_text(shown, timeout=60_000)
    with lab.as_wide_as(400):
        assert output.evaluate(CUT) == []
    for selector, place, act, argument, told in steps:
        before = output.text_content()
        getattr(output.locator(selector).nth(place), act)(argument)
        if told is None:
            expect(output).not_to_have_text(before, timeout=60_000)
        else:
            expect(output).to_contain_text(told, timeout=60_000)
    lab.come_back()
    last = next(told for *_, told in reversed(steps) if told)
    expect(output).to_contain_text(last, timeout=60_000)
    assert not lab.page.get_by_text("Error displaying widget").count()
    assert lab.errors == []


OWN = """from course_utils.widgets import interact

@interact(number=(0, 9))
def show(number):
    print(number)
"""


def test_what_a_panel_needs_stands_above_it_and_stays_where_a_restart_takes_it(lab):
    cell = nbformat.v4.new_code_cell(OWN, id="own")
    nb = nbformat.v4.new_notebook(cells=[cell], metadata=METADATA)
    lab.write("notebooks/own.ipynb", nb)
    lab.open("notebooks/own.ipynb")
    lab.run("own")
    output = lab.output("own")
    note = output.get_by_text("after a restart, run this cell again")
    slider = output.locator(SLIDER)
    expect(slider).to_be_visible(timeout=60_000)
    assert note.bounding_box()["y"] < slider.bounding_box()["y"]
    lab.js("await panel.sessionContext.restartKernel()")
    lab.come_back()
    expect(output).to_contain_text("Error displaying widget", timeout=60_000)
    expect(note).to_be_visible()
