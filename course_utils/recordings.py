"""The gradients of one long training, recorded: how they shrink while the network learns."""

import datetime
import json
import platform
from pathlib import Path

from course_utils import hardware
from course_utils.gradients import OctaveHistogram
from course_utils.measurements import FOLDER, OWN

KIND = "gradients"  # so that `measurements` tells these files from its own
EPOCHS = (0, 1, 5, 10, 20, 40, 85)
BATCH = 32  # a mean over more images would make each gradient at an activation smaller
BATCHES = 8  # how many a histogram is made from


def activation_gradients(model, x, y, loss) -> dict:
    """The gradient of the loss with respect to the output of each layer.

    Args:
        model: a built `keras.Sequential`, on the TensorFlow backend.
        x, y: one batch.
        loss: a Keras loss, mean over the batch.

    Returns:
        Layer name to a tensor of the output's shape and dtype.

    Example: taught in notebook 02, where the learner writes it.
    """
    import tensorflow as tf

    outputs = {}
    with tf.GradientTape() as tape:
        hidden = tf.convert_to_tensor(x)
        tape.watch(hidden)  # else layers without weights in front would not be seen
        for layer in model.layers:
            hidden = outputs[layer.name] = layer(hidden)
        value = loss(y, hidden)
    return tape.gradient(value, outputs)


def weight_gradients(model, x, y, loss) -> dict:
    """The gradient of the loss with respect to each weight: its path to a tensor.

    Args: those of `activation_gradients`.

    Example: `weight_gradients(model, x[:32], y[:32], loss)["dense/kernel"]`
    """
    import tensorflow as tf

    with tf.GradientTape() as tape:
        value = loss(y, model(x))
    weights = model.trainable_variables
    found = tape.gradient(value, weights)
    return {w.path: gradient for w, gradient in zip(weights, found, strict=True)}


def check(epochs) -> None:
    """Raises a ValueError unless these are growing numbers from 0 on.

    Example: `check((0, 1, 85))`
    """
    if not epochs or list(epochs) != sorted(set(epochs)) or epochs[0] < 0:
        raise ValueError(f"Give growing numbers of epochs such as (0, 1, 85), not {epochs!r}.")


def record(epochs=EPOCHS) -> dict:
    """Trains the course's CNN in float32 and keeps its gradients' histograms on the way.

    It takes some minutes on two cores. The gradients are those of the mean loss over a batch
    of 32, the first 256 training images, with respect to the output of every layer and to
    every weight.

    Args:
        epochs: after how many epochs to look; 0 is before the first step.

    Returns:
        A dict that JSON can hold: kind, cpu, versions, date, conditions, and records, a list
        with epoch, loss, test_accuracy, activations and weights (name to
        `OctaveHistogram.as_data()`).

    Raises:
        ValueError: `epochs` are not growing whole numbers from 0 on.
    """
    check(epochs)
    import keras
    import tensorflow as tf
    from tqdm.auto import tqdm

    from course_utils import datasets, models
    from course_utils.stepping import dtype_policy

    digits = datasets.load_mnist()
    x, x_test = (part[..., None].astype("f4") / 255 for part in (digits.x_train, digits.x_test))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    keras.utils.set_random_seed(0)
    with dtype_policy("float32"):
        model = models.mnist_cnn()
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"], jit_compile=False)
    records = []
    for epoch in tqdm(range(epochs[-1] + 1), desc="epochs", leave=False):
        if epoch:
            model.fit(x, digits.y_train, batch_size=BATCH, verbose=0)
        if epoch in epochs:
            few, labels = x[: BATCH * BATCHES], digits.y_train[: BATCH * BATCHES]
            records.append(
                {
                    "epoch": epoch,
                    "loss": float(loss(labels, model(few))),
                    "test_accuracy": model.evaluate(x_test, digits.y_test, verbose=0)[1],
                    "activations": _histograms(activation_gradients, model, few, labels, loss),
                    "weights": _histograms(weight_gradients, model, few, labels, loss),
                }
            )
    return {
        "kind": KIND,
        "cpu": str(hardware.detect()),
        "versions": {
            "python": platform.python_version(),
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
        },
        "date": datetime.date.today().isoformat(),
        "conditions": {
            "model": "mnist_cnn (32-64-128), float32",
            "optimizer": "Adam 1e-3",
            "data": digits.name,
            "training_images": len(x),
            "batch_size": BATCH,
            "batches_per_histogram": BATCHES,
        },
        "records": records,
    }


def _histograms(gradients, model, x, y, loss):
    """One histogram over all batches for each name, as JSON can hold it."""
    total = {}
    for start in range(0, len(x), BATCH):
        batch = slice(start, start + BATCH)
        for name, gradient in gradients(model, x[batch], y[batch], loss).items():
            histogram = OctaveHistogram.from_values(gradient)
            total[name] = total[name] + histogram if name in total else histogram
    return {name: histogram.as_data() for name, histogram in total.items()}


def save(recording: dict, path: str | Path = OWN / "gradients.json") -> Path:
    """Writes a recording as JSON, without blanks: its histograms are long. Returns where.

    Example: `save(record())`
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(recording, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text + "\n", encoding="utf-8")
    return path


def load(path: str | Path | None = None, of: str = "activations") -> dict:
    """A recorded training: {epoch: {layer or weight: OctaveHistogram}}.

    Args:
        path: the file; the one that comes with the course if None.
        of: "activations" for the gradients at the layers' outputs, or "weights".

    Raises:
        ValueError: the file is not such a recording, or holds no gradients `of` that; the message
            names it.

    Example: `load()[0]["conv2d"].survival("float16")`
    """
    path = Path(path or FOLDER / "gradients.json")
    try:
        recording = json.loads(path.read_text(encoding="utf-8"))
        return {
            row["epoch"]: {name: OctaveHistogram.from_data(data) for name, data in row[of].items()}
            for row in recording["records"]
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{path.name} is not a recording of gradients: write it again with "
            "`python -m course_utils gradients`."
        ) from None
