"""The layers of a Keras model that compute, wherever they are nested."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Place:
    """A layer and where it stands in its model.

    Attributes:
        path: the names of the models and layers around it and its own, "encoder/block/dense";
            unique in the model. The outermost model's name is left out.
        layer: the `keras.Layer`.
    """

    path: str
    layer: Any


def walk(model) -> list[Place]:
    """Every layer of a model that computes, in the model's order, each one once.

    Nested models, wrappers such as `TimeDistributed`, and layers of your own that hold other
    layers are opened: what they hold is listed instead of them. If they own weights besides, they
    are listed too, before what they hold. Keras's own composite layers (`MultiHeadAttention`,
    `LSTM`) are one place each. Inputs compute nothing and are left out.

    Args:
        model: a `keras.Model`, built or not. An unbuilt model lists what it holds already.

    Example:
        >>> from course_utils import models
        >>> [place.path for place in walk(models.mnist_cnn())][:3]
        ['conv2d', 'max_pooling2d', 'conv2d_1']
    """
    places, seen, paths = [], set(), set()

    def visit(layer, outer):
        if id(layer) in seen:
            return
        seen.add(id(layer))
        held = inside(layer)
        path = "/".join((*outer, layer.name))
        if held is None or _own_weights(layer, held):
            listed = _unique(path, paths)
            paths.add(listed)
            places.append(Place(listed, layer))
        for child in held or ():
            visit(child, (*outer, layer.name) if layer is not model else ())

    visit(model, ())
    return places


def inside(layer):
    """The layers that `walk` lists instead of a layer, or None where it stands for itself.

    Example:
        >>> inside(keras.layers.Dense(3)) is None
        True
    """
    import keras

    if isinstance(layer, keras.layers.InputLayer):
        return []
    if isinstance(layer, keras.Model):
        return list(layer.layers)
    # Keras has no public name for the layers that a layer holds, only for those of a model.
    held = layer._flatten_layers(include_self=False, recursive=False)
    wrapper = isinstance(layer, keras.layers.Wrapper | keras.layers.Bidirectional)
    of_keras = (type(layer).call.__module__ or "").startswith("keras.")
    return held if held and (wrapper or not of_keras) else None


def _own_weights(layer, held):
    theirs = {id(weight) for child in held for weight in child.weights}
    return any(id(weight) not in theirs for weight in layer.weights)


def _unique(path, taken):
    number, unique = 1, path
    while unique in taken:
        number += 1
        unique = f"{path}#{number}"
    return unique
