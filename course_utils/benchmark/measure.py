"""What `python -m course_utils bench` measures: one device, from its roofs to whole
steps.

`session.setup` has started TensorFlow before.
"""

import json
from collections.abc import Collection
from functools import partial

import keras
import numpy as np
import tensorflow as tf

from course_utils import datasets, hardware, models, records
from course_utils.benchmark import compare, keras_device, rates
from course_utils.errors import one_line

# The Transformer block's sizes: what keeps a device busy without keeping anybody
# waiting.
LARGE = {"tokens": 512, "width": 1024, "heads": 16, "batch_size": 64}  # GPU or TPU
SMALL = {"tokens": 128, "width": 256, "heads": 4, "batch_size": 16}  # CPU


def record(
    seconds: float = 60,
    name: str | None = None,
    parts: Collection[str] = records.PARTS,
    network: tuple[int, int] = (32, 256),
    compiler: str | bool = "auto",
) -> dict:
    """Measures this device, under a name or its own: a dict for JSON, as data/README.md
    tells.

    `seconds` is for the steps of the CNN, which has the width and the batch size of
    `network`: rows repeat where the data are few. `compiler` is Keras's `jit_compile`:
    False without XLA, "auto" where Keras chooses. The other `parts` (of
    `records.PARTS`) take a share of it each: in all it is some two and a half times as
    long, and half a minute for what does not depend on it. After an interrupt of the
    CNN's or the block's steps the parts that follow are missing.

    Example:
        records.save(measure.record(seconds=60), "my-laptop.json")
    """
    machine = hardware.detect()
    digits = datasets.load_mnist()
    images = digits.x_train[..., None].astype("float32") / 255
    width, batch_size = network
    rows = np.arange(max(len(images), batch_size)) % len(images)
    make_cnn = partial(build, "cnn", {"width": width}, compiler)
    block = SMALL if keras_device.device_kind() == "CPU" else LARGE
    shape = 2 * block["batch_size"], block["tokens"], block["width"]
    # random numbers: two batches of them, as inputs and as targets
    x, y = np.random.default_rng(0).standard_normal((2, *shape), dtype="float32")
    dtypes = rates.likely_dtypes(machine)
    policies = compare.device_policies(machine)
    conditions = {
        "model": f"mnist_cnn ({width}-{2 * width}-{4 * width})",
        "data": digits.name,
        "batch_size": batch_size,
        "jit_compile": keras_device.build(make_cnn).jit_compile,
        "tf32": False,  # what went through TF32 has its own row
        "policies": list(policies),
        "transformer": block,
        "seconds": seconds,
    }
    measurement = {
        **records.about(name or device_name(machine), str(machine)),
        "conditions": conditions,
        "cnn": [],
        "notes": [],
    }
    measurement["settings"] |= _remapping()
    if "bfloat16" not in dtypes:
        why = "with this ONEDNN_MAX_CPU_ISA it ends the process."
        if machine.working("GPU"):
            why = "this GPU has no units for it."
        measurement["notes"] = [f"No bfloat16: {why}"]
    if machine.working("GPU") and compiler and not conditions["jit_compile"]:
        missing = (
            "XLA compiles no convolution here (is libnvrtc missing?), so it is off."
        )
        measurement["notes"].append(missing)
    cnn = images[rows], digits.y_train[rows], policies, batch_size, seconds
    steps = {
        "cnn": (make_cnn, *cnn),
        "transformer": (
            *(partial(build, "transformer", block, compiler), x, y),
            *(policies, block["batch_size"], seconds / 2),
        ),
    }
    for part, arguments in steps.items():
        if part not in parts:
            continue
        print(f"Measuring {part} …", flush=True)
        try:
            result = compare.compare_policies(*arguments)
        except Exception as error:  # such as memory that does not suffice
            why = one_line(error, 200)
            measurement["notes"].append(f"No {part}: {why}")
            continue
        table = result.table.drop(columns=["accuracy", "gap_se"]).reset_index()
        measurement[part] = _rows(table)
        measurement["notes"] += [
            n for n in result.notes if n not in measurement["notes"]
        ]
        if result.interrupted:
            return measurement
    if "ceilings" in parts:
        print("Measuring ceilings …", flush=True)
        measurement["ceilings"] = _rows(rates.ceilings(seconds / 4, dtypes))
    return measurement


def build(
    part: str, sizes: dict[str, int], compiler: str | bool = "auto"
) -> keras.Model:
    """The model whose steps are measured: "cnn" of a width, or a "transformer" block
    of these tokens, width and heads, compiled.

    Example:
        >>> build("transformer", SMALL).output_shape
        (None, 128, 256)
    """
    if part == "cnn":
        model = models.mnist_cnn(sizes["width"])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    else:
        model = models.transformer_block(
            sizes["tokens"], sizes["width"], sizes["heads"]
        )
        loss = "mse"
    model.compile("adam", loss, jit_compile=compiler)
    return model


def device_name(machine: hardware.Hardware) -> str:
    """What to call a machine: its accelerator, or its CPU with the cores and 16-bit
    instructions.

    Example:
        >>> device_name(hardware.Hardware("Linux x86_64", "some CPU", 4, ("avx2",)))
        'some CPU 4 cores'
    """
    for accelerator in machine.accelerators:
        if accelerator.works:
            return accelerator.name
    sets = [s for s in machine.instruction_sets or () if "16" in s]
    return " ".join([machine.cpu, hardware.counted(machine.cores), *sets])


def _remapping():
    """`remapping` where `session.setup` turned it off."""
    options = tf.config.optimizer.get_experimental_options()
    return {"remapping": "off"} if options.get("remapping") is False else {}


def _rows(table):
    return json.loads(table.to_json(orient="records", double_precision=4))
