"""A slow training of notebook 05: six faults that cost time, their repairs, and the
judge of which were made.
"""

import statistics
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np

from course_utils.exercises.answers import describe

if TYPE_CHECKING:
    import tensorflow as tf

# Where in the time budget each fault shows, by the name of its repair.
SHOWS = {
    "batch": "launch",
    "graph": "launch",
    "tensorflow": "other",
    "prefetch": "input",
    "float32": "products",
    "statistics": "other",
}
REPAIRS = tuple(SHOWS)
LATE = "bfloat16"  # what may be tried once nothing else is wrong
NAMES = (*REPAIRS, LATE)
BATCH = 256
SMALL_BATCH = 32
WIDTH = 512
READ_SECONDS = 0.006


def colleague(repairs: Collection[str] = ()) -> Callable[[], float]:
    """A colleague's training step on 256 pictures, with those of `REPAIRS` that are
    named.

    `colleague(["prefetch"])` repairs one fault of six. "bfloat16" is no repair, and may
    be tried. The step takes no arguments and returns a number.

    Raises:
        ValueError: `repairs` holds a name that is none of these.
    """
    import keras
    import tensorflow as tf

    for name in repairs:
        if name not in NAMES:
            raise ValueError(f"{name!r} is no repair: choose from {', '.join(NAMES)}.")
    source = np.random.RandomState(8)
    images = source.rand(2 * BATCH, 784).astype("float32")
    labels = source.randint(0, 10, 2 * BATCH)
    first = "mixed_bfloat16" if LATE in repairs else "float32"
    second = first if "float32" in repairs else "float64"
    dense = [
        keras.layers.Dense(WIDTH, activation="relu", dtype=d) for d in (first, second)
    ]
    last = keras.layers.Dense(10, dtype="float32")
    model = keras.Sequential([keras.Input((784,)), *dense, last])
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def normalized(x):
        if "tensorflow" in repairs:
            return x - tf.reduce_mean(x, axis=1, keepdims=True)
        by_row = lambda a: np.stack([r - np.float32(statistics.fmean(r)) for r in a])  # noqa: E731
        return tf.ensure_shape(tf.numpy_function(by_row, [x], tf.float32), (None, 784))

    def train(x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(normalized(x), training=True))
        variables = model.trainable_variables
        optimizer.apply(tape.gradient(loss, variables), variables)
        if "statistics" not in repairs:
            some = tf.sort(tf.reshape(model.layers[1].kernel[: WIDTH // 4], [-1]))
            loss += 0 * tf.cast(some[0], loss.dtype)
        return loss

    if "graph" in repairs:
        train = tf.function(train, jit_compile=False)
    data = read_slowly(images, labels, BATCH, READ_SECONDS)
    batches = iter(data.prefetch(2) if "prefetch" in repairs else data)
    size = BATCH if "batch" in repairs else SMALL_BATCH

    def step():
        x, y = next(batches)
        for n in range(0, BATCH, size):
            loss = float(train(x[n : n + size], y[n : n + size]))
        return loss

    return step


def read_slowly(
    images: np.ndarray, labels: np.ndarray, batch: int, seconds: float
) -> "tf.data.Dataset":
    """A `tf.data.Dataset` without end of (images, labels), each batch of which takes so
    many seconds to read and no core.

    TensorFlow adds no prefetch of its own to it.

    Example:
        batches = iter(read_slowly(x, y, 128, seconds=0.02).prefetch(1))
    """
    import tensorflow as tf

    def wait():
        time.sleep(seconds)
        return np.int64(0)

    def read(x, y):
        with tf.control_dependencies([tf.numpy_function(wait, [], tf.int64)]):
            return tf.identity(x), tf.identity(y)

    data = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().batch(batch)
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return data.map(read).with_options(options)


def judge(answer: object) -> str | None:
    """What is wrong with a list of repairs, or None: all six are wanted, in any order.

    >>> judge(REPAIRS[1:])
    'You repaired 5 of 6 faults. The rest shows in these parts of the bar: launch.'
    >>> judge(list(REPAIRS))
    """
    wanted = f"give a list of names, of {', '.join(NAMES)}"
    if not isinstance(answer, list | tuple):
        return f"You gave {describe(answer)}: {wanted}."
    for name in answer:
        if not isinstance(name, str) or name not in NAMES:
            return f"You gave {describe(name)} in the list: {wanted}."
    faults = [name for name in REPAIRS if name not in answer]
    if not faults:
        return None
    if LATE in answer:
        return (
            "bfloat16 makes products faster at best, and this step spends its time elsewhere."
            " Take it out of the list, and try it after the six repairs."
        )
    parts = ", ".join(dict.fromkeys(SHOWS[name] for name in faults))
    return (
        f"You repaired {len(REPAIRS) - len(faults)} of 6 faults. The rest shows in these parts of"
        f" the bar: {parts}."
    )
