"""What a loss scale changes in a training: what `tools.record rescue` writes down."""

import math

import keras
import numpy as np
import tensorflow as tf

from course_utils import datasets, models, training

EPOCHS = 85
WIDTH = 8  # of the CNN, which is trained in float16 many times, in place of 32
BATCH = 32
BATCHES = 8  # the last ones, over which an error is measured
SCALES = {"no scale": 1.0, "2^15": 2.0**15}
OPTIMIZERS = {
    "SGD": lambda: keras.optimizers.SGD(0.1),
    "Adam": lambda: keras.optimizers.Adam(1e-3),
}
LAYERS = ("conv 1", "conv 2", "dense", "output")  # each with two weights
WHOLE = "all layers"
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def measure():
    """The record's content: `conditions`, `trainings` and `errors`.

    It takes some minutes. `trainings`: what each ended with. `errors`: how wrong the
    gradient and the update of `mixed_float16` were, on the way of float32's training.
    """
    digits = datasets.load_mnist()
    x, x_test = (
        part[..., None].astype("f4") / 255 for part in (digits.x_train, digits.x_test)
    )
    trainings = []
    errors = []
    for name, make in OPTIMIZERS.items():
        errors += [{"optimizer": name} | row for row in errors_of(x, digits, make)]
        for scaling in ("float32", "no scale", "dynamic scale"):
            model = network("float32" if scaling == "float32" else "mixed_float16")
            scaled = {"auto_scale_loss": scaling == "dynamic scale"}
            model.compile(
                make(), LOSS, metrics=["accuracy"], jit_compile=False, **scaled
            )
            keras.utils.set_random_seed(1)
            fit = model.fit(x, digits.y_train, BATCH, epochs=EPOCHS, verbose=0)
            losses = [float(f"{loss:.4g}") for loss in fit.history["loss"]]
            accuracy = model.evaluate(x_test, digits.y_test, verbose=0)[1]
            row = {"optimizer": name, "training": scaling, "test_accuracy": accuracy}
            trainings.append(row | {"loss": losses})
            print(name, scaling, losses[-1], accuracy, flush=True)
    conditions = {
        "model": f"mnist_cnn of width {WIDTH}, mixed_float16 beside float32",
        "optimizers": "SGD 0.1, Adam 1e-3",
        "data": digits.name,
        "training_images": len(x),
        "test_images": len(x_test),
        "batch_size": BATCH,
        "batches_per_error": BATCHES,
    }
    return {"conditions": conditions, "trainings": trainings, "errors": errors}


def network(policy):
    """The CNN under a policy, with the same weights at every call."""
    keras.utils.set_random_seed(0)
    with training.dtype_policy(policy):
        return models.mnist_cnn(WIDTH)


def gradient_of(model):
    """A function of images, labels and scale: the gradients, unscaled, in float32."""

    @tf.function
    def gradient(images, labels, scale):
        with tf.GradientTape() as tape:
            scaled = scale * LOSS(labels, model(images))
        return [part / scale for part in tape.gradient(scaled, variables)]

    variables = [weight.value for weight in model.trainable_variables]
    return gradient


def update_of(make, weights):
    """A function of gradients: how an optimizer of its own would move the weights."""
    places = [keras.Variable(tf.zeros_like(weight)) for weight in weights]
    optimizer = make()
    optimizer.build(places)

    @tf.function
    def update(gradients):
        for place in places:
            place.assign(tf.zeros_like(place.value))
        optimizer.apply(gradients, places)
        return [place.value + 0 for place in places]

    return update


def errors_of(x, digits, make):
    """A row for each scale and layer: zeros, gradient, update.

    A float32 network is trained. At each step a `mixed_float16` network with its
    weights computes the same gradient, and an optimizer with a memory of its own makes
    an update of it. `zeros` is the share of the nonzero gradients that became zero, the
    others are lengths of differences, in units of the length of what float32 has, all
    over the last `BATCHES` steps.
    """
    truth = network("float32")
    half = network("mixed_float16")
    exact_gradient, rounded_gradient = gradient_of(truth), gradient_of(half)
    weights = truth.trainable_variables
    exact_update = update_of(make, weights)
    updates = {name: update_of(make, weights) for name in SCALES}
    sums = {name: np.zeros((len(weights), 6)) for name in SCALES}
    order = np.random.default_rng(0)
    batches = [
        places[start : start + BATCH]
        for places in (order.permutation(len(x)) for _ in range(EPOCHS))
        for start in range(0, len(x) - BATCH + 1, BATCH)
    ]
    for number, few in enumerate(batches):
        images, labels = tf.constant(x[few]), tf.constant(digits.y_train[few])
        exact = exact_gradient(images, labels, tf.constant(1.0))
        step = exact_update(exact)
        half.set_weights(truth.get_weights())
        for name, scale in SCALES.items():
            rounded = rounded_gradient(images, labels, tf.constant(scale))
            moved = updates[name](rounded)
            if number >= len(batches) - BATCHES:
                sums[name] += list(map(compared, rounded, exact, moved, step))
        for weight, change in zip(weights, step, strict=True):
            weight.assign_add(change)
    rows = []
    for name, of_weights in sums.items():
        of_layers = of_weights.reshape(len(LAYERS), 2, 6).sum(axis=1)
        every = [*of_layers, of_weights.sum(axis=0)]
        for layer, sizes in zip((*LAYERS, WHOLE), every, strict=True):
            off, size, missed, way, gone, count = sizes
            shares = {
                "zeros": gone / count,
                "gradient": math.sqrt(off / size),
                "update": math.sqrt(missed / way),
            }
            shares = {what: float(f"{share:.4g}") for what, share in shares.items()}
            rows.append({"epoch": EPOCHS, "scale": name, "layer": layer} | shares)
            print(rows[-1], flush=True)
    return rows


def compared(rounded, exact, moved, step):
    """What a step says of one weight: squares of lengths, and counts of gradients."""
    pairs = (rounded - exact, exact, moved - step, step)
    squares = [np.square(each).sum(dtype=float) for each in pairs]
    nonzero = np.asarray(exact) != 0
    return [*squares, np.sum(nonzero & (np.asarray(rounded) == 0)), np.sum(nonzero)]
