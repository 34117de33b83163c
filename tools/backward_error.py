"""How wrong a real 16-bit backward pass is, while a network fits its data: what
`tools.record backward` writes down, and `tools.record narrow` of a network a quarter as
wide.

It repeats the training of `tools.record gradients` with three seeds. At some epochs the
gradient of the same images is computed in float32, rounded once, and computed by
networks of the same weights under mixed policies. It takes ten minutes.
"""

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from course_utils import datasets, models
from course_utils.training import dtype_policy

SEEDS = (0, 1, 2)
WIDTH, NARROW = 32, 8  # filters of the first convolution
BATCH, BATCHES = 32, 8  # as in `tools.record gradients`
EPOCHS = (5, 20, 60, 85)
WAYS = {  # policy and loss scale
    "mixed_float16": ("mixed_float16", 1.0),
    "mixed_float16, S = 2^15": ("mixed_float16", 2.0**15),
    "mixed_bfloat16": ("mixed_bfloat16", 1.0),
}
LAYERS = ("conv 1", "conv 2", "dense", "output")  # each with a kernel and a bias
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def network(policy, width):
    """The course's CNN under a policy."""
    with dtype_policy(policy):
        return models.mnist_cnn(width)


def gradients(model, x, y, scale=1.0):
    """The gradient of each weight, batch by batch: float64 arrays, unscaled."""
    weights = [variable.value for variable in model.trainable_variables]

    @tf.function
    def of(images, labels):
        with tf.GradientTape() as tape:
            loss = scale * LOSS(labels, model(images, training=True))
        return tape.gradient(loss, weights)

    found = []
    for start in range(0, len(x), BATCH):
        parts = of(x[start : start + BATCH], y[start : start + BATCH])
        found.append([part.numpy().astype("float64") / scale for part in parts])
    return found


def wrong_by(gradient, exact):
    """{layer: length of the difference over the length of float32's}, and of them all."""
    squares = np.zeros((len(exact[0]), 2))
    for parts, right in zip(gradient, exact, strict=True):
        for number, (part, truth) in enumerate(zip(parts, right, strict=True)):
            squares[number] += [np.sum((part - truth) ** 2), np.sum(truth**2)]
    by_layer = squares.reshape(len(LAYERS), 2, 2).sum(axis=1)
    errors = dict(zip(LAYERS, np.sqrt(by_layer[:, 0] / by_layer[:, 1]), strict=True))
    errors["all layers"] = float(np.sqrt(np.divide(*squares.sum(axis=0))))
    return {name: float(f"{error:.3g}") for name, error in errors.items()}


def rows_of(seed, digits, width):
    """A row for each epoch that is looked at."""
    x = digits.x_train[..., None].astype("float32") / 255
    few, labels = x[: BATCH * BATCHES], digits.y_train[: BATCH * BATCHES]
    keras.utils.set_random_seed(seed)
    model = network("float32", width)
    model.compile(keras.optimizers.Adam(1e-3), LOSS, jit_compile=False)
    others = {policy: network(policy, width) for policy, _ in WAYS.values()}
    rows = []
    for epoch in tqdm(range(1, EPOCHS[-1] + 1), desc=f"epochs, seed {seed}"):
        model.fit(x, digits.y_train, batch_size=BATCH, verbose=0)
        if epoch not in EPOCHS:
            continue
        exact = gradients(model, few, labels)
        once = [[p.astype("float16").astype("float64") for p in row] for row in exact]
        nonzero = sum(np.count_nonzero(part) for row in exact for part in row)
        left = sum(np.count_nonzero(part) for row in once for part in row)
        row = {
            "seed": seed,
            "epoch": epoch,
            "loss": float(LOSS(labels, model(few))),
            "zeros": 1 - left / nonzero,
            "rounded once": wrong_by(once, exact),
        }
        for name, (policy, scale) in WAYS.items():
            others[policy].set_weights(model.get_weights())
            found = gradients(others[policy], few, labels, scale)
            row[name] = wrong_by(found, exact)
        rows.append(row)
    return rows


def measure(width=WIDTH):
    """The record's content: `conditions` and `records`."""
    digits = datasets.load_mnist()
    filters = "-".join(str(times * width) for times in (1, 2, 4))
    conditions = {
        "model": f"mnist_cnn ({filters}), trained in float32",
        "optimizer": "Adam 1e-3",
        "data": digits.name,
        "training_images": len(digits.x_train),
        "batch_size": BATCH,
        "batches_per_error": BATCHES,
    }
    records = [row for seed in SEEDS for row in rows_of(seed, digits, width)]
    return {"conditions": conditions, "records": records}
