"""The layers of a Keras model that compute, wherever they are nested."""

from collections import Counter
from typing import Any, NamedTuple

import keras


def refuse_other(model: Any) -> None:
    """Raise ValueError for what is no model of Keras 3."""
    if any(kind.__module__.startswith("tf_keras.") for kind in type(model).__mro__):
        raise ValueError(
            "A model of tf_keras (Keras 2) was given, which has other rules: build the same "
            "model with Keras 3, and give that."
        )
    if not isinstance(model, keras.Model):
        raise ValueError(f"A {type(model).__name__} was given: give a keras.Model.")


class Place(NamedTuple):
    """A layer, and the names of the models and layers around it and its own:
    "encoder/dense".
    """

    path: str  # unique in the model; the outermost model's name is left out
    layer: keras.Layer


def walk(model: keras.Model) -> list[Place]:
    """Every layer of a model, built or not, that computes: in the model's order, each
    one once.

    Nested models and layers of your own that hold others are opened: what they hold is
    listed instead of them, and after them if they own weights besides. Keras's own
    layers that hold others (`MultiHeadAttention`, `TimeDistributed`) are one place each.

        >>> inner = keras.Sequential([keras.layers.Dense(3, name="dense")], name="inner")
        >>> outer = keras.Sequential([inner, keras.layers.ReLU(name="relu")])
        >>> [place.path for place in walk(outer)]
        ['inner/dense', 'relu']
    """
    places = []
    ids = set()
    paths = Counter()

    def visit(layer, outer):
        if id(layer) in ids:
            return
        ids.add(id(layer))
        inner = inner_layers(layer)
        path = "/".join((*outer, layer.name))
        theirs = {id(weight) for child in inner or () for weight in child.weights}
        if inner is None or any(id(weight) not in theirs for weight in layer.weights):
            paths[path] += 1
            number = f"#{paths[path]}" if paths[path] > 1 else ""
            places.append(Place(path + number, layer))
        for child in inner or ():
            visit(child, (*outer, layer.name) if layer is not model else ())

    visit(model, ())
    return places


def inner_layers(layer: keras.Layer) -> list[keras.Layer] | None:
    """The layers that `walk` lists instead of a layer, or None where it stands for
    itself.
    """
    if isinstance(layer, keras.layers.InputLayer):
        return []
    if isinstance(layer, keras.Model):
        return list(layer.layers)
    # Keras has no public name for the layers that a layer holds, only for those of a
    # model.
    inner = layer._flatten_layers(include_self=False, recursive=False)
    of_keras = (type(layer).call.__module__ or "").startswith("keras.")
    return inner if inner and not of_keras else None
