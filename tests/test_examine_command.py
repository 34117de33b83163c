"""`examine model.keras`: what it prints, how it ends, and whether its repairs are right."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import keras
import pytest
from keras import layers

from course_utils import examine as command
from course_utils.accelerators import Accelerator
from course_utils.hardware import Hardware
from course_utils.precision import findings
from course_utils.stepping import dtype_policy

# The optimizers of the models here have not taken a step.
pytestmark = pytest.mark.filterwarnings("ignore:Skipping variable loading for optimizer")

ROOT = Path(__file__).resolve().parent.parent
GPU = Accelerator("GPU", "some GPU", True, "", 8.0, 16 * 2**30)
HARDWARE = Hardware("Linux x86_64", "some CPU", 4, (), accelerators=(GPU,))


@pytest.fixture(autouse=True)
def a_fast_gpu(monkeypatch):
    monkeypatch.setattr("course_utils.hardware.detect", lambda: HARDWARE)


@pytest.fixture
def save(tmp_path):
    def saved(model, name="model.keras"):
        model.save(tmp_path / name)
        return tmp_path / name

    return saved


def model(policy="mixed_float16", head="float32", functional=False, optimizer="adam"):
    with dtype_policy(policy):
        inputs = keras.Input((8,))
        stacked = [
            layers.Dense(8, name="hidden"),
            layers.Dense(8, "softmax", dtype=head, name="out"),
        ]
        if functional:
            made = keras.Model(inputs, stacked[1](stacked[0](inputs)))
        else:
            made = keras.Sequential([inputs, *stacked])
        if optimizer:
            made.compile(optimizer, "mse")
    return made


def wrapped():
    return keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())


def again(path):
    """The model that the repaired configuration makes, with no policy set."""
    config = command.read_config(path)
    saved = command.stored_policy(config)
    with dtype_policy(saved):
        loaded = keras.saving.load_model(path)
    found = findings.examine(loaded, hardware=HARDWARE, saved_policy=saved)
    return keras.saving.deserialize_keras_object(command.repaired(config, found))


@pytest.mark.parametrize("functional", [False, True])
def test_a_file_with_an_error(save, capsys, functional):
    assert command.run(save(model(head="mixed_float16", functional=functional))) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("MP001 error out: The probabilities") and " Fix: Dense(" in lines[0]
    assert [line[:5] for line in lines] == ["MP001", "MP013"]


@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize(
    "policy, optimizer", [("float32", "adam"), ("mixed_bfloat16", "adam"), ("mixed_float16", None)]
)
def test_a_file_with_nothing_to_find(save, capsys, functional, policy, optimizer):
    path = save(model(policy, functional=functional, optimizer=optimizer))
    assert command.run(path, fix=True) == 0
    out, err = capsys.readouterr()
    assert (
        out.splitlines() == ["Nothing found.", "Nothing can be repaired mechanically."] and not err
    )
    assert keras.config.dtype_policy().name == "float32"


def test_advice_alone_is_no_failure(save, capsys):
    with dtype_policy("mixed_bfloat16"):
        made = keras.Sequential(
            [keras.Input((8,)), layers.Dense(9), layers.Dense(3, dtype="float32")]
        )
    assert command.run(save(made)) == 0
    assert capsys.readouterr().out.startswith("MP010 advice dense")


@pytest.mark.parametrize("functional", [False, True])
def test_a_file_that_relies_on_the_policy_in_force(save, capsys, functional):
    path = save(model(functional=functional))
    assert command.run(path) == 1
    assert [line[:5] for line in capsys.readouterr().out.splitlines()] == ["MP013"]
    assert type(keras.saving.load_model(path).optimizer).__name__ == "Adam"  # the fact
    with dtype_policy("mixed_float16"):
        assert command.run(path) == 0
    assert command.run(save(model(functional=functional, optimizer=wrapped()))) == 0


def test_the_diff_widens_the_end_of_the_model(save, capsys):
    path = save(model(head="float16", policy="mixed_bfloat16"))
    before = path.read_bytes()
    assert command.run(path, fix=True) == 1
    out = capsys.readouterr().out
    assert "--- config.json\n" in out and "+++ config.json, repaired\n" in out
    changed = [
        line for line in out.splitlines() if line[:1] in "+-" and line[:3] not in ("---", "+++")
    ]
    assert '"name": "float16"' in changed[0] and '"name": "float32"' in "".join(changed)
    assert path.read_bytes() == before


@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16", "bfloat16"])
def test_the_repaired_model_has_no_findings(save, policy, functional):
    path = save(model(policy, head=policy, functional=functional))
    codes = {f.code for f in findings.examine(again(path), hardware=HARDWARE)}
    assert codes == set()


def test_the_repair_of_a_layer_in_a_nested_model(save):
    with dtype_policy("mixed_float16"):
        inner = keras.Sequential(
            [keras.Input((8,)), layers.UnitNormalization(), layers.Dense(8, "softmax")],
            name="inner",
        )
        inputs = keras.Input((8,))
        path = save(keras.Model(inputs, inner(inputs)))
    repaired = again(path)
    assert [layer.compute_dtype for layer in repaired.get_layer("inner").layers] == ["float32"] * 2


def test_the_policy_that_a_file_was_saved_under(save):
    for policy in ("float32", "mixed_float16", "mixed_bfloat16", "bfloat16"):
        for functional in (False, True):
            config = command.read_config(save(model(policy, functional=functional)))
            # Half of the layers of this functional model are float32, so add to the others.
            if functional:
                config["config"]["layers"].append(config["config"]["layers"][1])
            assert command.stored_policy(config) == policy
    assert command.stored_policy({"config": {}}) is None


@keras.saving.register_keras_serializable("tests")
class Registered(layers.Layer):
    def call(self, x):
        return x


class Unknown(layers.Layer):
    def call(self, x):
        return x


def refused(capsys, path):
    assert command.run(path) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.endswith(".\n")
    return err


def test_a_file_that_is_missing_or_no_keras_file(tmp_path, capsys, save):
    assert "no file" in refused(capsys, tmp_path / "missing.keras")
    assert "not a .keras file" in refused(capsys, tmp_path)
    for name, content in (("a.keras", b"text"), ("b.keras", b""), ("c.h5", b"\x89HDF")):
        (tmp_path / name).write_bytes(content)
        assert "not a .keras file" in refused(capsys, tmp_path / name)
    for content in ("[]", "{", "{}", '{"config": 3}', "\xff"):
        with zipfile.ZipFile(tmp_path / "d.keras", "w") as archive:
            archive.writestr("config.json", content)
        assert "not a .keras file" in refused(capsys, tmp_path / "d.keras")
    with zipfile.ZipFile(tmp_path / "e.keras", "w") as archive:
        archive.writestr("other.txt", "")
    assert "not a .keras file" in refused(capsys, tmp_path / "e.keras")
    path = save(model())
    with zipfile.ZipFile(path) as archive:
        config = archive.read("config.json")
    with zipfile.ZipFile(tmp_path / "f.keras", "w") as archive:
        archive.writestr("config.json", config)  # and no weights
    assert "Keras cannot load" in refused(capsys, tmp_path / "f.keras")
    with zipfile.ZipFile(tmp_path / "g.keras", "w") as archive:
        archive.writestr("config.json", json.dumps({"config": {"layers": 3, "dtype": []}}))
    assert "Keras cannot load" in refused(capsys, tmp_path / "g.keras")


def test_a_layer_that_keras_does_not_know(capsys, save):
    text = refused(capsys, save(keras.Sequential([keras.Input((8,)), Unknown()])))
    assert "Unknown" in text and "register" in text
    assert command.run(save(keras.Sequential([keras.Input((8,)), Registered()]))) == 0


def test_a_lambda_layer_is_not_run(capsys, save):
    with_lambda = keras.Sequential([keras.Input((8,)), layers.Lambda(lambda x: x + 1)])
    assert "Lambda" in refused(capsys, save(with_lambda))


def test_it_works_in_a_process_of_its_own(save):
    path = save(model(head="float16"))
    code = (
        f"import sys; from course_utils import examine; sys.exit(examine.run({str(path)!r}, True))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("MP001 error out: ") and "+++ config.json" in done.stdout


def test_the_replica_safe_optimizer_is_examined_as_keras_s_own(save):
    from course_utils.training import ReplicaSafeLossScaleOptimizer

    made, said = model(optimizer=None), []
    for optimizer in (wrapped(), ReplicaSafeLossScaleOptimizer(keras.optimizers.Adam())):
        made.compile(optimizer, "mse")
        path = str(save(made))
        code = f"import sys; from course_utils import examine; sys.exit(examine.run({path!r}))"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr  # 1 where 16 bits are slow
        said.append(done.stdout)
    assert said[0] == said[1] and "MP013" not in said[1]


@pytest.mark.slow
def test_the_command_prints_findings_alone_and_exits_as_linters_do(tmp_path):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8)])
    model.save(tmp_path / "fine.keras")
    for name, status, said in (("fine.keras", 0, "Nothing found.\n"), ("none.keras", 2, "")):
        command = [sys.executable, "-m", "course_utils", "examine", tmp_path / name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (status, said), done.stderr
    assert "There is no file" in done.stderr
