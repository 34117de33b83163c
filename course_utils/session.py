"""The first cell of every notebook: what runs here, and what will differ here."""

import dataclasses
import gc
import importlib.metadata
import importlib.util
import os
import platform
import sys

from course_utils import distributed, hardware, processes, quiet
from course_utils.errors import OneLineError
from course_utils.hardware.accelerators import (
    shows_a_tpu,
    tpu_strategy,
    try_tpu,
    usable_gpus,
)

# What Colab lacks: everywhere gfloat, as in requirements.txt, and on its TPU runtimes
# TensorFlow.
LACKING = {"gfloat": "gfloat>=0.5,<0.6", "tensorflow": "tensorflow-tpu==2.20.*"}
MERGING_IS_OFF = (
    "TensorFlow's graph optimization `remapping` is off in this notebook, because on CPUs like "
    "this it made float16 Dense layers hundreds of times slower (notebook 05, section 8)."
)
CONVOLUTIONS_ARE_SLOW = (
    "A step of the MNIST CNN took 30 to 190 times as long in float16 as in float32 on CPUs like "
    "this: oneDNN, TensorFlow's library, has no fast float16 routines for convolutions' gradients. "
)
OLD_KERNELS_ARE_SLOW = (
    "A step of the MNIST CNN took some 60 times as long in float16 as in float32 on a CPU like "
    "this: TensorFlow before 2.21 has no fast float16 routines for convolutions' gradients on x86 "
    "CPUs without `avx512_fp16`. "
)
XLA_CURES = "Train it under XLA, TensorFlow's compiler, with `jit_compile=True`."
XLA_DOES_NOT = (
    "TensorFlow 2.21 cures it with `jit_compile=True`, this older one does not."
)


class SetupError(OneLineError, RuntimeError):
    """The notebook cannot start; the message says what to do."""


def setup(cpus: int = 1) -> hardware.Hardware:
    """Imports TensorFlow quietly, sets seeds, and prints what this machine is.

    Running it again goes back to the same start: the float32 policy, the same seed.
    `cpus` splits the CPU into logical devices, as `distributed.split_cpu` does
    (DeviceError if TensorFlow has started with another number); SetupError says what to
    run if a package is missing. Gives what `hardware.detect()` found. On Colab's TPU
    runtimes it installs TensorFlow first.

    Example: `machine = session.setup()`
    """
    if shows_a_tpu():
        installed = importlib.metadata.packages_distributions()
        if on_colab() and "tensorflow" not in installed:
            _install("tensorflow", "263 MB, some minutes")
        os.environ.update(try_tpu()[1])
    machine = hardware.detect()
    if on_colab() and not importlib.util.find_spec("gfloat"):
        _install("gfloat", "22 kB")
    for package in ("tensorflow", "keras", "gfloat"):
        if not importlib.util.find_spec(package):
            raise SetupError(_missing(package))
    from course_utils.progress import pace  # late: it loads IPython

    try:
        share = pace()
    except ValueError as error:
        raise SetupError(error) from None
    tf = _start_tensorflow(machine, cpus)
    import keras
    from IPython import get_ipython

    if shell := get_ipython():  # there is none in a script
        shell.set_custom_exc((NameError,), _where_names_come_from)
    keras.config.set_dtype_policy("float32")
    keras.utils.set_random_seed(0)
    if hardware.merged_float16_is_slow(_in_use(machine, cpus)):
        tf.config.optimizer.set_experimental_options({"remapping": False})
    versions = f"TensorFlow {tf.__version__} · Keras {keras.__version__}"
    place = " · Colab" if on_colab() else ""
    print(f"Python {platform.python_version()} · {versions}{place}")
    print(machine)
    if share < 1:
        print(
            f"COURSE_PACE: measurements take {share:g} of their time here and scatter."
        )
    return machine


def expect(machine: hardware.Hardware, cpus: int = 1) -> None:
    """Prints what to expect of the machine that `setup` gave: after the learner's
    guess.

    `cpus` is what `setup` was given.

    Example: `session.expect(machine)`
    """
    from course_utils.hardware import xla  # late: it loads Keras

    in_use = _in_use(machine, cpus)
    policy = hardware.recommended_policy(machine)
    print(
        f"Policy to try first here: {policy}, because {hardware.policy_reason(machine)}"
    )
    print(_what_differs(in_use))
    with quiet.silent(2):  # TensorFlow 2.20 says it aloud when XLA first compiles
        needs_xla = xla.float16_needs_xla(in_use)
    if hardware.merged_float16_is_slow(in_use):
        print(MERGING_IS_OFF)
    if hardware.float16_convolutions_are_slow(in_use):
        way = XLA_CURES if xla.xla_cures_float16() else XLA_DOES_NOT
        print(CONVOLUTIONS_ARE_SLOW + way)
    elif needs_xla:
        print(OLD_KERNELS_ARE_SLOW + XLA_CURES)


