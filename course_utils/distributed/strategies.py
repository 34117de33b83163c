"""Which of TensorFlow's distribution strategies fits this machine, and why."""

import contextlib
import functools
from dataclasses import dataclass
from typing import Any

from course_utils.errors import OneLineError
from course_utils.hardware import accelerators, counted


class DeviceError(OneLineError, RuntimeError):
    """The devices asked for are not to be had; one sentence says what to do."""


@dataclass(frozen=True)
class Choice:
    """A strategy ("TPUStrategy", "MirroredStrategy" or "one device"), its devices, and
    why.
    """

    kind: str
    devices: tuple[str, ...]
    reason: str

    def strategy(self) -> Any:
        """The `tf.distribute.Strategy`, made once; "one device" is the default one."""
        import tensorflow as tf

        if self.kind == "TPUStrategy":
            return accelerators.tpu_strategy()
        if self.kind == "MirroredStrategy":
            return _mirrored(self.devices)
        return tf.distribute.get_strategy()


def scope() -> contextlib.AbstractContextManager:
    """Where models are built that train on a TPU, or on the devices of `split_cpu`.

    `fit` shares each batch out among replicas; `train_on_batch` gives each the whole
    batch. One device, several GPUs, and the scope of another strategy stay as they are.

    Example: `with scope(): model = build_model()`
    """
    import tensorflow as tf

    choice = choose()
    alone = choice.kind == "one device" or choice.devices[0].startswith("GPU")
    if alone or tf.distribute.has_strategy():
        return contextlib.nullcontext()
    return choice.strategy().scope()


def split_cpu(count: int = 2) -> tuple[str, ...]:
    """Make several logical devices of the CPU, to learn on; they share its cores.

    TensorFlow can do that once, before it computes for the first time. Called again
    with the same number it changes nothing. Raises a DeviceError if it has started with
    another one.

    Example: `split_cpu(2)` is `('CPU:0', 'CPU:1')` in a fresh kernel.
    """
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    before = tf.config.get_logical_device_configuration(cpu) or [None]
    if len(before) != count:
        one = tf.config.LogicalDeviceConfiguration()
        try:
            tf.config.set_logical_device_configuration(cpu, [one] * count)
        except RuntimeError:
            raise DeviceError(
                "TensorFlow has already started in this kernel with "
                f"{counted(len(before), 'CPU device')}, and {counted(count, 'CPU device')} are "
                "asked for: restart the kernel and run this cell before "
                "anything that computes."
            ) from None
    return _names("CPU", count)


def choose() -> Choice:
    """The strategy for this machine, as TensorFlow sees it now. It starts TensorFlow.

    Example: `choose().devices`
    is `('CPU:0', 'CPU:1')` after `split_cpu(2)`, on a machine without a GPU.
    """
    import tensorflow as tf

    # A TPU_SYSTEM device is listed without any TPU too, so cores are counted.
    kinds = ("TPU", "GPU", "CPU")
    tpu_cores, gpus, cpus = (
        len(tf.config.list_logical_devices(kind)) for kind in kinds
    )
    if tpu_cores > 1 or (tpu_cores and cpus == 1):
        reason = f"TensorFlow can use the {counted(tpu_cores)} of this TPU."
        return Choice("TPUStrategy", _names("TPU", tpu_cores), reason)
    shared = f"each of the {gpus} GPUs of this machine takes its part of every batch."
    simulated = (
        f"{cpus} logical devices of one CPU show all that happens between replicas, and they "
        "make nothing faster."
    )
    for kind, count, reason in (("GPU", gpus, shared), ("CPU", cpus, simulated)):
        if count > 1:
            return Choice("MirroredStrategy", _names(kind, count), reason)
    if gpus:
        return Choice(
            "one device", ("GPU:0",), "this machine has one GPU and nothing to share."
        )
    reason = "TensorFlow sees one CPU device; split_cpu(2) before it starts makes two to learn on."
    return Choice("one device", ("CPU:0",), reason)


@functools.cache
def _mirrored(devices):
    """One for all cells: a second one on the same devices numbers its all-reduces anew.

    TensorFlow 2.21 then takes one for another of the first strategy's and refuses its
    shape.
    """
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(list(devices))


def _names(kind, count):
    return tuple(f"{kind}:{i}" for i in range(count))
