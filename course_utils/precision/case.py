"""The model that the rules look at."""

import functools
from dataclasses import dataclass
from typing import Any

import keras

from course_utils.precision.calls import Call, calls_of, symbols
from course_utils.precision.layers import Place, walk

NAMED = 3  # layers that a message names


@dataclass(frozen=True, eq=False)
class Case:
    """A `keras.Model` with what it is to be judged by; see `precision.examine`."""

    model: Any
    next_optimizer: Any  # that `compile` is going to get

    @functools.cached_property
    def places(self) -> list[Place]:
        """The layers that compute, in order."""
        return walk(self.model)

    @property
    def optimizer(self) -> Any:
        """The optimizer that counts: the next one, or the model's, with its wrapper."""
        return self.next_optimizer or getattr(self.model, "optimizer", None)

    @functools.cached_property
    def own_layers(self) -> list:
        """The layers that are not Keras's own, the model itself among them."""
        # Unlike `walk`, Keras's list has the layers that hold others: their code is
        # looked at.
        layers = self.model._flatten_layers()
        return [la for la in layers if not type(la).__module__.startswith("keras.")]

    @functools.cached_property
    def put_out(self) -> dict:
        """{id of a layer: the dtypes it really puts out}; empty where nothing can be
        measured.

        A layer with a `compute_output_shape` of its own makes Keras assume the output's
        dtype, so the symbolic tensors of a functional model do not prove it.
        """
        # Of several calls the last one counts: a tied embedding makes the logits in it.
        return {id(c.layer): tuple(dtype for _, dtype in c.left) for c in self.calls}

    @functools.cached_property
    def unbuilt(self) -> list[str]:
        """The paths of the layers that are not built, the model itself among them."""
        layers = self.model._flatten_layers()
        return [self.path_of(layer) for layer in layers if not layer.built]

    @functools.cached_property
    def calls(self) -> list[Call]:
        """The calls of its layers in inference; empty where nothing can be measured."""
        if self.unbuilt:
            return []
        try:
            return calls_of(self.model, symbols(self.model))
        except Exception:  # whatever the code of the layers raises
            return []

    @property
    def scales(self) -> bool:
        """Whether something scales the loss, or `compile` is going to see to it."""
        if isinstance(self.optimizer, keras.optimizers.LossScaleOptimizer):
            return True
        to_come = not self.model.compiled or self.optimizer is not self.model.optimizer
        wrapped = to_come and self.model.dtype_policy.name == "mixed_float16"
        return wrapped or bool(getattr(self.optimizer, "loss_scale_factor", None))

    def computing_in(self, *dtypes) -> list[Place]:
        """The places whose layers compute in one of these dtypes."""
        return [place for place in self.places if place.layer.compute_dtype in dtypes]

    def path_of(self, layer) -> str:
        """The path of a layer; its name alone if it is not a place of its own."""
        return next((p.path for p in self.places if p.layer is layer), layer.name)


def names(paths) -> str:
    """Paths in a row, the first three of them: "a, b, c and 2 more"."""
    paths = list(paths)
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more