def _in_use(machine, cpus):
    """The machine without the GPUs that a notebook with several CPU devices leaves
    alone.
    """
    if cpus == 1 or len(machine.working("GPU")) >= 2:  # as `distributed.choose` decides
        return machine
    return dataclasses.replace(machine, accelerators=machine.working("TPU"))


def _start_tensorflow(machine, cpus):
    """Imports TensorFlow, and gives it, with what has to be set before it starts."""
    # Leave broken GPUs alone, and leave room on a good one for the kernel of the next
    # notebook.
    gpus = usable_gpus(machine.accelerators)
    if gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    # Below 3 oneDNN's error about float16 comes as red text. Who wants the log sets 0.
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") != "0":
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    with quiet.silent(2):
        tf = _unsearched("tensorflow")
        if cpus != 1:
            distributed.split_cpu(cpus)
        if machine.working("TPU"):
            tpu_strategy()
        tf.constant(1)
    tf.get_logger().setLevel("WARNING")  # not what it does, such as each all-reduce
    tf.get_logger().addFilter(_is_no_false_alarm)
    return tf


def _unsearched(name):
    """The module of that name, imported while Python does not search for garbage.

    TensorFlow's import makes 750,000 objects and no garbage, and took a quarter less
    time so. What there is after it is searched no more: a module that was imported before
    is given as it is, lest the learner's models stay for good.
    """
    if name in sys.modules:
        return sys.modules[name]
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        module = importlib.import_module(name)
        gc.freeze()
    finally:
        if was_on:
            gc.enable()
    return module


def _where_names_come_from(shell, kind, error, trace, tb_offset=None):
    """Shows a NameError as IPython does, and which cells to run."""
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    if error.name:  # an UnboundLocalError is one too, and has none
        print(
            f"Is {error.name} misspelled, without quotes, not imported? If a cell above makes it: "
            "Run, Run All Above Selected Cell (on Colab Runtime, Run before), then this cell again."
        )


def _is_no_false_alarm(record):
    """Hides TensorFlow's alarm where many models are built in one kernel: on purpose here."""
    return "triggered tf.function retracing" not in record.getMessage()


def on_colab() -> bool:
    """Whether this kernel runs on Google Colab."""
    return "google.colab" in sys.modules or "COLAB_RELEASE_TAG" in os.environ


def _install(package, size):
    """Has pip install a package; SetupError if it cannot, or has replaced another one."""
    print(f"This runtime lacks {package}: installing {LACKING[package]}, {size}.")
    pip = [sys.executable, *"-m pip install --retries 1 --progress-bar off".split()]
    outcome = processes.run([*pip, LACKING[package]], timeout=1200)
    if outcome.problem:
        raise SetupError(_missing(package))
    importlib.invalidate_caches()
    if "Uninstalling" in outcome.printed:
        raise SetupError(
            f"Installing {package} replaced packages that this kernel may have loaded: restart it "
            "(Runtime > Restart session) and run this cell again."
        )


def _missing(package):
    if on_colab() and package in LACKING:
        return (
            f"The package {package} could not be installed: check that this runtime has a network "
            f'and run `%pip install "{LACKING[package]}"`, then this cell again.'
        )
    return (
        f"The package {package} is not installed in this kernel: run `make lab` in the course "
        "folder, or `pip install -r requirements.txt`, and choose that kernel."
    )


def _what_differs(machine):
    if machine.working("TPU"):
        return (
            "Notebooks 00, 04 and 05 train on this TPU, 07 does if it has several cores, and the "
            "others use the CPU; the course was not run on a TPU yet."
        )
    if machine.working("GPU"):
        text = "Times and bytes of training below are this GPU's own."
        if not hardware.has_tf32(machine):
            return text
        bits = "with 10 of float32's 23 fraction bits"
        return f"{text} Its float32 products go through TF32, {bits}."
    # the course ran on no other CPU than x86
    if machine.instruction_sets is None or not machine.is_x86:
        text = "Whether 16 bits are faster here is for you to measure."
        ending = "."
    elif hardware.recommended_policy(machine) == "float32":
        text = "Expect both 16-bit policies to train the MNIST CNN slower here."
        ending = ": this machine is your microscope."
    else:
        float16 = "float16 not to be"
        # has instructions for it, and may be slow in spite of them
        if hardware.merged_float16_is_slow(machine):
            float16 = "measure whether float16 is"
        text = f"Expect bfloat16 to be faster than float32 in large products here, and {float16}."
        ending = "."
    return f"{text}\nA number format is the same on every device{ending}"
