"""The model that the rules look at."""

import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import keras

from mixed_precision_lint.calls import Call, calls_of, symbols
from mixed_precision_lint.layers import Place, walk
from mixed_precision_lint.steppers import Stepper, steppers

NAMED = 3  # layers that a message names


class Failure(NamedTuple):
    """The error of the innermost layer that raised one."""

    layer: keras.Layer
    error: Exception


class Reason(NamedTuple):
    """Why a dtype gains no time on a machine, as a sentence, and what to do instead."""

    why: str
    fix: str  # as code


# Gets a `keras.Model` and "float16" or "bfloat16"; None where the dtype is fast.
Machine = Callable[[keras.Model, str], Reason | None]


@dataclass(frozen=True, eq=False)
class Inspected:
    """A `keras.Model` with what it is to be judged by; see `rules.examine`."""

    model: keras.Model
    next_optimizer: keras.Optimizer | None  # that `compile` is going to get
    machine: Machine | None = None  # None: nobody knows

    @functools.cached_property
    def places(self) -> list[Place]:
        """The layers that compute, in order."""
        return walk(self.model)

    @property
    def optimizer(self) -> keras.Optimizer | None:
        """The optimizer that counts: the next one, or the model's, with its wrapper."""
        return self.next_optimizer or getattr(self.model, "optimizer", None)

    @functools.cached_property
    def own_layers(self) -> list[keras.Layer]:
        """The layers that are not Keras's own, the model itself among them."""
        # Unlike `walk`, Keras's list has the layers that hold others: their code is
        # looked at.
        layers = self.model._flatten_layers()
        return [la for la in layers if not type(la).__module__.startswith("keras.")]

    @functools.cached_property
    def output_dtypes(self) -> dict[int, tuple[str, ...]]:
        """{id of a layer: the dtypes it really puts out}; empty where nothing can be
        measured.

        A layer with a `compute_output_shape` of its own makes Keras assume the output's
        dtype, so the symbolic tensors of a functional model do not prove it.
        """
        # Of several calls the last one counts: a tied embedding makes the logits in it.
        return {
            id(call.layer): tuple(dtype for _, dtype in call.outputs)
            for call in self.calls
        }

    @functools.cached_property
    def unbuilt(self) -> list[str]:
        """The paths of the layers that are not built, the model itself among them.

        A functional model called all that it needs; some layers of Keras never tell.
        """
        if getattr(self.model, "inputs", None) and self.model.built:
            return []
        layers = self.model._flatten_layers()
        return [self.path_of(layer) for layer in layers if not layer.built]

    @property
    def calls(self) -> list[Call]:
        """The calls of its layers in inference; empty where nothing can be measured."""
        return self._called[0]

    @property
    def failure(self) -> Failure | None:
        """What one of its layers raised when it was called."""
        return self._called[1]

    @functools.cached_property
    def _called(self):
        if self.unbuilt:
            return [], None
        try:
            spec = symbols(self.model)
        except Exception:  # it does not tell what it is called with
            return [], None
        try:
            return calls_of(self.model, spec), None
        except Exception as error:  # whatever the code of the layers raises
            return [], Failure(getattr(error, "layer", self.model), error)

    @functools.cached_property
    def steppers(self) -> list[Stepper]:
        """The optimizers that step it."""
        return steppers(self.model, self.optimizer, self.model._flatten_layers())

    def scales(self, stepper: Stepper) -> bool:
        """Whether something scales the loss of an optimizer, or `compile` is going to see
        to it.
        """
        if stepper.scales:
            return True
        to_come = not self.model.compiled or self.optimizer is not self.model.optimizer
        mixed = self.model.dtype_policy.name == "mixed_float16"
        return mixed and to_come and not stepper.name

    def repair(self, layer: keras.Layer, own: str, dtype: str) -> str:
        """What mends a layer's code: `own` where it is the reader's, else a policy."""
        kinds = keras.layers.Lambda, keras.layers.Activation, keras.Model
        module = sys.modules.get(type(layer).__module__)
        if "-packages" not in (getattr(module, "__file__", "") or ""):
            return own
        if layer not in self.own_layers:
            return own if isinstance(layer, kinds) else _in_float32(layer)
        wider = "mixed_bfloat16" if dtype == "float16" else "float32"
        return f'keras.config.set_dtype_policy("{wider}")  # for all: its code is a library\'s'

    def computing_in(self, *dtypes: str) -> list[Place]:
        """The places whose layers compute in one of these dtypes."""
        return [place for place in self.places if place.layer.compute_dtype in dtypes]

    def path_of(self, layer: keras.Layer) -> str:
        """The path of a layer; its name alone if it is not a place of its own."""
        return next((p.path for p in self.places if p.layer is layer), layer.name)


def _in_float32(layer):
    return f'{type(layer).__name__}(..., dtype="float32")'


def names(paths: Iterable[str]) -> str:
    """Paths in a row, the first three of them: "a, b, c and 2 more"."""
    every = list(paths)
    more = f" and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more
