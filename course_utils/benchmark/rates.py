"""How fast this device multiplies matrices of each dtype, and goes through memory."""

import operator
import statistics
from collections.abc import Iterable
from functools import partial

import keras
import pandas as pd
import tensorflow as tf

from course_utils import hardware, training
from course_utils.benchmark.keras_device import device, device_kind
from course_utils.benchmark.timer import timings

MATRICES = {"CPU": (512, 1024, 2048), "GPU": (2048, 4096, 8192)}  # a TPU as a GPU
# Beyond most caches, and within those of a CPU. A GPU starts no operation fast enough.
ARRAY_MIB = {"CPU": {"memory": 128, "cache": 8}, "GPU": {"memory": 1024}}


def ceilings(seconds: float = 12, dtypes: Iterable[str] | None = None) -> pd.DataFrame:
    """The roofs of this device: matrix products by dtype, and two ways of going through
    memory, and on a CPU through its cache.

    `dtypes` are names as in `roofline.Device.tflops`, by default those that the device
    may have. A DataFrame: figure (a dtype, "memory" or "cache"), case (what was run), value
    (the fastest of at least three runs; TFLOP/s or GB/s).

    Example:
        this = roofline.measured_device(ceilings(seconds=10))
    """
    kind = "CPU" if device_kind() == "CPU" else "GPU"
    cases = {}
    with keras.device(device()):
        for dtype in dtypes or likely_dtypes():
            for n in MATRICES[kind]:
                run = _product(n, dtype, tf32=dtype == "tf32")
                cases[dtype, f"{n} × {n}"] = run, 2e-12 * n**3
        # Sums of two float32 arrays: every number is read and written, none is used
        # again.
        for figure, mib in ARRAY_MIB[kind].items():
            a = keras.ops.ones((mib * 2**18,), "float32")
            gigabytes = 1e-9 * mib * 2**20
            new = f"a + a into a new array, {mib} MiB"
            cases[figure, new] = partial(operator.add, a, a), 2 * gigabytes
            there = f"b += a, {mib} MiB each"
            cases[figure, there] = partial(tf.Variable(a).assign_add, a), 3 * gigabytes
        calls = {case: run for case, (run, _) in cases.items()}
        times = timings(calls, seconds, "roofs", at_least=3)
    rows = [
        [*case, cases[case][1] / min(seconds)]
        for case, seconds in times.items()
        if seconds
    ]
    return pd.DataFrame(rows, columns=["figure", "case", "value"])


def start_us(operations: int = 200) -> float:
    """How long this device takes to start one operation, in microseconds.

    It is the time of a graph of small operations, one after the other, by their number
    (the median of at least five runs). What they compute takes no time beside that.

    Example:
        >>> start_us() > 0
        True
    """
    with keras.device(device()):
        number = tf.constant(1.0)

        @tf.function(jit_compile=False)
        def chain():
            result = number
            for _ in range(operations):
                result = tf.sin(result)  # no rule of the graph merges two of them
            return result

        seconds = timings({"start": chain}, 0.5, "starting operations")["start"]
    return 1e6 * statistics.median(seconds) / operations


def likely_dtypes(machine: hardware.Hardware | None = None) -> list[str]:
    """What is worth multiplying on a machine, this one by default; float32 both ways
    with TF32, no bfloat16 on GPUs without units for it.

    Example:
        >>> likely_dtypes(hardware.Hardware("Linux x86_64", "some CPU", 2, ()))
        ['float32', 'bfloat16', 'float16']
    """
    machine = machine or hardware.detect()
    tf32 = ["tf32"] if hardware.has_tf32(machine) else []
    without = hardware.bfloat16_ends_the_process(machine)
    if machine.working("GPU"):  # the first GPUs with TF32 are the first with bfloat16
        without = not tf32
    bfloat16 = [] if without else ["bfloat16"]
    return ["float32", *tf32, *bfloat16, "float16"]


def _product(size, dtype, tf32):
    """The product of two square matrices, float32 with or without TF32."""
    a = keras.random.uniform((size, size), seed=0)
    a = keras.ops.cast(a, "float32" if dtype == "tf32" else dtype)

    def run():
        with training.tf32(tf32):
            return keras.ops.matmul(a, a)

    return run
