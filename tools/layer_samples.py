"""Small arguments and inputs with which `layer_support` tries every layer of Keras."""

import inspect
import re

import keras
import numpy as np

LAYERS = keras.layers
# What constructors insist on: by the argument's name, and for some layers by theirs; in
# functions, as layers among the arguments are made under the policy too.
BY_ARGUMENT = {
    **dict.fromkeys(("filters", "kernel_size", "pool_size", "output_size", "n"), 2),
    **dict.fromkeys(("head_dim", "num_heads", "key_dim"), 2),
    **dict.fromkeys(("num_query_heads", "num_key_value_heads"), 2),
    **dict.fromkeys(("units", "output_dim", "output_shape"), 3),
    **dict.fromkeys(("height", "width", "num_bins"), 4),
    **dict.fromkeys(("rate", "scale", "stddev"), 0.5),
    **dict.fromkeys(("factor", "height_factor", "width_factor"), 0.5),
    **{"input_dim": 8, "dims": (2, 1), "target_shape": (-1,), "axes": -1},
    **{"activation": "relu", "function": lambda x: 2 * x, "equation": "...a,ab->...b"},
}
BY_LAYER = {
    "AugMix": lambda: {"seed": 0, "num_chains": 10},  # it draws what it does: all of it
    "Bidirectional": lambda: {"layer": LAYERS.LSTM(3)},
    "CategoryEncoding": lambda: {"num_tokens": 4},
    "Discretization": lambda: {"bin_boundaries": [0.3, 0.6]},
    "GroupNormalization": lambda: {"groups": 1},
    "IntegerLookup": lambda: {"vocabulary": [1, 2]},
    "MaxNumBoundingBoxes": lambda: dict(max_number=3, bounding_box_format="xyxy"),
    "MelSpectrogram": lambda: dict(fft_length=16, sequence_stride=8, num_mel_bins=4),
    "Pipeline": lambda: {"layers": [LAYERS.Rescaling(0.5)]},
    "RNN": lambda: {"cell": LAYERS.LSTMCell(3)},
    "RandomPosterization": lambda: {"factor": 4},
    "STFTSpectrogram": lambda: dict(frame_length=16, frame_step=8, fft_length=16),
    "SpectralNormalization": lambda: {"layer": LAYERS.Dense(3)},
    "StackedRNNCells": lambda: {"cells": [LAYERS.LSTMCell(3)]},
    "StringLookup": lambda: {"vocabulary": ["a", "b"]},
    "TextVectorization": lambda: {"vocabulary": ["a", "b"]},
    "TimeDistributed": lambda: {"layer": LAYERS.Dense(3)},
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


def floats(*shape):
    return np.random.default_rng(0).uniform(0, 1, shape).astype("float32")


SEQUENCE, VECTOR, STATE = floats(2, 4, 4), floats(2, 4), floats(2, 3)
IMAGES, BYTES = 255 * floats(2, 8, 8, 3), np.full((2, 8, 8, 3), 200, "uint8")
TOKENS = np.array([[1, 2], [3, 0]], "int32")
BOXES = {"boxes": 4 * floats(2, 1, 4), "labels": np.zeros((2, 1), "int32")}
# A layer gets the first that it takes, unless its name or its module tells what it wants.
OFFERED = [
    *((SEQUENCE,), ([SEQUENCE, SEQUENCE],), (SEQUENCE, SEQUENCE), (VECTOR,)),
    *((VECTOR, [STATE]), (VECTOR, [STATE, STATE]), (VECTOR, [[STATE, STATE]])),
]
BY_NAME = {
    **dict.fromkeys(("CategoryEncoding", "Embedding", "Hashing"), (TOKENS,)),
    **dict.fromkeys(("IntegerLookup", "ReversibleEmbedding"), (TOKENS,)),
    **dict.fromkeys(("CutMix", "MixUp"), ({"images": IMAGES, "labels": np.eye(2)},)),
    "MaxNumBoundingBoxes": ({"images": IMAGES, "bounding_boxes": BOXES},),
    "HashedCrossing": ((TOKENS[0], TOKENS[1]),),
    "MelSpectrogram": (floats(2, 64),),
    "STFTSpectrogram": (floats(2, 64, 1),),
    "StringLookup": (np.array([["a", "c"]]),),
    "TextVectorization": (np.array(["a b c"]),),
}


def make(kind):
    """A layer of this class, with small arguments, under the policy in force."""
    if kind.__name__ in BY_LAYER:
        return kind(**BY_LAYER[kind.__name__]())
    rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    _, *parameters = inspect.signature(kind.__init__).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in rest]
    seed = {"seed": 0} if any(p.name == "seed" for p in parameters) else {}
    return kind(**{name: BY_ARGUMENT[name] for name in needed}, **seed)


def offered(kind):
    """The inputs that a class of layers is offered."""
    dimensions = re.search(r"([123])D", kind.__name__)
    if kind.__name__ in BY_NAME:
        return [BY_NAME[kind.__name__]]
    if ".image_preprocessing." in kind.__module__:
        return [(IMAGES,)]
    if dimensions:
        axes = int(dimensions[1])
        if kind.__name__.startswith("ConvLSTM"):
            axes += 1  # of time
        return [(floats(2, *[4] * axes, 3),)]
    return OFFERED
