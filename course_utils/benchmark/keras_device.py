"""The device that Keras uses: its name, its counter of memory, and models made on it."""

from collections.abc import Callable

import keras
import tensorflow as tf

from course_utils import distributed
from course_utils.hardware import xla


def device() -> str:
    """TensorFlow's name of the device that Keras uses, "GPU:0", "TPU:0" or "CPU:0"."""
    kinds = {d.device_type for d in tf.config.list_logical_devices()}
    return next((f"{kind}:0" for kind in ("TPU", "GPU") if kind in kinds), "CPU:0")


def device_kind() -> str:
    """The kind of `device`: "GPU", "TPU" or "CPU"."""
    return device().split(":")[0]


def counts_memory() -> bool:
    """Whether the allocator of this device tells how much memory is in use."""
    return start_peak() is not None


def start_peak() -> int | None:
    """Bytes in use now, with the peak counter reset; None where the allocator does not
    tell.
    """
    try:
        tf.config.experimental.reset_memory_stats(device())
        return tf.config.experimental.get_memory_info(device())["current"]
    except (ValueError, tf.errors.OpError, RuntimeError):  # a CPU with oneDNN off
        return None


def build(build_model: Callable[[], keras.Model]) -> keras.Model:
    """The model of `build_model()`, made where this machine trains.

    That is a TPU, if there is one. Where `hardware.xla.needs_xla` says so, XLA compiles its
    step, whatever `build_model` says, and where XLA cannot compile a convolution, it
    compiles nothing.

    Example:
        model = build(build_model)
    """
    with distributed.scope():
        model = build_model()
    if xla.needs_xla(model):
        model.jit_compile = True
    elif model.jit_compile and not xla.compiles_convolutions():
        model.jit_compile = False
    return model
