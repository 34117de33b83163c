"""Controls in a notebook, without a browser."""

import nbformat
import pytest
from nbclient import NotebookClient

from course_utils import exercises, widgets
from tools import notebooks
from tools.canonical_form import COURSE, VIEW

BARS = """from course_utils.benchmark.timer import rounds
from course_utils.progress import tqdm
for _ in rounds(0.2, "measure"):
    pass
try:
    for number in tqdm(range(3), desc="count"):
        1 / (1 - number)
except ZeroDivisionError:
    print("ended")"""


@pytest.mark.slow
def test_a_bar_that_is_done_leaves_nothing_that_a_notebook_could_not_show_tomorrow():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(BARS)])
    resources = {"metadata": {"path": str(COURSE)}}
    NotebookClient(notebook, kernel_name="python3", resources=resources).execute()
    shown = [out for out in notebook.cells[0].outputs if out.get("name") != "stderr"]
    bars = [out.data for out in shown if out.output_type == "display_data"]
    assert bars == [{"text/html": ""}] * 2
    assert [out.text for out in shown if out.output_type == "stream"] == ["ended\n"]


@pytest.fixture
def shown(monkeypatch):
    """What panels display beside what they return."""
    outputs = []
    monkeypatch.setattr(widgets, "display", lambda *parts: outputs.extend(parts))
    return outputs


def test_what_a_panel_needs_is_an_output_of_its_own_above_it(shown):
    widgets.interact(number=1)(lambda number: None)
    note, panel = shown
    assert "run this cell again" in note.data
    assert [type(part).__name__ for part in panel.children] == ["IntSlider", "Output"]


def test_a_stored_copy_has_a_caption_in_place_of_what_a_panel_needs():
    """And what the panel showed at first."""
    picture = {"output_type": "display_data", "data": {"image/png": ""}, "metadata": {}}
    slider = {"description": "step", "value": 3}
    states = {
        "panel": {"children": ["IPY_MODEL_slider", "IPY_MODEL_output"]},
        "slider": slider,
        "output": {"outputs": [picture]},
    }
    kept = {id: {"state": state} for id, state in states.items()}
    note = {"text/markdown": widgets.NEEDS_THE_KERNEL.data, "text/plain": "<Markdown>"}
    view = {VIEW: {"model_id": "panel"}}
    outputs = [nbformat.v4.new_output("display_data", data) for data in (note, view)]
    cell = nbformat.v4.new_code_cell(outputs=outputs)
    stored = {"widgets": {notebooks.WIDGETS: {"state": kept}}}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata=stored)
    notebooks.settle_panels(notebook)
    caption, *others = cell.outputs
    assert caption.data["text/markdown"].startswith("*The panel with step = 3.")
    assert others == [picture]


def test_a_curve_is_drawn_by_sliders_and_kept_once_one_is_moved(progress_file, shown):
    q = exercises.load("02")
    _, row, _ = q.draw().children
    assert [slider.value for slider in row.children] == [15] * 6 and q.drawn is None
    assert widgets.NEEDS_THE_KERNEL in shown
    assert not progress_file.exists()  # Run All draws nothing
    row.children[2].value = 25
    row.children[5].value = 0
    assert q.drawn == {16: 15, 32: 15, 48: 25, 64: 15, 80: 15, 96: 0}
    assert [slider.value for slider in q.draw().children[1].children] == list(
        q.drawn.values()
    )
    assert q.guess is None and "recorded" in repr(q.summary())
    # of another version of the notebook
    progress_file.write_text('["02", "drawn", [1, 2]]')
    assert q.drawn is None
