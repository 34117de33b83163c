"""A network as large as a device needs it: most of a step computes and moves arrays.

On a fast device the smallest networks wait for their operations to be started, and the
number format cannot matter.
"""

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from course_utils import hardware
from course_utils.benchmark import ceilings, measure, rates
from course_utils.progress import tqdm
from course_utils.roofline.catalogue import Device, measured_device
from course_utils.roofline.counting import count
from course_utils.roofline.liveness import operations, peak
from course_utils.roofline.prediction import predict
from course_utils.training import dtype_policy

WIDTHS = (32, 64, 128, 256, 512)  # of the first convolution
BATCH_SIZES = (256, 512, 1024, 2048, 4096, 8192, 16384)
BUSY = 0.75  # of a 16-bit step
MEMORY = 0.5  # of the device's, for the counted peak: libraries take some beside it


class Network(NamedTuple):
    """A `models.mnist_cnn` of this width, trained with batches of this size."""

    width: int
    batch_size: int

    def filled(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """NumPy arrays of the same length, their rows repeated until they fill a batch.

        Example:
            >>> Network(32, 4).filled(np.array([1, 2, 3]))
            (array([1, 2, 3, 1]),)
        """
        rows = max(self.batch_size, *map(len, arrays))
        return tuple(array[np.arange(rows) % len(array)] for array in arrays)


@functools.cache
def network(
    machine: hardware.Hardware | None = None, batch_size: int | None = None
) -> Network:
    """The CNN that the notebooks time on a machine, by default this one.

    On a CPU and on a TPU it is 32 filters wide, and `batch_size` is that of its
    batches, by default that of `hardware.workload`. On a GPU it is `fitted` to the roofs
    and to the time of starting an operation, both measured here in some ten seconds.

    Example:
        >>> network(hardware.Hardware("Linux x86_64", "some CPU", 2, ()))
        Network(width=32, batch_size=256)
    """
    machine = machine or hardware.detect()
    gpus = machine.working("GPU")
    if not gpus:
        return Network(WIDTHS[0], batch_size or hardware.workload(machine).batch_size)
    roofs = ceilings(4, rates.likely_dtypes(machine))
    memory = min((gpu.memory_bytes for gpu in gpus if gpu.memory_bytes), default=None)
    return fitted(measured_device(roofs), rates.start_us(), memory)


def fitted(device: Device, start_us: float, memory_bytes: int | None = None) -> Network:
    """The narrowest network, and its smallest batch, that keeps a device busy.

    In its best step with 16 bits, products and moving arrays take at least three
    quarters of the time, and starting operations, each `start_us` microseconds, the
    rest. What takes longer than at best makes the share larger. XLA, which merges
    operations, does so too. A network whose arrays take more than half of
    `memory_bytes` (None: no limit) is left out. Where none keeps the device busy, it is
    the widest that is left, and where none is left the narrowest.

    Example:
        >>> from course_utils.roofline import devices
        >>> fitted(devices()["T4"], start_us=5)
        Network(width=32, batch_size=2048)
    """
    has_bfloat16 = device.peak("bfloat16") >= device.peak("float16")
    policy = "mixed_bfloat16" if has_bfloat16 else "mixed_float16"
    largest = Network(WIDTHS[0], BATCH_SIZES[0])
    for width in tqdm(WIDTHS, desc="a network for this device"):
        for size in BATCH_SIZES:
            is_busy = _share(width, policy, size, device, start_us) >= BUSY
            if is_busy or size == BATCH_SIZES[-1]:
                break
        if memory_bytes and _peak(width, size) > MEMORY * memory_bytes:
            continue
        largest = Network(width, size)
        if is_busy:
            break
    return largest


def _share(width, policy, batch_size, device, start_us):
    """What part of a step is not the starting of its operations."""
    work = _work(width, policy, batch_size)
    ms = predict(work, device).ms
    return ms / (ms + 1e-3 * start_us * len(work.table))


@functools.cache
def _work(width, policy, batch_size):
    """What one step under a policy computes and moves."""
    with dtype_policy(policy):
        step = _cnn(width).train_step
    images = tf.TensorSpec((batch_size, 28, 28, 1))
    return count(step, (images, tf.TensorSpec((batch_size,), "int32")))


def _cnn(width):
    return measure.build("cnn", {"width": width}, compiler=False)


def _peak(width, batch_size):
    """Bytes of a float32 step at its peak, without the weights."""
    pictures = np.broadcast_to(np.float32(0), (batch_size, 28, 28, 1))
    labels = np.zeros(batch_size, "int32")
    return peak(operations(lambda: _cnn(width), "float32", pictures, labels))
