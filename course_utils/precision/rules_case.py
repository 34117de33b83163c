"""What the rules look at, and what they yield."""

import functools
from dataclasses import dataclass
from typing import Any

from course_utils.precision.layers import walk
from course_utils.precision.rules_tracing import is_custom, is_lambda, output_dtypes

SEVERITIES = ("error", "warning", "advice")
NARROW = ("float16", "bfloat16")
NAMED = 3  # layers that a message names


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, and its repair.

    Attributes:
        code: "MP001", "MP002", …: what kind of thing; the codes stay as they are.
        severity: "error" (training goes wrong), "warning" (it may, or takes longer) or "advice".
        layer: path of the layer, or name of the model where it is about the whole.
        message: why it matters, in one sentence.
        fix: the repair, as code.
    """

    code: str
    severity: str
    layer: str
    message: str
    fix: str

    def __str__(self):
        return f"{self.code} {self.severity} {self.layer}: {self.message} Fix: {self.fix}"


@dataclass(frozen=True, eq=False)
class Case:
    """A model with what it is to be judged by.

    Attributes:
        model: a `keras.Model`.
        given: the optimizer that `compile` is going to get, or None.
        saved_policy: name of the policy that the model was saved under, or None.
        hardware_given: a `Hardware`, or None for this machine.
    """

    model: Any
    given: Any = None
    saved_policy: str | None = None
    hardware_given: Any = None

    @functools.cached_property
    def places(self):
        """The layers that compute, in order."""
        return walk(self.model)

    @functools.cached_property
    def hardware(self):
        """The hardware to judge by; this machine is looked at only if a rule asks."""
        from course_utils.hardware import detect

        return self.hardware_given or detect()

    @functools.cached_property
    def optimizer(self):
        """The optimizer that counts: the one given, or the model's, with its wrapper."""
        own = getattr(self.model, "optimizer", None) if self.model.compiled else None
        if self.given is None or self.given is getattr(own, "inner_optimizer", None):
            return own
        return self.given

    @functools.cached_property
    def own_layers(self):
        """The layers that are not Keras's own, the model itself among them, and Lambda layers."""
        # Unlike `walk`, Keras's list has the layers that hold others: their code is looked at.
        layers = self.model._flatten_layers()
        return [la for la in layers if is_custom(la) or is_lambda(la)]

    @functools.cached_property
    def put_out(self):
        """For each of `own_layers` the dtypes it really puts out, or None."""
        return {id(layer): output_dtypes(layer) for layer in self.own_layers}

    @property
    def compile_will_wrap(self):
        """Whether `compile` is still to come and will add dynamic loss scaling."""
        to_come = not self.model.compiled or self.optimizer is not self.model.optimizer
        return to_come and self.model.dtype_policy.name == "mixed_float16"

    @property
    def scales_dynamically(self):
        """Whether the optimizer that counts is a LossScaleOptimizer."""
        import keras

        return isinstance(self.optimizer, keras.optimizers.LossScaleOptimizer)

    def computing_in(self, *dtypes):
        """The places whose layers compute in one of these dtypes."""
        return [place for place in self.places if place.layer.compute_dtype in dtypes]

    def path_of(self, layer):
        """The path of a layer; its name alone if it is not a place of its own."""
        return next((p.path for p in self.places if p.layer is layer), layer.name)


def names(paths) -> str:
    """Paths in a row, the first three of them.

    Example:
        >>> names(["a", "b", "c", "d", "e"])
        'a, b, c and 2 more'
    """
    paths = list(paths)
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more
