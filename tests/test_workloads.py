"""The network that a device gets: large enough for it, and no larger."""

from dataclasses import replace
from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils import benchmark, hardware, roofline
from course_utils.benchmark import keras_device, rates
from course_utils.hardware import accelerators, xla
from course_utils.roofline import workloads
from course_utils.training import dtype_policy

pytestmark = pytest.mark.slow
DEVICES = roofline.devices()
INVENTED = roofline.Device("invented", {"float32": 10, "float16": 90}, 600)
# GiB, microseconds for the start of an operation, and the network
TABLE = {
    "T4": (DEVICES["T4"], 15, 5, (32, 2048)),
    "A100": (DEVICES["A100 40 GB"], 40, 5, (32, 16384)),
    "H100": (DEVICES["H100 SXM"], 80, 5, (64, 16384)),
    "invented": (INVENTED, 24, 3, (32, 2048)),
}


def machine(name="", capability=None, gib=16):
    gpu = accelerators.Accelerator(
        "GPU", name, True, compute_capability=capability, memory_bytes=gib << 30
    )
    found = (gpu,) if name else ()
    return hardware.Hardware("Linux x86_64", "some CPU", 2, (), accelerators=found)


@pytest.mark.parametrize("name", TABLE)
def test_each_device_gets_the_network_that_keeps_it_busy(name):
    device, gib, start_us, expected = TABLE[name]
    found = roofline.fitted(device, start_us, gib << 30)
    assert found == expected
    policy = "mixed_bfloat16" if "bfloat16" in device.tflops else "mixed_float16"
    # counted anew at this very size
    for size, is_busy in ((found.batch_size, True), (found.batch_size // 2, False)):
        work = workloads._work.__wrapped__(found.width, policy, size)
        ms = roofline.predict(work, device).ms
        start_ms = 1e-3 * start_us * len(work.table)
        assert (ms >= 0.75 * (ms + start_ms)) == is_busy


def test_memory_and_the_end_of_the_sizes_limit_it(monkeypatch):
    monkeypatch.setattr(workloads, "WIDTHS", (32, 64))
    endless = replace(INVENTED, tflops={"float32": 1e6}, gb_per_s=1e9)
    assert roofline.fitted(endless, 5) == (64, 16384)
    assert roofline.fitted(endless, 5, 4 << 30) == (32, 256)
    assert roofline.fitted(INVENTED, 3, 1 << 28) != TABLE["invented"][3]


def test_a_cpu_keeps_its_own_and_a_gpu_is_measured(monkeypatch):
    asked = []
    monkeypatch.setattr(workloads, "ceilings", lambda *_: asked.append("roofs"))
    monkeypatch.setattr(workloads, "measured_device", lambda roofs: DEVICES["T4"])
    monkeypatch.setattr(rates, "start_us", lambda: 5.0)
    roofline.network.cache_clear()
    assert roofline.network(machine()) == (32, 256)
    assert roofline.network(machine(), batch_size=128) == (32, 128)
    assert asked == []
    for _ in range(2):
        assert roofline.network(machine("Tesla T4", 7.5)) == (32, 2048)
    assert asked == ["roofs"]  # once
    roofline.network.cache_clear()


def test_rows_repeat_until_a_batch_is_full():
    x, y = np.arange(6).reshape(3, 2), np.arange(3)
    network = roofline.Network(32, 8)
    more_x, more_y = network.filled(x, y)
    assert more_x.shape == (8, 2) and more_y.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert (more_x[:, 0] // 2 == more_y).all()
    assert roofline.Network(32, 2).filled(y)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "name, capability, expected",
    [
        ("", None, benchmark.POLICIES),
        ("Tesla T4", 7.5, ("float32", "mixed_float16")),
        ("NVIDIA L4", 8.9, ("float32", "tf32", *benchmark.POLICIES[1:])),
    ],
)
def test_as_many_policies_as_formats(name, capability, expected):
    assert benchmark.device_policies(machine(name, capability)) == expected


def test_tf32_is_a_row_of_its_own_and_switched_off_for_float32():
    switch = tf.config.experimental.tensor_float_32_execution_enabled
    seen = {}

    class Dense(keras.layers.Dense):
        def call(self, inputs):
            seen[policy] = switch(), self.compute_dtype
            return super().call(inputs)

    def build_model():
        model = keras.Sequential([keras.Input((2,)), Dense(1)])
        model.compile("sgd", "mse", run_eagerly=True)
        return model

    x = np.ones((4, 2), "float32")
    for policy in ("float32", "tf32", "mixed_bfloat16"):
        benchmark.TimedModel(build_model, policy).step(x, x[:, :1])
    assert seen == {
        "float32": (False, "float32"),
        "tf32": (True, "float32"),
        "mixed_bfloat16": (True, "bfloat16"),
    }
    assert switch()


def test_where_xla_compiles_no_convolution_it_compiles_nothing(monkeypatch):
    assert xla.compiles_convolutions() == xla.has_xla()
    build = partial(workloads._cnn, 8)

    def with_xla():
        model = build()
        model.jit_compile = True
        return model

    for works in (True, False):
        monkeypatch.setattr(xla, "compiles_convolutions", lambda works=works: works)
        with dtype_policy("float32"):
            assert keras_device.build(with_xla).jit_compile == works
