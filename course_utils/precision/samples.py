"""Small arguments and inputs with which to try every layer of Keras."""

import inspect
import re

import keras
import numpy as np

# Values for the arguments that a constructor insists on, by the name of the argument.
BY_ARGUMENT = {
    **dict.fromkeys(("filters", "kernel_size", "pool_size", "output_size", "n", "head_dim"), 2),
    **dict.fromkeys(("num_heads", "key_dim", "num_query_heads", "num_key_value_heads"), 2),
    **dict.fromkeys(("units", "output_dim", "max_number"), 3),
    **dict.fromkeys(("height", "width", "num_bins"), 4),
    **dict.fromkeys(("rate", "scale", "stddev"), 0.5),
    **dict.fromkeys(("factor", "height_factor", "width_factor"), 0.5),
    **{"input_dim": 8, "dims": (2, 1), "target_shape": (-1,), "axes": -1, "activation": "relu"},
}
# Layers that need more, or others, by the name of the class. Functions, because layers among the
# arguments have to be made under the policy too.
BY_CLASS = {
    "Bidirectional": lambda: {"layer": keras.layers.LSTM(3)},
    "CategoryEncoding": lambda: {"num_tokens": 4},
    "Discretization": lambda: {"bin_boundaries": [0.3, 0.6]},
    "EinsumDense": lambda: {"equation": "abc,cd->abd", "output_shape": (None, 3)},
    "GroupNormalization": lambda: {"groups": 2},
    "IntegerLookup": lambda: {"vocabulary": [1, 2]},
    "Lambda": lambda: {"function": lambda x: 2 * x},
    "MaxNumBoundingBoxes": lambda: {"max_number": 3, "bounding_box_format": "xyxy"},
    "MelSpectrogram": lambda: {"fft_length": 16, "sequence_stride": 8, "num_mel_bins": 4},
    "Pipeline": lambda: {"layers": [keras.layers.Rescaling(0.5)]},
    "RNN": lambda: {"cell": keras.layers.LSTMCell(3)},
    "RandomPosterization": lambda: {"factor": 4},
    "STFTSpectrogram": lambda: {"frame_length": 16, "frame_step": 8, "fft_length": 16},
    "SpectralNormalization": lambda: {"layer": keras.layers.Dense(3)},
    "StackedRNNCells": lambda: {"cells": [keras.layers.LSTMCell(3)]},
    "StringLookup": lambda: {"vocabulary": ["a", "b"]},
    "TextVectorization": lambda: {"vocabulary": ["a", "b"]},
    "TimeDistributed": lambda: {"layer": keras.layers.Dense(3)},
}
NOT_TRIED = {
    "FlaxLayer": "needs a model of Flax",
    "InputLayer": "stands for an input and computes nothing",
    "JaxLayer": "needs a function of JAX",
    "Layer": "is the base of all layers",
    "TFSMLayer": "needs a SavedModel",
    "TorchModuleWrapper": "needs a module of PyTorch",
    "Wrapper": "is the base of wrappers",
}


def _floats(*shape):
    return np.random.default_rng(0).uniform(0, 1, shape).astype("float32")


SEQUENCE, VECTOR, STATE = _floats(2, 4, 4), _floats(2, 4), _floats(2, 3)
IMAGES, TOKENS = 255 * _floats(2, 8, 8, 3), np.array([[1, 2], [3, 0]], "int32")
BOXES = {"boxes": np.array([[[0, 0, 4, 4]]] * 2, "float32"), "labels": np.zeros((2, 1), "int32")}
MIXED = {"images": IMAGES, "labels": np.eye(2, dtype="float32")}
# What a layer is called with, where its name and module do not tell.
INPUTS = {
    **dict.fromkeys(("CategoryEncoding", "Embedding", "Hashing", "IntegerLookup"), (TOKENS,)),
    **dict.fromkeys(("Attention", "AdditiveAttention"), ([SEQUENCE, SEQUENCE],)),
    **dict.fromkeys(("MultiHeadAttention", "GroupedQueryAttention"), (SEQUENCE, SEQUENCE)),
    **dict.fromkeys(("GRUCell", "SimpleRNNCell"), (VECTOR, [STATE])),
    **dict.fromkeys(("CutMix", "MixUp"), (MIXED,)),
    "HashedCrossing": ((TOKENS[0], TOKENS[1]),),
    "LSTMCell": (VECTOR, [STATE, STATE]),
    "MaxNumBoundingBoxes": ({"images": IMAGES, "bounding_boxes": BOXES},),
    "MelSpectrogram": (_floats(2, 64),),
    "RepeatVector": (VECTOR,),
    "ReversibleEmbedding": (TOKENS,),
    "STFTSpectrogram": (_floats(2, 64, 1),),
    "StackedRNNCells": (VECTOR, [[STATE, STATE]]),
    "StringLookup": (np.array([["a", "c"]]),),
    "TextVectorization": (np.array(["a b c"]),),
}


def arguments(kind) -> dict:
    """What a layer class is made with; layers among the arguments get the policy in force.

    Raises:
        TypeError: the constructor insists on arguments that the tables here do not know; the
            message names them.

    Example:
        >>> arguments(keras.layers.Dense)
        {'units': 3}
    """
    if kind.__name__ in BY_CLASS:
        return BY_CLASS[kind.__name__]()
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    names = [p.name for p in parameters if p.default is p.empty and p.kind not in (2, 4)]
    unknown = [name for name in names if name not in BY_ARGUMENT]
    if unknown:
        raise TypeError(" and ".join(unknown))
    seed = {"seed": 0} if any(p.name == "seed" for p in parameters) else {}  # the same each time
    return {name: BY_ARGUMENT[name] for name in names} | seed


def inputs(kind) -> tuple:
    """The positional arguments that a layer is called with: small, float32 where it takes that.

    Example:
        >>> inputs(keras.layers.Conv2D)[0].shape
        (2, 4, 4, 3)
    """
    if kind.__name__ in INPUTS:
        return INPUTS[kind.__name__]
    if ".image_preprocessing." in kind.__module__:
        return (IMAGES,)
    if ".merging." in kind.__module__:
        return ([SEQUENCE, SEQUENCE],)
    dimensions = re.search(r"([123])D", kind.__name__)
    if dimensions is None:
        return (SEQUENCE,)
    time = kind.__name__.startswith("ConvLSTM")
    return (_floats(2, *[4] * (int(dimensions[1]) + time), 3),)
