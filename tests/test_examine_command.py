"""`examine model.keras`: what it prints, and how it ends."""

import keras
import pytest
from keras import layers
from test_precision_examine import here  # noqa: F401  (on a fast GPU)

from course_utils import __main__, session
from course_utils.precision import command
from course_utils.training import dtype_policy


@pytest.fixture
def run(tmp_path, capsys):
    """Saves a model of some layers, and returns what the command prints about it."""

    def saved(*inner, policy="mixed_float16", path=tmp_path / "model.keras"):
        with dtype_policy(policy):
            inputs = keras.Input((8,))
            model = keras.Sequential([inputs, *(make() for make in inner)])
            model.compile("adam", "mse")
        model.save(tmp_path / "model.keras")
        status = command.run(path)
        out, err = capsys.readouterr()
        assert err.count("\n") == (status == 2) and keras.config.floatx() == "float32"
        return status, out + err

    return saved


def last(units=8):
    return layers.Dense(units, dtype="float32")


class Unknown(layers.Layer):
    def call(self, x):
        return x


def test_it_prints_findings_and_exits_as_linters_do(run, tmp_path):
    status, line = run(lambda: layers.Dense(8, "softmax", name="out"))
    assert status == 1 and line.count("\n") == 1
    assert (
        line.startswith("MP001 error out: The probabilities") and "Fix: Dense(" in line
    )
    assert run(lambda: layers.Dense(8), last) == (0, "Nothing found.\n")
    assert run(last, policy="float32") == (0, "Nothing found.\n")
    status, line = run(lambda: layers.Dense(9), last)  # advice alone
    assert status == 0 and line.startswith("MP010 advice dense")


def test_as_a_command_it_prints_findings_alone_and_hands_on_the_status(
    run, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(session, "setup", lambda: print("TensorFlow 2.21"))
    run(lambda: layers.Dense(8, "softmax", name="out"))
    assert __main__.main(["examine", str(tmp_path / "model.keras")]) == 1
    assert capsys.readouterr().out.startswith("MP001 error out: ")


def test_a_file_that_keras_cannot_load_is_refused_with_keras_s_reason(run, tmp_path):
    assert run(last, path=tmp_path / "missing.keras")[0] == 2
    for layer, reason in (
        (Unknown, "Could not locate class 'Unknown'"),
        (lambda: layers.Lambda(lambda x: x + 1), "lambda"),
    ):
        status, line = run(layer)
        assert status == 2 and reason in line and "examine(model)" in line
