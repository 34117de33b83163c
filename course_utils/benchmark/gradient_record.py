"""`python -m course_utils gradients`: how the gradients of one long training shrink, recorded."""

import datetime

from course_utils.benchmark import start

EPOCHS = (0, 5, 20, 85)
BATCH = 32  # a mean over more images would make each gradient at an activation smaller
BATCHES = 8  # how many a histogram is made from


def gradients_of(model, x, y, loss) -> dict:
    """The gradients of the loss of a batch at the output of each layer, and at each weight.

    `model` is a built `keras.Sequential` on TensorFlow, `loss` a Keras loss, mean over the batch.
    Returns {"activations": {layer name: tensor of the output's shape and dtype}, "weights":
    {path: tensor}}. Example: notebook 02, where the learner writes it.
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


def record() -> dict:
    """Trains the course's CNN in float32 and keeps its gradients' histograms on the way.

    The gradients are those of the mean loss over a batch of 32, the first 256 training images,
    with respect to the output of every layer and to every weight, after each of `EPOCHS` (0: before
    the first step). It takes some minutes on two cores. Returns a dict for
    JSON: kind, cpu, versions, date, conditions, and records, a list with epoch, loss,
    test_accuracy, activations and weights (name to `OctaveHistogram.as_data()`).
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
    records = []
    for epoch in tqdm(range(EPOCHS[-1] + 1), desc="epochs", leave=False):
        if epoch:
            model.fit(x, digits.y_train, batch_size=BATCH, verbose=0)
        if epoch in EPOCHS:
            row = {"epoch": epoch, "loss": float(loss(labels, model(few)))}
            row["test_accuracy"] = model.evaluate(x_test, digits.y_test, verbose=0)[1]
            records.append(row | _histograms(model, few, labels, loss))
    conditions = {
        "model": "mnist_cnn (32-64-128), float32",
        "optimizer": "Adam 1e-3",
        "data": digits.name,
        "training_images": len(x),
        "batch_size": BATCH,
        "batches_per_histogram": BATCHES,
    }
    return {
        "kind": "gradients",  # so that `records.load` tells these files from its own
        "cpu": str(hardware.detect()),
        "versions": start.versions(),
        "date": datetime.date.today().isoformat(),
        "conditions": conditions,
        "records": records,
    }


def _histograms(model, x, y, loss):
    """{"activations", "weights"}: one histogram over all batches for each name, for JSON."""
    from course_utils.gradients import OctaveHistogram

    found = []
    for first in range(0, len(x), BATCH):
        batch = slice(first, first + BATCH)
        found.append(gradients_of(model, x[batch], y[batch], loss))

    def whole(where, name):
        parts = (OctaveHistogram.from_values(gradients[where][name]) for gradients in found)
        data = sum(parts, OctaveHistogram.from_values([])).as_data()
        # Three digits: notebooks carry this file, and what is read off it are two.
        data["errors"] = [[float(f"{error:.2e}") for error in row] for row in data["errors"]]
        return data

    return {where: {name: whole(where, name) for name in found[0][where]} for where in found[0]}
