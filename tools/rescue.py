"""What a loss scale changes in a training: what `tools.record rescue` writes down.

The network, the images, the batch and the optimizer are those of `tools.record
gradients`. Three seeds are trained in float32, in float16 without a loss scale and with
Keras's own, side by side, an epoch of each in turn. It takes an hour on two cores.
Interrupt it (Ctrl+C), and it ends after the epoch and writes what it has.
"""

import math
import signal

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from course_utils import datasets, models, training

EPOCHS = 85
LOOKS = (40, 60, 85)  # the epochs at whose end errors are measured
WINDOW = 10  # epochs before, in which each way has an Adam of its own
BATCH = 32
BATCHES = 8  # the last ones, over which an error is measured
SEEDS = (0, 1, 2)
TRAININGS = {  # the policy, and what compile is told
    "float32": ("float32", {}),
    "no scale": ("mixed_float16", {"auto_scale_loss": False}),
    "dynamic scale": ("mixed_float16", {}),
}
SCALES = {"no scale": 1.0, "2^15": 2.0**15}
LAYERS = ("conv 1", "conv 2", "dense", "output")  # each with two weights
WHOLE = "all layers"
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def measure():
    """The record's content: `conditions`, `trainings` and `errors`.

    `trainings`: the loss of each epoch, and what each ended with. `errors`: how wrong
    the gradient and the update of `mixed_float16` were, on the way of float32's.
    """
    digits = datasets.load_mnist()
    x = digits.x_train[..., None].astype("f4") / 255
    x_test = digits.x_test[..., None].astype("f4") / 255
    runs = {(seed, name): started(seed, name) for seed in SEEDS for name in TRAININGS}
    losses = {key: [] for key in runs}
    shadows = {}
    errors = []
    interrupted = []
    signal.signal(signal.SIGINT, lambda *_: interrupted.append(True))
    for epoch in tqdm(range(1, EPOCHS + 1), desc="epochs", mininterval=0):
        for (seed, name), model in runs.items():
            order = np.random.default_rng([seed, epoch]).permutation(len(x))
            images, labels = x[order], digits.y_train[order]
            look = next((look for look in LOOKS if 0 <= look - epoch < WINDOW), None)
            if name == "float32" and look:
                if epoch == look - WINDOW + 1:
                    shadows[seed] = Shadows(model)
                loss = shadows[seed].epoch(images, labels)
                if epoch == look:
                    about = {"seed": seed, "epoch": epoch}
                    errors += [about | row for row in shadows.pop(seed).rows()]
            else:
                fit = model.fit(images, labels, BATCH, shuffle=False, verbose=0)
                loss = fit.history["loss"][0]
            losses[seed, name].append(float(f"{loss:.4g}"))
        if interrupted:
            break
    trainings = []
    for (seed, name), model in runs.items():
        wrong = np.argmax(model.predict(x_test, verbose=0), axis=-1) != digits.y_test
        row = {"seed": seed, "training": name, "test_images_wrong": int(wrong.sum())}
        trainings.append(row | {"loss": losses[seed, name]})
    conditions = {
        "model": "mnist_cnn (32-64-128)",
        "optimizer": "Adam 1e-3",
        "data": digits.name,
        "training_images": len(x),
        "test_images": len(x_test),
        "batch_size": BATCH,
        "epochs": epoch,
        "batches_per_error": BATCHES,
    }
    return {"conditions": conditions, "trainings": trainings, "errors": errors}


def adam():
    """The optimizer of all trainings."""
    return keras.optimizers.Adam(1e-3)


def network(policy, seed):
    """The CNN under a policy, with the same weights at every call with a seed."""
    keras.utils.set_random_seed(seed)
    with training.dtype_policy(policy):
        return models.mnist_cnn()


def started(seed, name):
    """A network that is ready for one of `TRAININGS`."""
    policy, options = TRAININGS[name]
    model = network(policy, seed)
    model.compile(adam(), LOSS, jit_compile=False, **options)
    return model


def gradient_of(model):
    """A function of images, labels and scale: the loss, and the unscaled gradients."""
    variables = [weight.value for weight in model.trainable_variables]

    @tf.function(reduce_retracing=True)
    def gradient(images, labels, scale):
        with tf.GradientTape() as tape:
            loss = LOSS(labels, model(images, training=True))
            scaled = scale * loss
        return loss, [part / scale for part in tape.gradient(scaled, variables)]

    return gradient


class Shadows:
    """Goes on with a float32 training, and asks at each step what float16 would do.

    A `mixed_float16` network with the same weights computes the same gradient, and an
    Adam with a memory of its own makes an update of it. The memory begins as float32's.
    """

    def __init__(self, model):
        self.model = model
        self.half = network("mixed_float16", 0)
        self.exact_gradient = gradient_of(model)
        self.rounded_gradient = gradient_of(self.half)
        weights = model.trainable_variables
        self.sums = {name: np.zeros((len(weights), 6)) for name in SCALES}
        self.updates = {name: update_of(model) for name in SCALES}

    def epoch(self, x, y):
        """Trains the float32 network for an epoch; its mean loss."""
        starts = range(0, len(x), BATCH)
        self.sums = {name: np.zeros_like(sums) for name, sums in self.sums.items()}
        losses = []
        for start in starts:
            images = tf.constant(x[start : start + BATCH])
            labels = tf.constant(y[start : start + BATCH])
            loss, exact = self.exact_gradient(images, labels, tf.constant(1.0))
            self.half.set_weights(self.model.get_weights())
            before = [weight.numpy() for weight in self.model.trainable_variables]
            self.model.optimizer.apply(exact, self.model.trainable_variables)
            after = [weight.numpy() for weight in self.model.trainable_variables]
            step = [new - old for new, old in zip(after, before, strict=True)]
            for name, scale in SCALES.items():
                _, rounded = self.rounded_gradient(images, labels, tf.constant(scale))
                moved = self.updates[name](rounded)
                if start in starts[-BATCHES:]:
                    self.sums[name] += list(map(compared, rounded, exact, moved, step))
            losses += len(images) * [float(loss)]
        return np.mean(losses)

    def rows(self):
        """A row for each scale and layer, of the last `BATCHES` steps.

        `zeros` is the share of the nonzero gradients that became zero, the others are
        lengths of differences, in units of the length of what float32 has.
        """
        rows = []
        for name, of_weights in self.sums.items():
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
                rows.append({"scale": name, "layer": layer} | shares)
                tqdm.write(f"{rows[-1]}")
        return rows


def update_of(model):
    """A function of gradients: how an Adam that remembers what the model's does would
    move the weights.
    """
    places = [keras.Variable(tf.zeros_like(w.value)) for w in model.trainable_variables]
    optimizer = adam()
    optimizer.build(places)
    for own, known in zip(optimizer.variables, model.optimizer.variables, strict=True):
        own.assign(known)

    @tf.function
    def update(gradients):
        for place in places:
            place.assign(tf.zeros_like(place.value))
        optimizer.apply(gradients, places)
        return [place.value + 0 for place in places]

    return update


def compared(rounded, exact, moved, step):
    """What a step says of one weight: squares of lengths, and counts of gradients."""
    pairs = (rounded - exact, exact, moved - step, step)
    squares = [np.square(each).sum(dtype=float) for each in pairs]
    nonzero = np.asarray(exact) != 0
    return [*squares, np.sum(nonzero & (np.asarray(rounded) == 0)), np.sum(nonzero)]
