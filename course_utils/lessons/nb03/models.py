"""The networks of notebook 03."""

import keras
from keras import layers


def six_layers(
    softmax: str | None = None,
    first: list[layers.Layer] | tuple[layers.Layer, ...] = (),
) -> keras.Sequential:
    """A small network with named layers, under the dtype policy in force; not compiled.

    conv – pool – flatten – hidden – logits – softmax, as in notebook 03: a `keras.Model`
    from float32 (n, 28, 28, 1) to probabilities (n, 10). `softmax` is the policy of the
    last layer, `first` are layers before all others.

    Example:
        >>> six_layers().count_params()
        87322
    """
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            *first,
            layers.Conv2D(8, 3, activation="relu", name="conv"),
            layers.MaxPooling2D(name="pool"),
            layers.Flatten(name="flatten"),
            layers.Dense(64, activation="relu", name="hidden"),
            layers.Dense(10, name="logits"),
            layers.Activation("softmax", dtype=softmax, name="softmax"),
        ],
        name="six_layers",
    )


def reader() -> keras.Sequential:
    """A network for texts of 16 tokens, in which layers cast in every place.

    From int32 (n, 16) to logits in float32 (n, 5), under the dtype policy in force.

    Example:
        >>> reader().count_params()
        84293
    """
    return keras.Sequential(
        [
            keras.Input((16,), dtype="int32"),
            layers.Embedding(1000, 64, name="embed"),
            layers.LayerNormalization(name="norm"),
            layers.Conv1D(96, 3, name="conv"),
            layers.GlobalAveragePooling1D(name="pool"),
            layers.Dense(16, dtype="float32", name="hidden"),
            layers.Dense(5, dtype="float32", name="logits"),
        ],
        name="reader",
    )
