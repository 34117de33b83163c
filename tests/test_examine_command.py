"""`examine model.keras`: what it prints, and how it ends."""

import json
import subprocess
import sys
import zipfile

import keras
import pytest
from keras import layers
from test_precision_examine import here  # noqa: F401  (on a fast GPU)

from course_utils.precision import command
from course_utils.training import ReplicaSafeLossScaleOptimizer, dtype_policy
from tools.canonical import COURSE

# The optimizers of the models here have not taken a step.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Skipping variable loading for optimizer"
)


@pytest.fixture
def save(tmp_path):
    path = tmp_path / "model.keras"
    return lambda model: model.save(path) or path


def model(policy="mixed_float16", head="float32", kind="chain", optimizer="adam"):
    with dtype_policy(policy):
        inputs = keras.Input((8,))
        first = layers.Dense(8, name="hidden")
        last = layers.Dense(8, "softmax", dtype=head, name="out")
        if kind == "chain":
            made = keras.Sequential([inputs, first, last])
        else:
            made = keras.Model(inputs, last(first(inputs)))
        if optimizer:
            made.compile(optimizer, "mse")
    return made


def printed(capsys, path):
    """The exit status and the lines that the command prints about a file."""
    status = command.run(path)
    out, err = capsys.readouterr()
    assert not err and keras.config.dtype_policy().name == "float32"
    return status, out.splitlines()


@pytest.mark.parametrize("kind", ["chain", "functional"])
def test_what_is_found_in_a_file(save, capsys, kind):
    status, lines = printed(capsys, save(model(head="mixed_float16", kind=kind)))
    # MP013: it relies on the policy in force, and without it load_model does not wrap
    assert status == 1 and [line[:5] for line in lines] == ["MP001", "MP013"]
    assert lines[0].startswith("MP001 error out: The probabilities")
    assert " Fix: Dense(" in lines[0]
    path = save(model(kind=kind))
    assert type(keras.saving.load_model(path).optimizer).__name__ == "Adam"
    with dtype_policy("mixed_float16"):
        assert command.run(path) == 0


@pytest.mark.parametrize(
    "policy, optimizer",
    [
        ("mixed_bfloat16", "adam"),
        ("mixed_float16", None),
        ("mixed_float16", keras.optimizers.LossScaleOptimizer),
        ("mixed_float16", ReplicaSafeLossScaleOptimizer),
    ],
)
def test_what_is_right_in_a_file(save, capsys, policy, optimizer):
    if callable(optimizer):
        optimizer = optimizer(keras.optimizers.Adam())
    assert printed(capsys, save(model(policy, optimizer=optimizer))) == (
        0,
        ["Nothing found."],
    )


def test_advice_alone_is_no_failure(save, capsys):
    with dtype_policy("mixed_bfloat16"):
        chain = [keras.Input((8,)), layers.Dense(9), layers.Dense(3, dtype="float32")]
    status, lines = printed(capsys, save(keras.Sequential(chain)))
    assert status == 0 and lines[0].startswith("MP010 advice dense")


class Unknown(layers.Layer):
    def call(self, x):
        return x


@keras.saving.register_keras_serializable("tests")
class Registered(Unknown):
    pass


def refused(capsys, path):
    assert command.run(path) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.endswith(".\n")
    return err


def test_a_file_that_is_missing_or_no_keras_file(tmp_path, capsys, save):
    (tmp_path / "text.keras").write_text("text")
    for name in ("missing.keras", "text.keras", "."):
        assert "There is no .keras file" in refused(capsys, tmp_path / name)
    with zipfile.ZipFile(save(model())) as whole:
        without_weights = whole.read("config.json")
    for content in ("{", json.dumps({"config": {"layers": 3}}), without_weights):
        with zipfile.ZipFile(tmp_path / "made.keras", "w") as made:
            made.writestr("config.json", content)
        assert "Keras cannot load" in refused(capsys, tmp_path / "made.keras")


def test_layers_that_keras_does_not_know_or_that_could_do_anything(capsys, save):
    def of(layer):
        return save(keras.Sequential([keras.Input((8,)), layer]))

    text = refused(capsys, of(Unknown()))
    assert "Unknown" in text and "register" in text
    assert "Lambda" in refused(capsys, of(layers.Lambda(lambda x: x + 1)))
    assert command.run(of(Registered())) == 0


@pytest.mark.slow
def test_the_command_prints_findings_alone_and_exits_as_linters_do(save):
    path = save(model("float32", head="mixed_bfloat16"))
    line = [sys.executable, "-m", "course_utils", "examine", str(path)]
    done = subprocess.run(line, cwd=COURSE, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    codes = [line[:5] for line in done.stdout.splitlines()]
    assert codes[0] == "MP001" and set(codes[1:]) <= {"MP012"}  # which asks the CPU
