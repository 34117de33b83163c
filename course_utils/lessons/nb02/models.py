"""The networks of notebook 02, and the pictures of one of them."""

import keras
import numpy as np
from keras import layers

from course_utils.training import dtype_policy


def autoencoder(policy: str, seed: int = 0) -> keras.Sequential:
    """The network of notebook 02 under a policy: 64 numbers to 32, and back; no biases.

    From float32 (n, 64) to float32 (n, 64). Its weights are the same for a seed under
    every policy, and drawing them moves no other seed.

    Example:
        >>> autoencoder("mixed_float16").count_params()
        4096
    """
    options = {"use_bias": False, "kernel_initializer": "zeros"}
    with dtype_policy(policy):
        squeeze = layers.Dense(32, activation="relu", name="squeeze", **options)
        restore = layers.Dense(64, name="restore", **options)
        to_float32 = layers.Activation("linear", dtype="float32", name="to_float32")
        stack = [keras.Input((64,), name="picture"), squeeze, restore, to_float32]
        model = keras.Sequential(stack, name="autoencoder")
    rng = np.random.default_rng(seed)
    model.set_weights([rng.uniform(-0.25, 0.25, w.shape) for w in model.weights])
    return model


TILE = 8  # pixels: the segmenter decides for so many by so many at once


def squares(images: int, side: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noisy pictures of a bright rectangle, and masks that say where it is.

    Both are float32 (images, side, side, 1); a mask is 1 inside and 0 outside. `side`
    is a multiple of 32 pixels, and the rectangle's edges of 8.

    Example:
        >>> pictures, masks = squares(2, side=64)
        >>> pictures.shape, float(masks.max())
        ((2, 64, 64, 1), 1.0)
    """
    rng = np.random.default_rng(seed)
    tiles = side // TILE
    masks = np.zeros((images, tiles, tiles, 1), "float32")
    for mask in masks:
        height, width = rng.integers(tiles // 4, tiles // 2, 2)
        top, left = rng.integers(0, tiles // 2, 2)
        mask[top : top + height, left : left + width] = 1
    masks = masks.repeat(TILE, axis=1).repeat(TILE, axis=2)
    noise = rng.standard_normal(masks.shape, dtype="float32")
    return masks + noise / 2, masks


def segmenter(policy: str, side: int, seed: int = 0) -> keras.Sequential:
    """A small segmentation network under a policy: a logit for each pixel.

    From float32 (n, side, side, 1) to float32 of the same shape. It computes at an
    eighth of the resolution and enlarges its answer. Its weights are the same for a seed
    under every policy and for every side, and drawing them moves no other seed.

    Example:
        >>> segmenter("mixed_float16", side=64).count_params()
        529
    """
    first, second = (keras.initializers.GlorotUniform(2 * seed + n) for n in range(2))
    with dtype_policy(policy):
        stack = [
            keras.Input((side, side, 1), name="picture"),
            layers.Conv2D(8, TILE, TILE, activation="relu", kernel_initializer=first),
            layers.Conv2D(1, 1, kernel_initializer=second),
            layers.UpSampling2D(TILE),
            layers.Activation("linear", dtype="float32", name="to_float32"),
        ]
        return keras.Sequential(stack, name="segmenter")
