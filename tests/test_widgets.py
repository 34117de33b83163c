"""The live training panel, without a browser: what it keeps, shows and survives."""

import keras
import numpy as np
import pytest

from course_utils.stepping import dtype_policy
from course_utils.widgets import TrainingPanel

RNG = np.random.default_rng(0)
X = RNG.random((64, 4), dtype="float32")
Y = (X[:, 0] > 0.5).astype("int32")


def build(policy="float32"):
    with dtype_policy(policy):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, dtype="float32")])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, metrics=["accuracy"], jit_compile=False)
    return model


def test_every_step_is_kept_and_drawn_at_the_end():
    panel = TrainingPanel()
    with panel:
        build().fit(X, Y, batch_size=16, epochs=2, callbacks=[panel], verbose=0)
    assert [row["step"] for row in panel.history] == list(range(1, 9))
    assert {"loss", "accuracy"} <= set(panel.history[-1])
    assert "loss_scale" not in panel.history[-1]
    bar, text = panel.box.children[0].children
    assert bar.value == 1 and "done after 8 steps" in text.value
    assert bytes(panel.box.children[1].value).startswith(b"\x89PNG")


def test_the_loss_scale_is_shown_under_mixed_float16():
    panel = TrainingPanel()
    with panel:
        build("mixed_float16").fit(X, Y, batch_size=16, callbacks=[panel], verbose=0)
    assert panel.history[-1]["loss_scale"] == 2**15
    assert "loss scale 32768" in panel.box.children[0].children[1].value


def test_time_ends_the_training():
    panel = TrainingPanel(seconds=0.2)
    with panel:
        build().fit(X, Y, batch_size=16, epochs=100_000, callbacks=[panel], verbose=0)
    assert panel.history and "time is up" in panel.box.children[0].children[1].value


def test_an_interrupt_keeps_the_history_and_is_told(capsys):
    class Interrupt(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                raise KeyboardInterrupt

    panel = TrainingPanel()
    with panel:
        build().fit(X, Y, batch_size=16, epochs=5, callbacks=[panel, Interrupt()], verbose=0)
    assert panel.interrupted and len(panel.history) == 3
    assert "stopped the training after 3 steps" in capsys.readouterr().out
    assert panel.box.children[0].children[0].value < 1


def test_other_errors_pass_through():
    with pytest.raises(ZeroDivisionError), TrainingPanel():
        raise ZeroDivisionError


def test_a_panel_can_be_used_twice():
    panel, model = TrainingPanel(), build()
    for _ in range(2):
        with panel:
            model.fit(X, Y, batch_size=16, callbacks=[panel], verbose=0)
        assert len(panel.history) == 4
