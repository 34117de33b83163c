"""A slow training of notebook 05: six faults that cost time, and the judge of who is
who.
"""

import statistics
import time

import numpy as np

from .judges import Choice, Fields

FAULTS = {
    "A": "Python in the step",
    "B": "small batches",
    "C": "no prefetch",
    "D": "float64",
    "E": "runs eagerly",
    "F": "statistics of weights",
}
SHOWN = {  # what an instrument shows where a fault is left in
    "A": "the other operations take longer, and the table of operations names one that is Python's",
    "B": "the launch takes longer, and the table of operations counts eight times as many products",
    "C": "the step waits for its input",
    "D": "the products take longer, and so do casts before them",
    "E": "the launch takes longer, and as many products run as in the repaired step",
    "F": "the other operations take longer, and one of them sorts",
}
BATCH = 256
SMALL = 32
WIDTH = 512
READING = 0.006


def colleague(repaired=""):
    """A colleague's training step on 256 pictures, with the faults that are not
    `repaired`.

    Each letter, "A" to "F", repairs one: `colleague("ABDEF")` leaves C in. The step
    takes no arguments and returns a number.
    """
    import keras
    import tensorflow as tf

    left = {fault for letter, fault in FAULTS.items() if letter not in repaired}
    source = np.random.RandomState(8)
    images = source.rand(2 * BATCH, 784).astype("float32")
    labels = source.randint(0, 10, 2 * BATCH)
    wide = "float64" if "float64" in left else "float32"
    dense = [
        keras.layers.Dense(WIDTH, activation="relu", dtype=d) for d in ("float32", wide)
    ]
    last = keras.layers.Dense(10, dtype="float32")
    model = keras.Sequential([keras.Input((784,)), *dense, last])
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def normalized(x):
        if "Python in the step" not in left:
            return x - tf.reduce_mean(x, axis=1, keepdims=True)
        by_row = lambda a: np.stack([r - np.float32(statistics.fmean(r)) for r in a])  # noqa: E731
        return tf.ensure_shape(tf.numpy_function(by_row, [x], tf.float32), (None, 784))

    def train(x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(normalized(x), training=True))
        variables = model.trainable_variables
        optimizer.apply(tape.gradient(loss, variables), variables)
        if "statistics of weights" in left:
            some = tf.sort(tf.reshape(model.layers[1].kernel[: WIDTH // 4], [-1]))
            loss += 0 * tf.cast(some[0], loss.dtype)
        return loss

    if "runs eagerly" not in left:
        train = tf.function(train, jit_compile=False)
    batches = _batches(tf, images, labels, "no prefetch" not in left)
    size = SMALL if "small batches" in left else BATCH

    def step():
        x, y = next(batches)
        return [
            float(train(x[n : n + size], y[n : n + size]))
            for n in range(0, BATCH, size)
        ][-1]

    return step


def _batches(tf, images, labels, ahead):
    """An iterator over batches, each of which takes a while to read."""

    def read(x, y):
        wait = tf.numpy_function(
            lambda: np.int64(time.sleep(READING) or 0), [], tf.int64
        )
        with tf.control_dependencies([wait]):
            return tf.identity(x), tf.identity(y)

    data = (
        tf.data.Dataset.from_tensor_slices((images, labels))
        .batch(BATCH)
        .repeat()
        .map(read)
    )
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return iter((data.prefetch(2) if ahead else data).with_options(options))


def who(letter):
    """The judge of one letter."""
    wrong = {
        fault: f"not {fault}. With {letter} left in, {SHOWN[letter]}."
        for fault in FAULTS.values()
        if fault != FAULTS[letter]
    }
    return Choice(FAULTS[letter], wrong, options=tuple(FAULTS.values()))


JUDGE = Fields({letter: who(letter) for letter in FAULTS})
