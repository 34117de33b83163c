"""How long twenty steps of thirteen networks take by the forecast of notebook 13, and by the clock.

Four of the steps were named before the forecast was made as it is, and no number of it was
chosen by them; three of their networks took part with another batch: `HELD_OUT`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import layers
from tqdm.auto import tqdm

from course_utils import models, profiling, roofline
from course_utils.benchmark import timed_model, timer

POLICIES = ("float32", "mixed_bfloat16")
HELD_OUT = ("residual, 128", "text, 128", "U-Net, 64", "wide MLP, 1024")
SECONDS = 3  # of each timing


class Network(NamedTuple):
    """A network, and one of its inputs and answers."""

    build: Callable[[], keras.Model]
    input: tuple[int, ...]
    answer: tuple[int, ...] = ()  # of a regression; (): one of ten classes
    words: bool = False

    def compiled(self) -> keras.Model:
        """The network with Adam, without XLA."""
        classes = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        loss = "mse" if self.answer else classes
        model = self.build()
        model.compile("adam", loss, jit_compile=False, auto_scale_loss=False)
        return model

    def data(self, batch: int) -> tuple[np.ndarray, np.ndarray]:
        """Some inputs and answers, drawn."""
        rng = np.random.default_rng(0)
        x = rng.random((batch, *self.input), dtype="float32")
        if self.words:
            x = (x * 5000).astype("int32")
        if self.answer:
            return x, rng.random((batch, *self.answer), dtype="float32")
        return x, np.arange(batch) % 10


def _head(x):
    return layers.Dense(10, dtype="float32")(x)


def dense(width: int = 512) -> keras.Model:
    """Three dense layers."""
    images = keras.Input((28, 28, 1))
    x = layers.Flatten()(images)
    for _ in range(3):
        x = layers.Dense(width, activation="relu")(x)
    return keras.Model(images, _head(x))


def residual(width: int = 32) -> keras.Model:
    """Four residual blocks with batch normalization."""
    images = keras.Input((32, 32, 3))
    x = layers.Conv2D(width, 3, padding="same")(images)
    for filters in (width, 2 * width):
        for _ in range(2):
            y = x
            for _ in range(2):
                y = layers.ReLU()(layers.BatchNormalization()(y))
                y = layers.Conv2D(filters, 3, padding="same")(y)
            if x.shape[-1] != filters:
                x = layers.Conv2D(filters, 1)(x)
            x = layers.Add()([x, y])
        x = layers.AveragePooling2D(2)(x)
    return keras.Model(images, _head(layers.GlobalAveragePooling2D()(x)))


def separable(width: int = 64) -> keras.Model:
    """Three depthwise convolutions, each with one of a single pixel behind it."""
    images = keras.Input((32, 32, 3))
    x = layers.Conv2D(width, 3, strides=2, padding="same", activation="relu")(images)
    for _ in range(3):
        for layer in (
            layers.DepthwiseConv2D(3, padding="same"),
            layers.Conv2D(width, 1),
        ):
            x = layers.ReLU()(layers.BatchNormalization()(layer(x)))
    return keras.Model(images, _head(layers.GlobalAveragePooling2D()(x)))


def unet(width: int = 16) -> keras.Model:
    """A small U-Net."""
    convolution = partial(
        layers.Conv2D, kernel_size=3, padding="same", activation="relu"
    )
    images = keras.Input((64, 64, 1))
    fine = convolution(width)(images)
    middle = convolution(2 * width)(layers.MaxPooling2D()(fine))
    x = convolution(4 * width)(layers.MaxPooling2D()(middle))
    for beside, filters in ((middle, 2 * width), (fine, width)):
        x = layers.Concatenate()([layers.UpSampling2D()(x), beside])
        x = convolution(filters)(x)
    return keras.Model(images, layers.Conv2D(1, 1, dtype="float32")(x))


def text(width: int = 128) -> keras.Model:
    """An embedding and one block of a Transformer."""
    words = keras.Input((64,), dtype="int32")
    x = layers.Embedding(5000, width)(words)
    y = layers.LayerNormalization()(x)
    x = layers.Add()([x, layers.MultiHeadAttention(4, width // 4)(y, y)])
    y = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x))
    x = layers.Add()([x, layers.Dense(width)(y)])
    return keras.Model(words, _head(layers.GlobalAveragePooling1D()(x)))


def mixer() -> keras.Model:
    """Three blocks of an MLP-Mixer on patches of four pixels."""
    images = keras.Input((28, 28, 1))
    x = layers.Reshape((49, 64))(layers.Conv2D(64, 4, strides=4)(images))
    for _ in range(3):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(49)(layers.Dense(128, activation="gelu")(y))
        x = layers.Add()([x, layers.Permute((2, 1))(y)])
        y = layers.Dense(256, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(64)(y)])
    return keras.Model(images, _head(layers.GlobalAveragePooling1D()(x)))


def autoencoder() -> keras.Model:
    """Two convolutions down, and two transposed ones up."""
    smaller = partial(layers.Conv2D, kernel_size=3, strides=2, padding="same")
    larger = partial(layers.Conv2DTranspose, kernel_size=3, strides=2, padding="same")
    images = keras.Input((28, 28, 1))
    x = smaller(64, activation="relu")(smaller(32, activation="relu")(images))
    x = larger(1, dtype="float32")(larger(32, activation="relu")(x))
    return keras.Model(images, x)


def signals() -> keras.Model:
    """Three convolutions along time."""
    series = keras.Input((256, 16))
    x = series
    for filters in (64, 64, 128):
        x = layers.Conv1D(filters, 5, padding="same", activation="relu")(x)
        x = layers.MaxPooling1D()(x)
    return keras.Model(series, _head(layers.GlobalAveragePooling1D()(x)))


IMAGE, PHOTO, MASK, TOKENS = (28, 28, 1), (32, 32, 3), (64, 64, 1), (128, 256)
CASES = (
    ("CNN", Network(models.mnist_cnn, IMAGE), (32, 128, 512)),
    ("wide CNN", Network(partial(models.mnist_cnn, 64), IMAGE), (128,)),
    ("block", Network(models.transformer_block, TOKENS, TOKENS), (8, 32)),
    ("ViT", Network(models.small_vit, IMAGE), (64, 256)),
    ("MLP", Network(dense, IMAGE), (128,)),
    ("wide MLP", Network(partial(dense, 1024), IMAGE), (1024,)),
    ("residual", Network(residual, PHOTO), (32, 128)),
    ("separable", Network(separable, PHOTO), (64,)),
    ("U-Net", Network(unet, MASK, MASK), (16, 64)),
    ("text", Network(text, (64,), words=True), (32, 128)),
    ("mixer", Network(mixer, IMAGE), (128,)),
    ("autoencoder", Network(autoencoder, IMAGE, IMAGE), (128,)),
    ("signals", Network(signals, (256, 16)), (64,)),
)


def rows() -> list[dict[str, Any]]:
    """A row for each network and policy: case, policy, bound_ms, predicted_ms,
    measured_ms, slower_ms.

    Each step is timed twice, some minutes apart: the faster median was least disturbed
    by what else the machine does, and the slower one tells how much that is. It takes
    four minutes on two cores.
    """
    device = roofline.measured_device(roofline.ceilings(seconds=4))
    calibration = profiling.calibrate(POLICIES)
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    steps: dict[str, dict[str, Callable[[], float]]] = {}
    for name, network, batches in tqdm(CASES, desc="networks"):
        for batch in batches:
            case = f"{name}, {batch}"
            steps[case] = {}
            x, y = network.data(batch)
            for policy in POLICIES:
                model = timed_model.TimedModel(network.compiled, policy).model
                steps[case][policy] = partial(model.train_on_batch, x, y)
                work = roofline.count(model.train_step, (x, y))
                lines[case, policy] = {
                    "case": case,
                    "policy": policy,
                    "bound_ms": sum(roofline.predict(work, device).budget.values()),
                    "predicted_ms": sum(profiling.forecast(work, calibration).values()),
                }
    medians: dict[tuple[str, str], list[float]] = {key: [] for key in lines}
    for case in [*steps] * 2:
        for policy, ms in timer.in_turns(steps[case], SECONDS, case).items():
            medians[case, policy].append(ms)
    for key, row in lines.items():
        row["measured_ms"], row["slower_ms"] = sorted(medians[key])
    return list(lines.values())
