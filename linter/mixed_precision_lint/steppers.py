"""The optimizers that step a model: the compiled one, or those that its code holds."""

import contextlib
from typing import Any, NamedTuple

import keras

from mixed_precision_lint.source import methods, words

# Methods in which an optimizer is kept, or described, and does not step.
KEPT = ("__init__", "compile", "build", "get_config", "get_compile_config")


class Stepper(NamedTuple):
    """An optimizer, and what the code calls it."""

    name: str  # "self.d_optimizer"; "" for the one that `compile` keeps
    optimizer: Any

    @property
    def chain(self) -> list:
        """The optimizer and those that it wraps, the outermost first."""
        chain = [self.optimizer] if self.optimizer is not None else []
        for outer in chain:  # it grows
            held = vars(outer).values()
            inner = [each for each in held if isinstance(each, keras.Optimizer)]
            chain += [each for each in inner if each not in chain]
        return chain

    @property
    def scalers(self) -> list:
        """Those of them that scale the loss, and divide by the scale."""
        wrapper = keras.optimizers.LossScaleOptimizer
        return [each for each in self.chain if isinstance(each, wrapper)]

    @property
    def scales(self) -> bool:
        """Whether it divides its gradients by a scale."""
        factors = (getattr(each, "loss_scale_factor", None) for each in self.chain)
        return bool(self.scalers) or any(factors)


def steppers(model, compiled, owners) -> list[Stepper]:
    """The optimizers that a training of a model steps.

    `compiled` is the one that `compile` keeps or is going to keep, or None; `owners` are
    the model and its layers. An optimizer that the code of one of them holds and names
    counts; the compiled one does not if a `train_step` names others in its place.
    """
    every = []
    for owner in owners:
        used: set = set()
        held: dict[str, Any] = {}
        for name, function in methods(owner).items():
            if name not in KEPT:
                used |= words(function.__code__)
                closure = _closure(function)
                held |= function.__globals__ | closure
                used |= set(closure)
        attributes = {k: v for k, v in vars(owner).items() if k != "optimizer"}
        for prefix, values in (("", held), ("self.", attributes)):
            for name in used & values.keys():
                every += [
                    Stepper(code, each)
                    for code, each in _named(prefix + name, values[name])
                    if isinstance(each, keras.Optimizer)
                ]
    own = methods(model).get("train_step")
    if every and own and "optimizer" not in words(own.__code__):
        return every
    return [Stepper("", compiled), *every]


def _closure(function):
    """{name: value} of what a function takes from around it, as far as it is there."""
    values = {}
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # an empty cell
            values[name] = cell.cell_contents
    return values


def _named(code, value):
    """Yield (code, object) of what may be an optimizer, within lists and dicts too."""
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, (list, tuple)):
        pairs = enumerate(value)
    else:
        yield code, value
    for key, each in pairs:
        yield from _named(f"{code}[{key!r}]", each)
