"""The live training panel, without a browser: what it keeps, shows and survives."""

import keras
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from course_utils import exercises
from course_utils.training import dtype_policy
from course_utils.widgets import TrainingPanel
from tools.canonical import COURSE

RNG = np.random.default_rng(0)
X = RNG.random((64, 4), dtype="float32")
Y = (X[:, 0] > 0.5).astype("int32")


@pytest.fixture
def panel():
    return TrainingPanel(seconds=600)


def fit(panel, policy="float32", callbacks=(), **options):
    """Trains within the panel; the panel's bar, text and picture."""
    with dtype_policy(policy):
        model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(2, dtype="float32")]
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, metrics=["accuracy"], jit_compile=False)
    with panel:
        model.fit(
            X, Y, batch_size=16, callbacks=[panel, *callbacks], verbose=0, **options
        )
    top, image = panel.box.children
    return [child.value for child in (*top.children, image)]


def test_every_step_is_kept_and_drawn_at_the_end_and_again_when_used_twice(panel):
    for _ in range(2):
        bar, text, picture = fit(panel, epochs=2)
        assert [row["step"] for row in panel.history] == list(range(1, 9))
        assert set(panel.history[-1]) == {"step", "loss", "accuracy"}
        assert bar == 1 and "done after 8 steps" in text
        assert bytes(picture).startswith(b"\x89PNG")


def test_the_loss_scale_is_shown_under_mixed_float16(panel):
    assert "loss scale 32768" in fit(panel, "mixed_float16")[1]
    assert panel.history[-1]["loss_scale"] == 2**15


def test_time_ends_the_training():
    panel = TrainingPanel(seconds=0.2)
    assert "time is up" in fit(panel, epochs=100_000)[1] and panel.history


def test_an_interrupt_keeps_the_history_and_is_told(panel, capsys):
    def interrupt(batch, logs):
        if batch == 2:
            raise KeyboardInterrupt

    stop = keras.callbacks.LambdaCallback(on_train_batch_end=interrupt)
    assert fit(panel, callbacks=[stop], epochs=5)[0] < 1
    assert panel.interrupted and len(panel.history) == 3
    assert "stopped the training after 3 steps" in capsys.readouterr().out


def test_other_errors_pass_through(panel):
    with pytest.raises(ZeroDivisionError), panel:
        raise ZeroDivisionError


BARS = """from course_utils.benchmark.timer import rounds
from course_utils.progress import tqdm
for _ in rounds(0.2, "measure"):
    pass
try:
    for number in tqdm(range(3), desc="count"):
        1 / (1 - number)
except ZeroDivisionError:
    print("ended")"""


def test_a_bar_that_is_done_leaves_nothing_that_a_notebook_could_not_show_tomorrow():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(BARS)])
    resources = {"metadata": {"path": str(COURSE)}}
    NotebookClient(notebook, kernel_name="python3", resources=resources).execute()
    shown = [out for out in notebook.cells[0].outputs if out.get("name") != "stderr"]
    bars = [out.data for out in shown if out.output_type == "display_data"]
    assert bars == [{"text/html": ""}] * 2
    assert [out.text for out in shown if out.output_type == "stream"] == ["ended\n"]


def test_a_curve_is_drawn_by_sliders_and_kept_once_one_is_moved(progress_file):
    q = exercises.load("02")
    _, row, _, note = q.draw().children
    assert [slider.value for slider in row.children] == [15] * 6 and q.drawn is None
    assert "run this cell again" in note.value
    assert not progress_file.exists()  # Run All draws nothing
    row.children[2].value = 40
    row.children[5].value = 0
    assert q.drawn == {90: 15, 180: 15, 270: 40, 360: 15, 450: 15, 540: 0}
    assert [slider.value for slider in q.draw().children[1].children] == list(
        q.drawn.values()
    )
    assert q.guess is None and "recorded" in repr(q.summary())
    # of another version of the notebook
    progress_file.write_text('{"02": {"drawn": [1, 2]}}')
    assert q.drawn is None
