"""Records what one long training of the course's CNN computes with.

python tests/tools/record_training.py gradients [FILE]    histograms of its gradients
python tests/tools/record_training.py splits [FILE]       what each split of 16 bits keeps
"""

import datetime
import sys

import canonical

sys.path.insert(0, str(canonical.COURSE))

from course_utils import session  # noqa: E402
from course_utils.benchmark import records, start  # noqa: E402

EPOCHS = (0, 5, 20, 85)
SPLIT_EPOCHS = (5, 85)  # gradients are large after the one and small after the other
SCALES = range(25)  # of gradients, as powers of two
BATCH = 32  # a mean over more images would make each gradient at an activation smaller
BATCHES = 8  # how many a histogram is made from


def gradients_of(model, x, y, loss) -> dict:
    """The gradients of the loss of a batch at the output of each layer, and at each weight.

    `model` is a built `keras.Sequential` on TensorFlow, `loss` a Keras loss, mean over the batch.
    Returns {"activations": {layer name: tensor of the output's shape and dtype}, "weights":
    {path: tensor}}. Notebook 02 writes one like it.
    """
    import tensorflow as tf

    outputs = {}
    with tf.GradientTape() as tape:
        hidden = tf.convert_to_tensor(x)
        tape.watch(hidden)  # else layers without weights in front would not be seen
        for layer in model.layers:
            hidden = outputs[layer.name] = layer(hidden)
        value = loss(y, hidden)
    weights = {weight.path: weight for weight in model.trainable_variables}
    activations, weights = tape.gradient(value, (outputs, weights))
    return {"activations": activations, "weights": weights}


def record(kind: str = "gradients") -> dict:
    """Trains the course's CNN in float32 and keeps its gradients' histograms on the way.

    The gradients are those of the mean loss over a batch of 32, the first 256 training images,
    with respect to the output of every layer and to every weight, after each of `EPOCHS` (0: before
    the first step). It takes some minutes on two cores. Returns a dict for
    JSON: kind, cpu, versions, date, conditions, and records, a list with epoch, loss,
    test_accuracy, activations and weights (name to `OctaveHistogram.as_data()`). With the kind
    "splits" weights, activations and gradients are each a `splits.survey` of all values of the
    model, after each of `SPLIT_EPOCHS`: the outputs of its layers, and the gradients with respect
    to both at `SCALES`.
    """
    import keras
    from tqdm.auto import tqdm

    from course_utils import datasets, hardware, models

    digits = datasets.load_mnist()
    x, x_test = (part[..., None].astype("f4") / 255 for part in (digits.x_train, digits.x_test))
    few, labels = x[: BATCH * BATCHES], digits.y_train[: BATCH * BATCHES]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    keras.utils.set_random_seed(0)
    model = models.mnist_cnn()
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"], jit_compile=False)
    rows = []
    looks = {"gradients": (_histograms, EPOCHS), "splits": (_surveys, SPLIT_EPOCHS)}
    look, epochs = looks[kind]
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
    return {
        "kind": kind,  # so that `records.load` tells these files from its own
        "cpu": str(hardware.detect()),
        "versions": start.versions(),
        "date": datetime.date.today().isoformat(),
        "conditions": conditions,
        "records": rows,
    }


def _histograms(model, x, y, loss):
    """{"activations", "weights"}: one histogram over all batches for each name, for JSON."""
    from course_utils.gradients import OctaveHistogram

    found = _gradients(model, x, y, loss)

    def whole(where, name):
        parts = (OctaveHistogram.from_values(gradients[where][name]) for gradients in found)
        data = sum(parts, OctaveHistogram.from_values([])).as_data()
        # Few digits: notebooks carry this file, and what is read off it are two.
        data["errors"] = [[float(f"{error:.2e}") for error in row] for row in data["errors"]]
        data["squares"] = [float(f"{square:.7g}") for square in data["squares"]]
        return data

    return {where: {name: whole(where, name) for name in found[0][where]} for where in found[0]}


def _surveys(model, x, y, loss):
    """{"weights", "activations", "gradients"}: what every split keeps of all of them, for JSON."""
    from course_utils import splits

    activations = [x]
    for layer in model.layers:
        activations.append(layer(activations[-1]))
    gradients = [
        list(part.values()) for both in _gradients(model, x, y, loss) for part in both.values()
    ]
    found = {
        "weights": splits.survey(model.get_weights()),
        "activations": splits.survey(activations[1:]),
        "gradients": splits.survey(gradients, SCALES),
    }
    for kept in (kept for survey in found.values() for kept in sum(survey["kept"], [])):
        kept[0] = kept[0] and float(f"{kept[0]:.4g}")  # notebooks carry this file
    return found


def _gradients(model, x, y, loss):
    """What `gradients_of` gives, batch by batch."""
    starts = range(0, len(x), BATCH)
    return [gradients_of(model, x[at : at + BATCH], y[at : at + BATCH], loss) for at in starts]


def main(kind, file=None):
    session.setup()
    print(f"Written to {records.save(record(kind), file or records.FOLDER / f'{kind}.json')}")


if __name__ == "__main__":
    main(*sys.argv[1:])
