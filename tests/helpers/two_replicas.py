"""What notebooks 06 and 07 and docs/loops.md show on two logical CPUs, as JSON.

`tests/test_two_replicas.py` starts it once and asserts on it. It is run as a script, so
it imports nothing of its own folder.
"""

import json
import re
import sys

import keras
import numpy as np
import tensorflow as tf

from course_utils import distributed
from course_utils.training import dtype_policy
from tools.canonical_form import COURSE
from tools.notebook_cells import Cells

LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
RNG = np.random.default_rng(0)
X = RNG.random((48, 16), dtype="float32")
Y = np.arange(48) % 4


def own_steps():
    """The classes with a `train_step`: Keras's, the notebook's and the page's."""
    names = {"keras": keras, "tf": tf}
    Cells("06_training_loop").run("own-step", names=names)
    page = (COURSE / "docs/loops.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(class Own.*?)```", page, re.DOTALL)
    of_page = {"keras": keras, "tf": tf}
    exec(code, of_page)
    inputs = keras.Input((16,))
    return {
        "Keras": lambda layer: keras.Model(inputs, layer(inputs)),
        "notebook": lambda layer: names["Own"]([inputs, layer]),
        "page": lambda layer: of_page["Own"](inputs, layer(inputs)),
    }


def shown(make):
    """The loss that `fit` shows and the weights that it leaves, on one device or all."""
    keras.utils.set_random_seed(0)
    layer = keras.layers.Dense(4)
    model = make(layer)
    model.compile(keras.optimizers.SGD(0.1), LOSS, jit_compile=False)
    history = model.fit(X, Y, 16, 2, shuffle=False, verbose=0).history
    return history["loss"], layer.kernel.numpy().ravel().tolist()


class Outer(keras.layers.Layer):
    """A layer that makes another one when it is built."""

    def build(self, shape):
        self.inner = keras.layers.Dense(4)

    def call(self, inputs):
        return self.inner(inputs)


def inner_policies(strategy):
    """The policies of layers that another one makes in its `build`, by who builds it."""
    names = {"keras": keras, "tf": tf, "strategy": strategy}
    names["dtype_policy"] = dtype_policy
    Cells("07_devices").run("late-build", names=names, until="print(")
    found = {
        "built before": names["policy_inside"](built_before=True),
        "built by the replicas": names["policy_inside"](built_before=False),
    }
    sequences = tf.ones((2, 3, 4))
    with strategy.scope(), dtype_policy("mixed_float16"):
        called, fitted = Outer(), Outer()
        called(sequences)
        strategy.run(lambda: called(sequences))
        found["called before"] = called.inner.dtype_policy.name
        model = keras.Sequential([fitted])
        model.compile("sgd", "mse", jit_compile=False)
        model.fit(X, np.ones((48, 4)), 16, verbose=0)
        found["built by fit"] = fitted.inner.dtype_policy.name
        both = keras.layers.Bidirectional(keras.layers.LSTM(4))
        attention = keras.layers.MultiHeadAttention(2, 4)
        strategy.run(lambda: (both(sequences), attention(sequences, sequences)))
    layers = [*both._flatten_layers(), *attention._flatten_layers()]
    found["inside Keras's own"] = sorted({each.dtype_policy.name for each in layers})
    assert len(layers) > 6
    return found


def main():
    two = tf.distribute.MirroredStrategy(distributed.split_cpu(2))
    found = {"one": {}, "two": {}}
    for name, make in own_steps().items():
        found["one"][name] = shown(make)
        with two.scope():
            found["two"][name] = shown(make)
    found["policies"] = inner_policies(two)
    print("RESULT", json.dumps(found))


if __name__ == "__main__":
    sys.exit(main())
