"""LiteRT, the interpreter of small devices: conversion without its noise, files that
run, faults.

Notebook 08 sets the converter's options itself. TensorFlow brings the converter and the
interpreter.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from course_utils import quiet


def missing() -> str:
    """One sentence on what LiteRT lacks here, with what to install; "" where it can be
    used.
    """
    parts = ("TFLiteConverter", "Interpreter")
    if all(hasattr(getattr(tf, "lite", None), name) for name in parts):
        return ""
    return "This TensorFlow has no LiteRT: install tensorflow 2.20 or 2.21."


def quietly(function: Callable[..., Any], *arguments: object) -> Any:
    """What a function returns, without what TensorFlow prints meanwhile, native lines
    included.

    Example: `quietly(converter.convert)`
    """
    with quiet.silent(1, 2) as nowhere, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            return function(*arguments)


def calibration(
    images: np.ndarray, shape: tuple[int, ...]
) -> Callable[[], Iterator[list[np.ndarray]]]:
    """A representative dataset for the converter: one float32 image of that shape at a
    time.

    ValueError says what the images are, and that finite float32 ones of `shape` are
    asked for.

    Example: `converter.representative_dataset = calibration(x[:200],
    model.input_shape[1:])`
    """
    images = np.atleast_1d(images)
    fits = images.dtype == np.float32 and images.shape == (len(images) or 1, *shape)
    if not fits or not np.isfinite(images).all():
        raise ValueError(
            f"These images are {images.dtype} of shape {images.shape}: calibrate with finite "
            f"float32 images of shape {tuple(shape)}, scaled as in the training."
        )
    return lambda: ([image[None]] for image in images)


class Lite:
    """A LiteRT model that runs here on one thread: `Lite(content)`, the bytes of a
    .tflite file.

    ValueError says in one sentence that the bytes are no model that this interpreter
    can run.
    """

    def __init__(self, content: bytes):
        self.content = content
        interpreter = self._interpreter()
        self._input = interpreter.get_input_details()[0]["index"]
        self._output = interpreter.get_output_details()[0]["index"]

    def _interpreter(self, shape=None):
        try:
            return quietly(self._allocate, shape)
        except (ValueError, RuntimeError):
            raise ValueError(
                f"LiteRT cannot run these {len(self.content):,} bytes: no whole model, operations "
                "that only TensorFlow has, or zeros left out of 8-bit weights: convert in float32."
            ) from None

    def _allocate(self, shape):
        interpreter = tf.lite.Interpreter(model_content=self.content, num_threads=1)
        if shape:
            interpreter.resize_tensor_input(self._input, shape)
        interpreter.allocate_tensors()
        return interpreter

    def predict(self, images: np.ndarray) -> np.ndarray:
        """The outputs for a batch of float32 images, an array."""
        interpreter = self._interpreter(images.shape)
        interpreter.set_tensor(self._input, images)
        interpreter.invoke()
        return interpreter.get_tensor(self._output)

    def call(self, images: np.ndarray) -> Callable[[], float]:
        """A function without arguments that computes a batch, for a timer; it returns
        0.
        """
        interpreter = self._interpreter(images.shape)
        interpreter.set_tensor(self._input, images)
        return lambda: interpreter.invoke() or 0.0
