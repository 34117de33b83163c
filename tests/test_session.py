"""The setup cell: what it prints, resets and hides, and what it says when it cannot start."""

import subprocess
import sys
from pathlib import Path

import keras
import pytest

from course_utils import hardware, session
from course_utils.accelerators import Accelerator
from course_utils.hardware import Hardware

ROOT = Path(__file__).resolve().parent.parent


def run(code, **env):
    import os

    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )


def test_the_cpu_is_split_before_tensorflow_starts_and_a_second_time():
    code = (
        "from course_utils import session; session.setup(cpus=2); session.setup(cpus=2);"
        "import tensorflow as tf; print(*tf.config.list_logical_devices('CPU'), sep=chr(10))"
    )
    assert run(code).stdout.count("LogicalDevice(name='/device:CPU:") == 2


def test_a_cpu_in_use_cannot_be_split():
    done = run("from course_utils import session; session.setup(); session.setup(cpus=2)")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "DeviceError" in last and "restart the kernel" in last


def test_setup_prints_versions_and_nothing_on_the_error_stream():
    done = run(
        "from course_utils import session; session.setup();"
        "import tensorflow as tf; tf.matmul(tf.ones((64, 64)), tf.ones((64, 64)));"
        "import sys; print('still here', file=sys.stderr)"
    )
    assert done.returncode == 0
    assert done.stderr.strip() == "still here"
    for word in ("Python 3.", "TensorFlow 2.", "Keras 3.", "Policy to try first here:"):
        assert word in done.stdout


def test_setup_goes_back_to_the_same_start(capsys):
    session.setup()
    first = keras.random.uniform((3,)).numpy()
    keras.config.set_dtype_policy("mixed_float16")
    session.setup()
    assert keras.config.dtype_policy().name == "float32"
    assert (keras.random.uniform((3,)).numpy() == first).all()


@pytest.mark.parametrize("package", ["tensorflow", "keras", "gfloat"])
def test_a_missing_package_is_one_sentence_without_a_traceback(package, monkeypatch):
    real = session.importlib.util.find_spec
    monkeypatch.setattr(
        session.importlib.util, "find_spec", lambda n: None if n == package else real(n)
    )
    with pytest.raises(session.SetupError) as error:
        session.setup()
    assert "make lab" in str(error.value) and package in str(error.value)
    assert error.value._render_traceback_() == [str(error.value)]


def test_on_colab_s_tpu_the_sentence_is_another(monkeypatch):
    monkeypatch.setenv("COLAB_RELEASE_TAG", "x")
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v5e-1")
    assert "tensorflow-tpu" in session._missing("tensorflow")


def test_colab_gets_the_one_package_that_it_lacks(monkeypatch):
    """Here pip is only asked; `make pins` lets it install into an environment like Colab's."""
    asked, real = [], session.importlib.util.find_spec
    monkeypatch.setenv("COLAB_RELEASE_TAG", "x")
    monkeypatch.setattr(session.subprocess, "run", lambda command, **_: asked.append(command))
    session.setup()
    assert asked == []
    monkeypatch.setattr(
        session.importlib.util, "find_spec", lambda n: None if n == "gfloat" else real(n)
    )
    with pytest.raises(session.SetupError, match="could not be installed: check"):
        session.setup()
    assert [(command[:4], command[-1]) for command in asked] == [
        ([sys.executable, "-m", "pip", "install"], session.GFLOAT)
    ]
    assert session.GFLOAT in (ROOT / "requirements.txt").read_text().splitlines()


def test_colab_is_detected_by_its_environment(monkeypatch):
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    assert not session.on_colab()
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release-colab_2026")
    assert session.on_colab()


def test_a_gpu_that_does_not_work_is_hidden_before_tensorflow_starts(monkeypatch, capsys):
    broken = Accelerator("GPU", "Broken", False, "it fails.", 12.0, None)
    machine = Hardware("Linux x86_64", "CPU", 2, ("avx2",), accelerators=(broken,))
    monkeypatch.setattr(hardware, "detect", lambda: machine)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert session.setup() is machine
    assert session.os.environ["CUDA_VISIBLE_DEVICES"] == "-1"
    assert "GPU Broken" in capsys.readouterr().out


@pytest.mark.parametrize("sets", [("avx512_bf16",), ("avx512_bf16", "avx512_fp16")])
def test_float16_products_are_not_merged_where_that_makes_them_slow(sets, monkeypatch, capsys):
    import tensorflow as tf

    before = tf.config.optimizer.get_experimental_options().get("remapping", True)
    monkeypatch.setattr(hardware, "detect", lambda: Hardware("Linux x86_64", "CPU", 2, sets))
    try:
        tf.config.optimizer.set_experimental_options({"remapping": True})
        session.setup()
        off = not tf.config.optimizer.get_experimental_options()["remapping"]
    finally:
        tf.config.optimizer.set_experimental_options({"remapping": before})
    assert off is ("avx512_fp16" in sets)
    assert (session.MERGING_IS_OFF in capsys.readouterr().out) is off


def differs(sets=(), *found):
    return session._what_differs(Hardware("Linux x86_64", "CPU", 2, sets, accelerators=found))


def test_each_machine_reads_a_sentence_that_is_true_for_it():
    assert "slower" in differs(("avx2",)) and "microscope" in differs(("avx2",))
    assert "for you to measure" in differs(None)
    assert "float16 to be slower" in differs(("avx512_bf16",))
    assert "measure whether float16" in differs(("amx_bf16", "amx_fp16"))
    assert "GPU's own" in differs((), Accelerator("GPU", "T4", True, "", 7.5, 1))
    assert "CPU, not its TPU" in differs((), Accelerator("TPU", "v5e", True))


def test_the_error_stream_comes_back_after_an_error():
    done = run(
        "import sys\nfrom course_utils import session\n"
        "try:\n  with session._silent_stderr(): raise ValueError\n"
        "except ValueError: print('back', file=sys.stderr)"
    )
    assert done.stderr.strip() == "back"
