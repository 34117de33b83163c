"""What the course adds to the linter: this machine, and a loss scale of its own."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from mixed_precision_lint import probe

from course_utils import __main__, models, precision, training
from course_utils.hardware import Accelerator, Hardware
from course_utils.hardware.xla import needs_xla, xla_cures_float16
from course_utils.training import dtype_policy
from tools.canonical_form import COURSE, read

F16, BF16 = ("mixed_float16", "mixed_bfloat16")


def machine(*sets, cc=None):
    gpu = Accelerator("GPU", "some GPU", True, "", cc, 16 * 2**30)
    return Hardware(
        "Linux x86_64", "some CPU", 4, sets, accelerators=(gpu,) if cc else ()
    )


@pytest.fixture
def slow(monkeypatch):
    """The finding about a machine's speed for a model, if any."""

    def on(hardware, model):
        monkeypatch.setattr("course_utils.hardware.detect", lambda: hardware)
        return [f for f in precision.examine(model) if f.code == "MP012"]

    return on


def dense(policy):
    with dtype_policy(policy):
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8)])
    return model


@pytest.mark.parametrize(
    "policy, hardware, reason",
    [
        (F16, machine("avx2"), "CPUs"),
        (BF16, machine("avx2"), "no bfloat16 instructions"),
        (BF16, machine(cc=7.5), "none for bfloat16"),
        # does not tell
        (BF16, Hardware("Windows AMD64", "some CPU", 4, None), None),
        # fast in both
        (F16, machine(cc=8.0), None),
        (BF16, machine(cc=8.0), None),
    ],
)
def test_mp012_slow_on_this_hardware(policy, hardware, reason, slow):
    """One machine for each kind of reason; which machine has which is
    `test_hardware`'s.
    """
    findings = slow(hardware, dense(policy))
    assert len(findings) == bool(reason)
    for finding in findings:
        assert reason in finding.message and finding.severity == "warning"


def test_mp012_sends_float16_convolutions_to_xla_where_training_does(slow):
    with dtype_policy(F16):
        cnn = models.mnist_cnn()
    for model in (cnn, dense(F16)):
        (finding,) = slow(machine("avx512_fp16"), model)
        by_xla = finding.fix.startswith("model.compile(..., jit_compile")
        # TensorFlow 2.20's XLA is slow there too
        assert by_xla == needs_xla(model) == (model is cnn and xla_cures_float16())


def test_the_course_s_command_is_the_linter_s_with_this_machine(monkeypatch):
    from mixed_precision_lint import command

    asked = []
    monkeypatch.setattr(command, "main", lambda *given: asked.append(given) or 7)
    assert __main__.main(["examine", "train.py", "--run"]) == 7
    ((arguments, name),) = asked
    assert arguments == ["examine", "train.py", "--run"]
    module, _, function = name.partition(":")
    assert module == "course_utils.precision" and getattr(precision, function)


def test_ctrl_c_ends_a_command_without_a_traceback(monkeypatch, capsys):
    def interrupted():
        print("a row")
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__.check, "run", interrupted)
    assert __main__.main(["check"]) == 130
    assert capsys.readouterr() == ("a row\n", "")


def test_probe_leaves_the_replica_safe_optimizer_in_peace():
    def build():
        model = dense(F16)
        optimizer = training.ReplicaSafeLossScaleOptimizer(keras.optimizers.SGD(0.1))
        weights = model.trainable_variables

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.cast(model(x), "float32") - y) ** 2
                scaled = optimizer.scale_loss(loss)
            optimizer.apply(tape.gradient(scaled, weights), weights)
            return loss

        return model, optimizer, step

    x = np.random.default_rng(0).normal(size=(16, 8)).astype("float32")
    assert probe(build, x, np.ones((16, 8), "float32")) == []


def test_the_linter_s_rules_name_cells_that_are_there():
    page = (COURSE / "linter/RULES.md").read_text(encoding="utf-8")
    links = re.findall(r"notebooks/solved/([\w.]+)#cell-id=([\w-]+)\)", page)
    assert len(links) > 12
    for name, cell in links:
        cells = read(COURSE / "notebooks" / name).cells
        assert cell in [each.id for each in cells], (name, cell)
