"""The recorded gradients: whole, honest, written by the command, and as notebook 02 needs them."""

import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from course_utils import __main__ as command
from course_utils import measurements, models, recordings
from course_utils.gradients import OctaveHistogram

ROOT = Path(__file__).resolve().parent.parent
RECORDED = measurements.FOLDER / "gradients.json"


def whole(layers):
    return sum(layers.values(), OctaveHistogram.from_values([]))


def test_the_record_says_how_it_was_made():
    record = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert record["kind"] == recordings.KIND and record["cpu"] and record["date"]
    assert {"python", "tensorflow", "keras"} <= set(record["versions"])
    conditions = record["conditions"]
    assert "float32" in conditions["model"] and conditions["training_images"] >= 1000
    assert [row["epoch"] for row in record["records"]] == list(recordings.EPOCHS)
    assert record["records"][-1]["test_accuracy"] > 0.9


def test_the_record_counts_every_activation_once():
    outputs = {layer.output.shape[1:] for layer in models.mnist_cnn().layers}
    images = recordings.BATCH * recordings.BATCHES
    sizes = {images * int(np.prod(shape)) for shape in outputs}
    weights = sorted(
        recordings.BATCHES * int(np.prod(w.shape)) for w in models.mnist_cnn().trainable_variables
    )
    for layers in recordings.load().values():
        assert {histogram.total for histogram in layers.values()} == sizes
        assert all(h.nans == h.infinities == 0 for h in layers.values())
    for recorded in recordings.load(of="weights").values():
        assert sorted(h.total for h in recorded.values()) == weights


def test_what_notebook_02_says_about_the_record():
    lost = {epoch: whole(layers).survival("float16") for epoch, layers in recordings.load().items()}
    share = {n: result.rounded_to_zero / (result.total - result.zero) for n, result in lost.items()}
    assert share[0] < 0.01 and 0.2 < share[5] < 0.6 and share[85] > 0.85
    assert lost[5].norm_lost < 1e-6 and 1e-5 < lost[85].norm_lost < 0.01
    # A weight's gradient is a sum over the batch and overflows before its terms do.
    at_weights = {n: whole(layers) for n, layers in recordings.load(of="weights").items()}
    for epoch, layers in recordings.load().items():
        scales = range(61)
        first = [
            next(s for s in scales if h.survival("float16", s).overflow)
            for h in (whole(layers), at_weights[epoch])
        ]
        assert first[1] < first[0], epoch
    for layers in recordings.load().values():
        bfloat16 = whole(layers).survival("bfloat16")
        assert bfloat16.rounded_to_zero == bfloat16.subnormal == bfloat16.overflow == 0


@pytest.mark.slow
def test_the_command_writes_what_load_reads(tmp_path):
    output = tmp_path / "new" / "gradients.json"
    done = subprocess.run(
        [sys.executable, "-m", "course_utils", "gradients", "--epochs", "0,1", "--output", output],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert str(output) in done.stdout
    recorded = recordings.load(output)
    assert list(recorded) == [0, 1]
    # Training moves the gradients to smaller octaves from its first epoch on.
    before, after = (whole(layers).survival("float16") for layers in recorded.values())
    assert before.rounded_to_zero < after.rounded_to_zero
    assert measurements.load(output.parent) == []  # speeds are something else


@pytest.mark.parametrize("wrong", ["", "1,0", "0,0", "-1,2", "a", "0.5"])
def test_bad_epochs_are_refused_before_any_training(wrong, capsys):
    with pytest.raises(SystemExit):
        command.main(["gradients", f"--epochs={wrong}"])
    assert "give growing whole numbers from 0 on" in capsys.readouterr().err


def test_another_file_is_refused_by_name(tmp_path):
    for text in ("", "[]", "{}", '{"records": [{"epoch": 1, "activations": {"a": {}}}]}'):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(ValueError, match="^other.json is not a recording of gradients"):
            recordings.load(tmp_path / "other.json")
    with pytest.raises(ValueError, match="^none.json is not a recording"):
        recordings.load(tmp_path / "none.json")


def test_activation_gradients_are_those_of_each_layers_output():
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, use_bias=False), keras.layers.ReLU()]
    )
    x, y = np.ones((2, 3), "f4"), np.zeros((2, 4), "f4")
    first, last = recordings.activation_gradients(
        model, x, y, keras.losses.MeanSquaredError()
    ).values()
    output = np.maximum(x @ model.get_weights()[0], 0)
    np.testing.assert_allclose(last, 2 * output / output.size, rtol=1e-5)
    np.testing.assert_allclose(first, last * (output > 0), rtol=1e-5)
