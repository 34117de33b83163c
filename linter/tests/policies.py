"""A policy for the models of some lines."""

import contextlib

import keras


@contextlib.contextmanager
def dtype_policy(name):
    former = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(former)
