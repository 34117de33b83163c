"""The setup cell: what it prints, resets and hides, and what it says when it cannot
start.
"""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import keras
import pytest
from test_processes import posix

from course_utils import hardware, session
from course_utils.hardware import Accelerator, Hardware

ROOT = Path(__file__).resolve().parent.parent


FIRST_CELL = """
import sys
from course_utils import session
session.setup(cpus=2)
import gc
frozen, made = gc.get_freeze_count(), [[] for _ in range(1000)]
session.setup(cpus=2)  # the cell is run again
assert gc.isenabled() and 0 <= gc.get_freeze_count() - frozen < 100 < frozen
import tensorflow as tf
tf.matmul(tf.ones((64, 64)), tf.ones((64, 64)))
print(*tf.config.list_logical_devices("CPU"), sep=chr(10))
try:
    session.setup(cpus=3)
except Exception as error:
    print(type(error).__name__, error)
try:
    with session.quiet.silent(2):
        raise ValueError
except ValueError:
    print("still here", file=sys.stderr)
import keras
keras.layers.Dense(1, input_shape=(1,))  # a warning that speaks of the learner's model
for _ in range(9):
    tf.function(lambda: 1)()  # TensorFlow's false alarm where many models are built
tf.get_logger().warning("another warning")
"""


@pytest.mark.slow
def test_setup_prints_versions_and_splits_the_cpu_before_tensorflow_starts_or_not_at_all():
    command = [sys.executable, "-c", FIRST_CELL]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    back, *warned = done.stderr.strip().splitlines()
    # what is quiet while TensorFlow starts is not afterwards
    assert back == "still here"
    assert len(warned) == 3 and "UserWarning: Do not pass an `input_shape`" in warned[0]
    assert warned[2] == "WARNING:tensorflow:another warning"
    for word in ("Python 3.", "TensorFlow 2.", "Keras 3."):
        assert word in done.stdout
    assert done.stdout.count("LogicalDevice(name='/device:CPU:") == 2
    last = done.stdout.strip().splitlines()[-1]
    assert "DeviceError" in last and "with 2 CPU devices, and 3 CPU devices are" in last
    assert "restart the kernel" in last


def test_setup_goes_back_to_the_same_start(capsys):
    session.setup()
    first = keras.random.uniform((3,)).numpy()
    keras.config.set_dtype_policy("mixed_float16")
    session.setup()
    assert keras.config.dtype_policy().name == "float32"
    assert (keras.random.uniform((3,)).numpy() == first).all()


@pytest.mark.parametrize("was, then", [("2", "3"), ("0", "0")])
def test_the_log_of_tensorflow_is_off_unless_all_of_it_is_asked_for(
    was, then, monkeypatch
):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", was)
    session.setup()
    assert session.os.environ["TF_CPP_MIN_LOG_LEVEL"] == then


def test_a_name_error_in_a_cell_says_which_cells_to_run(monkeypatch, capsys):
    traced = []
    hooks = {}
    shell = SimpleNamespace(
        set_custom_exc=lambda kinds, hook: hooks.update(dict.fromkeys(kinds, hook)),
        showtraceback=lambda *given, **options: traced.append(given),
    )
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    session.setup()
    capsys.readouterr()
    unbound = "def f():\n    return x\n    x = 1\nf()"
    for code, told in (("CORE", True), (unbound, False)):
        try:
            exec(code, {})
        except NameError as error:
            hooks[NameError](shell, type(error), error, None)
        out = capsys.readouterr().out
        assert (
            "Is CORE misspelled, without quotes, not imported? If a cell above" in out
        ) == told
        assert bool(out) == told
    assert len(traced) == 2


TPU = Accelerator("TPU", "v5e-1", True)


def a_machine(sets=("avx2",), *found):
    return Hardware("Linux x86_64", "CPU", 2, sets, accelerators=found)


def test_a_pace_that_is_set_is_announced_and_a_wrong_one_named(monkeypatch, capsys):
    monkeypatch.setenv("COURSE_PACE", "0.2")
    session.setup()
    announced = "COURSE_PACE: measurements take 0.2 of their time here and scatter.\n"
    assert capsys.readouterr().out.endswith(announced)
    for wrong in ("fast", "0", "2", "-1"):
        monkeypatch.setenv("COURSE_PACE", wrong)
        with pytest.raises(session.SetupError, match=f"COURSE_PACE is '{wrong}'"):
            session.setup()


def hide(package, monkeypatch):
    real = session.importlib.util.find_spec
    monkeypatch.setattr(
        session.importlib.util, "find_spec", lambda n: None if n == package else real(n)
    )


@pytest.mark.parametrize("package", ["tensorflow", "keras", "gfloat"])
def test_a_missing_package_is_one_sentence_without_a_traceback(package, monkeypatch):
    hide(package, monkeypatch)
    with pytest.raises(session.SetupError) as error:
        session.setup()
    assert error.value._render_traceback_() == [str(error.value)]
    assert "make lab" in str(error.value) and package in str(error.value)


PIP = """#!/bin/sh
echo "$@" >> {asked}
{then}
"""


@pytest.fixture
def tpu_runtime(tmp_path, monkeypatch):
    """Colab's TPU runtime without TensorFlow, and a Python whose pip does what a test
    says.
    """
    monkeypatch.setenv("COLAB_RELEASE_TAG", "x")
    monkeypatch.setenv("COLAB_TPU_1VM", "1")
    monkeypatch.setenv("TPU_FOUND", "")
    monkeypatch.setattr(session, "try_tpu", lambda: (1, {"TPU_FOUND": "yes"}))
    monkeypatch.setattr(session, "tpu_strategy", lambda: None)
    monkeypatch.setattr(hardware, "detect", lambda: a_machine(("avx2",), TPU))
    python = tmp_path / "python"
    asked = tmp_path / "asked"
    metadata = session.importlib.metadata
    found = lambda: {"tensorflow": []} if asked.exists() else {}  # noqa: E731
    monkeypatch.setattr(metadata, "packages_distributions", found)

    def set_up(then=""):
        python.write_text(PIP.format(asked=asked, then=then))
        python.chmod(0o755)
        monkeypatch.setattr(session.sys, "executable", str(python))
        return session.setup()

    return SimpleNamespace(setup=set_up, asked=asked)


