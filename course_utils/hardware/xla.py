"""What XLA does for float16 on this machine, and whether there is one."""

import functools

import keras
import tensorflow as tf

from course_utils import hardware

CONVOLUTIONS = tuple(
    {kind for name, kind in vars(keras.layers).items() if "Conv" in name}
)


def needs_xla(model: keras.Model) -> bool:
    """Whether this machine trains a model in reasonable time only if XLA compiles its
    step.

    So it is for float16 convolutions where `float16_needs_xla`. The `keras.Model` need
    not be compiled. Under a strategy with several replicas it is False: XLA cannot
    compile their step on logical CPUs (notebook 07, section 6).

    Example:
        model.compile("adam", loss, jit_compile=needs_xla(model))
    """
    if model.distribute_strategy.num_replicas_in_sync > 1:
        return False
    convolutions = [x for x in model._flatten_layers() if isinstance(x, CONVOLUTIONS)]
    return (
        any(x.compute_dtype == "float16" for x in convolutions) and float16_needs_xla()
    )


def float16_needs_xla(machine: hardware.Hardware | None = None) -> bool:
    """Whether float16 convolutions train in reasonable time on this CPU only under XLA.

    TensorFlow 2.21 needs it on the CPUs of `hardware.float16_convolutions_are_slow`,
    and 2.20 on the other x86 CPUs: there its own kernels took 4.4 CPU seconds for a
    step of the MNIST CNN with 256 images, XLA 0.17, float32 0.07, and 2.21's kernels
    0.34 (2 cores, 24 November 2026).

    Example:
        >>> float16_needs_xla(hardware.Hardware("Linux aarch64", "some CPU", 2, ()))
        False
    """
    machine = machine or hardware.detect()
    if xla_cures_float16():
        return hardware.float16_convolutions_are_slow(machine)
    return hardware.x86_without_float16(machine) and has_xla()


def has_xla() -> bool:
    """Whether XLA compiles for this device; for CPUs the package tensorflow-tpu has
    none.
    """
    try:
        return bool(tf.function(lambda: tf.constant(True), jit_compile=True)())
    except tf.errors.NotFoundError:
        return False


@functools.cache
def compiles_convolutions() -> bool:
    """Whether XLA compiles a convolution for this device.

    For an NVIDIA GPU it needs the library libnvrtc, which an installation may lack.

    Example:
        compiles_convolutions()
    """
    images, window = tf.ones((1, 4, 4, 1)), tf.ones((3, 3, 1, 1))
    convolve = tf.function(
        lambda: tf.nn.conv2d(images, window, 1, "SAME"), jit_compile=True
    )
    try:
        convolve()
    except tf.errors.OpError:
        return False
    return True


def xla_cures_float16() -> bool:
    """Whether XLA computes the gradients of float16 convolutions in float32 on every
    CPU.

    TensorFlow 2.21's does. 2.20's leaves them in float16 on CPUs with avx512_fp16,
    where one of them took 4,237 ms and float32's 34 (a Xeon, 22 November 2026).
    """
    return tuple(map(int, tf.__version__.split(".")[:2])) >= (2, 21)
