"""The optimizers that step a model: the compiled one, or those that its code holds."""

import contextlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import keras

from mixed_precision_lint.source import methods, words

# Methods in which an optimizer is kept, or described, and does not step.
KEPT = "__init__ compile build get_config get_compile_config".split()


class Stepper(NamedTuple):
    """An optimizer, and what the code calls it."""

    name: str  # "self.d_optimizer"; "" for the one that `compile` keeps
    optimizer: keras.Optimizer | None

    @property
    def chain(self) -> list[keras.Optimizer]:
        """The optimizer and those that it wraps, the outermost first."""
        chain: list[keras.Optimizer] = []
        pending = [] if self.optimizer is None else [self.optimizer]
        while pending:
            optimizer = pending.pop(0)
            if optimizer not in chain:
                chain.append(optimizer)
                parts = vars(optimizer).values()
                pending += [each for each in parts if isinstance(each, keras.Optimizer)]
        return chain

    @property
    def scalers(self) -> list[keras.optimizers.LossScaleOptimizer]:
        """Those of them that scale the loss, and divide by the scale."""
        wrapper = keras.optimizers.LossScaleOptimizer
        return [each for each in self.chain if isinstance(each, wrapper)]

    @property
    def scales(self) -> bool:
        """Whether it divides its gradients by a scale."""
        factors = (getattr(each, "loss_scale_factor", None) for each in self.chain)
        return bool(self.scalers) or any(factors)


def steppers(
    model: keras.Model,
    compiled: keras.Optimizer | None,
    owners: Iterable[keras.Layer],
) -> list[Stepper]:
    """The optimizers that a training of a model steps.

    `compiled` is the one that `compile` keeps or is going to keep, or None; `owners` are
    the model and its layers. An optimizer that the code of one of them holds and names
    counts; the compiled one does not if a `train_step` names others in its place.
    """
    every = []
    for owner in owners:
        used: set[str | float] = set()
        outside: dict[str, Any] = {}  # of the class
        for name, function in methods(owner).items():
            if name not in KEPT:
                used |= words(function.__code__)
                closure = _closure(function)
                outside |= function.__globals__ | closure
                used |= set(closure)
        attributes = {k: v for k, v in vars(owner).items() if k != "optimizer"}
        for prefix, values in (("", outside), ("self.", attributes)):
            for name, value in values.items():
                if name in used:
                    every += [
                        Stepper(code, each)
                        for code, each in _named(prefix + name, value)
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