@posix
def test_tensorflow_is_installed_once_on_a_tpu_runtime_and_told_of_its_tpu(
    tpu_runtime, capsys
):
    machine = tpu_runtime.setup()
    pip = "-m pip install --retries 1 --progress-bar off tensorflow-tpu==2.20.*\n"
    assert tpu_runtime.asked.read_text() == pip
    assert "263 MB" in capsys.readouterr().out
    session.expect(machine)
    assert "not run on a TPU" in capsys.readouterr().out
    assert session.os.environ["TPU_FOUND"] == "yes"
    tpu_runtime.setup()
    assert tpu_runtime.asked.read_text() == pip
    assert "263 MB" not in capsys.readouterr().out


@posix
def test_an_installation_that_fails_or_asks_for_a_restart_is_one_sentence(
    tpu_runtime, monkeypatch
):
    hide("tensorflow", monkeypatch)
    with pytest.raises(
        session.SetupError, match="a network and run `%pip install .tensorflow-tpu="
    ):
        tpu_runtime.setup("exit 1")
    tpu_runtime.asked.unlink()
    with pytest.raises(session.SetupError, match="restart it .* run this cell again"):
        tpu_runtime.setup("echo '    Uninstalling protobuf-6.1:'")


def test_colab_gets_the_one_package_that_it_lacks(monkeypatch):
    """Here pip is not asked; `make pins` lets it install into an environment like
    Colab's.
    """
    asked = []
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    assert not session.on_colab()
    monkeypatch.setenv("COLAB_RELEASE_TAG", "x")
    monkeypatch.setattr(
        session, "_install", lambda package, size: asked.append(package)
    )
    session.setup()
    assert asked == [] and session.on_colab()
    hide("gfloat", monkeypatch)
    with pytest.raises(session.SetupError, match="could not be installed: check"):
        session.setup()
    assert asked == ["gfloat"]
    assert (
        session.LACKING["gfloat"]
        in (ROOT / "requirements.txt").read_text().splitlines()
    )


def test_a_gpu_that_does_not_work_is_hidden_before_tensorflow_starts(
    monkeypatch, capsys
):
    machine = a_machine(
        ("avx2",), Accelerator("GPU", "Broken", False, "it fails.", 12.0, None)
    )
    monkeypatch.setattr(hardware, "detect", lambda: machine)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert session.setup() == machine
    assert session.os.environ["CUDA_VISIBLE_DEVICES"] == "-1"
    assert "GPU Broken" in capsys.readouterr().out


FP16 = ("avx512_bf16", "avx512_fp16")
GPU = Accelerator("GPU", "some GPU", True, "", 9.0)
# CPU, working GPUs, parts of the CPU; is merging turned off, are convolutions slow
SPLIT = [
    (("avx512_bf16",), 0, 1, False, False),
    *(
        (FP16, gpus, parts, gpus < parts, gpus < parts)
        for gpus, parts in ((0, 1), (1, 1), (1, 2))
    ),
]


@pytest.mark.parametrize("version", ["2.20.0", "2.21.0"])
@pytest.mark.parametrize("sets, gpus, cpus, off, slow", SPLIT)
def test_float16_products_are_not_merged_where_that_makes_them_slow(
    sets, gpus, cpus, off, slow, version, monkeypatch, capsys
):
    """Also on a GPU's machine, where the notebook runs on parts of the CPU."""
    import tensorflow as tf

    options = []
    monkeypatch.setattr(tf, "__version__", version)
    monkeypatch.setattr(tf.config.optimizer, "set_experimental_options", options.append)
    monkeypatch.setattr(session.distributed, "split_cpu", lambda count: None)
    monkeypatch.setattr(hardware, "detect", lambda: a_machine(sets, *[GPU] * gpus))
    machine = session.setup(cpus)
    assert "16" not in capsys.readouterr().out.splitlines()[0]  # before the guess
    session.expect(machine, cpus)
    printed = capsys.readouterr().out
    assert options == [{"remapping": False}] * off
    assert (session.MERGING_IS_OFF in printed) is off
    assert (session.CONVOLUTIONS_ARE_SLOW in printed) is slow
    # TensorFlow's own kernels were slow, XLA is not
    old = version == "2.20.0" and sets != FP16
    assert (session.OLD_KERNELS_ARE_SLOW in printed) is old
    xla_cures = old or version == "2.21.0"
    assert (session.XLA_CURES in printed) is ((old or slow) and xla_cures)
    assert (session.XLA_DOES_NOT in printed) is (slow and not xla_cures)


TOLD = [
    (a_machine(), "microscope"),
    (a_machine(None), "for you to measure"),
    (Hardware("Linux aarch64", "CPU", 2, ("asimdhp", "bf16")), "for you to measure"),
    (a_machine(("avx512_bf16",)), "in large products here, and float16 not to be"),
    (a_machine(("amx_bf16", "amx_fp16")), "measure whether float16"),
    (a_machine((), Accelerator("GPU", "T4", True, "", 7.5, 1)), "GPU's own"),
    (a_machine((), TPU), "train on this TPU"),
]


def test_each_machine_reads_a_sentence_that_is_true_for_it():
    for machine, words in TOLD:
        assert words in session._what_differs(machine)
