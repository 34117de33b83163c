"""Steps of the course's CNN under several settings of oneDNN, each in a process of its own."""

import os

from course_utils import hardware
from course_utils.legs.kernels import MARK, table
from course_utils.legs.process import Outcome, call, sentence

# Unset in every leg that does not set them, whatever the notebook's own process has.
SWITCHES = ("TF_ENABLE_ONEDNN_OPTS", "ONEDNN_MAX_CPU_ISA")
SETTINGS = {
    "default": {},
    "AVX-512 without bfloat16": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
    "oneDNN off": {"TF_ENABLE_ONEDNN_OPTS": "0"},
}
# The CPU is asked, also where there is a GPU, and always by TensorFlow.
ALWAYS = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "KERAS_BACKEND": "tensorflow",
    "ONEDNN_VERBOSE": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")


def run(settings=None, policies=POLICIES, seconds: float = 6, timeout: float = 60):
    """Measures the legs and returns the `table` of them; arguments as for `measure`.

    Example:
        legs.run({"default": {}, "oneDNN off": {"TF_ENABLE_ONEDNN_OPTS": "0"}})
    """
    return table(measure(settings, policies, seconds, timeout))


def measure(
    settings=None, policies=POLICIES, seconds: float = 6, timeout: float = 60, batch_size: int = 128
) -> dict[str, Outcome]:
    """Steps of the MNIST CNN on this CPU, in one process per setting, one after the other.

    An interrupt of the kernel ends the leg under way and keeps those before it.

    Args:
        settings: {leg: {variable: text}}; `SETTINGS` if None.
        policies: names of Keras dtype policies; in each leg they take turns.
        seconds: time for the steps of all legs together, at least four of each policy in each.
            Importing TensorFlow and tracing come on top: some 7 s a leg on two cores.
        timeout: seconds after which a leg is ended, its imports included.
        batch_size: images in a step; a small batch is enough to compare the legs.

    Returns:
        {leg: `Outcome`}, for `table` and `kernels`.
    """
    from tqdm.auto import tqdm

    settings = SETTINGS if settings is None else settings
    share = seconds / max(1, len(settings))
    arguments = {"policies": list(policies), "seconds": share, "batch_size": batch_size}
    outcomes = {}
    try:
        with tqdm(total=len(settings), leave=False) as bar:
            for leg, variables in settings.items():
                bar.set_description(leg)
                own = {**dict.fromkeys(SWITCHES), **ALWAYS, **variables}
                unable = cannot_run(variables)
                if unable:
                    outcomes[leg] = Outcome(None, "", unable, 0.0)
                else:
                    outcomes[leg] = call(steps, arguments, own, timeout)
                bar.update()
    except KeyboardInterrupt:
        print("Interrupted: you get the legs measured until then.")
    return outcomes


def cannot_run(variables: dict, machine=None) -> str:
    """Why a setting would show nothing on this CPU, in one sentence; "" where it can.

    Args:
        variables: {variable: text} of a leg.
        machine: what `hardware.detect()` found; None looks.

    Example:
        >>> laptop = hardware.Hardware("Linux x86_64", "some CPU", 4, ("avx2",))
        >>> cannot_run({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}, laptop)
        'Not run: this CPU has no bfloat16 instructions for the setting to leave out.'
    """
    machine = machine or hardware.detect()
    if variables and not any(name in machine.system.lower() for name in ("x86", "amd64")):
        return f"Not run: oneDNN's switches are for x86 CPUs, and this is {machine.system}."
    sets = machine.instruction_sets
    if variables.get("ONEDNN_MAX_CPU_ISA") and sets is not None:
        if not {"avx512_bf16", "amx_bf16"} & set(sets):
            return (
                "Not run: this CPU has no bfloat16 instructions that the setting could leave out."
            )
    return ""


def steps(policies, seconds: float, batch_size: int = 128) -> list[dict]:
    """What one leg does: steps of the MNIST CNN under each policy in turn.

    Returns:
        A list of {"policy", "step_ms" (median; NaN without any), "note"}.
    """
    import keras
    import numpy as np

    from course_utils import models, stepping

    def build_model():
        model = models.mnist_cnn()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(1e-3), loss, jit_compile=False)
        return model

    rng = np.random.default_rng(0)
    x = rng.random((batch_size, 28, 28, 1), dtype="float32")
    y = rng.integers(0, 10, batch_size)
    trainees, times, notes = {}, {policy: [] for policy in policies}, {}
    for policy in policies:
        trainee = stepping.Trainee(build_model, policy)
        try:
            for _ in range(2):  # the first traces
                trainee.step(x, y)
            trainees[policy] = trainee
        except Exception as error:  # oneDNN has no kernel for it under this setting
            notes[policy] = sentence(error)
    for _ in stepping.rounds(seconds, "steps", at_least=4):
        for policy, trainee in trainees.items():
            os.write(1, f"{MARK}{policy}\n".encode())  # past Python's buffer, as oneDNN's lines
            times[policy].append(1e3 * trainee.step(x, y).seconds)
    return [
        {
            "policy": policy,
            "step_ms": float(np.median(times[policy])) if times[policy] else float("nan"),
            "note": notes.get(policy, ""),
        }
        for policy in policies
    ]
