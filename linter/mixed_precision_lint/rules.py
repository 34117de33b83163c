"""All rules, and what applies them: to a model, and to a training loop."""

import contextlib
import functools
import inspect
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import keras

from mixed_precision_lint import (
    bias_rules,
    layer_rules,
    number_rules,
    policy_rules,
    source_rules,
    sum_rules,
)
from mixed_precision_lint.finding import Finding, in_order
from mixed_precision_lint.inspected import Inspected, Machine, names
from mixed_precision_lint.instrumented_loop import Build
from mixed_precision_lint.layers import refuse_other
from mixed_precision_lint.loop_rules import findings
from mixed_precision_lint.source import ignored, own_kinds
from mixed_precision_lint.watched import Watched

RULES = (
    *layer_rules.RULES,
    *number_rules.RULES,
    *sum_rules.RULES,
    *bias_rules.RULES,
    *policy_rules.RULES,
    *source_rules.RULES,
)


def examine(
    model: keras.Model,
    optimizer: keras.Optimizer | str | None = None,
    ignore: Collection[str] = (),
    machine: Machine | None = None,
) -> list[Finding]:
    """Finds what a `keras.Model`'s dtypes do wrong; of one that is not built it says so
    (MP026), and little else.

    `optimizer` is what you are going to give to `compile` (an optimizer or its name;
    else the one compiled with), `ignore` has codes of which you do not want to hear,
    as a comment `# lint: ignore MP009` in the class of a layer of yours has for this
    layer. `machine(model, dtype)` says whether a dtype is slow where the model is going
    to run, as a `inspected.Reason`; without it MP012 is silent. Errors come first, then
    warnings, then advice; in these by layer and code. Raises ValueError if `model` is
    no Keras model, or Keras knows no optimizer of that name.

        >>> model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8, dtype="float16")])
        >>> [finding.code for finding in examine(model)][:2]
        ['MP001', 'MP002']
    """
    refuse_other(model)
    inspected = Inspected(model, keras.optimizers.get(optimizer), machine)
    own = {inspected.path_of(layer): own_kinds(layer) for layer in inspected.own_layers}
    results = []
    for rule in RULES:
        for finding in rule(inspected):
            # To cut a class out of its file takes long: only of layers with a finding.
            if finding.code not in {*ignore, *switched_off(own.get(finding.layer, ()))}:
                results.append(finding)
    return in_order(together(results))


@functools.cache
def switched_off(kinds: tuple[type, ...]) -> set[str]:
    """The codes that the sources of some classes switch off."""
    codes: set[str] = set()
    for kind in kinds:
        with contextlib.suppress(OSError, TypeError):  # there may be no source
            codes |= ignored(inspect.getsource(kind))
    return codes


# What a library's block does, each of its copies does.
REPEATED = ("MP009", "MP029", "MP033")


def together(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for all layers of which the same is said, with the others' names.

    >>> same = [Finding("MP029", "warning", name, "So it is.", "Mend") for name in "abc"]
    >>> together(same)[0].message
    'So it is. The same holds of b, c.'
    """
    layers: dict[Finding, list[str]] = {}
    for each in dict.fromkeys(findings):
        first = replace(each, layer="") if each.code in REPEATED else each
        layers.setdefault(first, []).append(each.layer)
    merged = []
    for first, paths in layers.items():
        message = first.message
        if len(paths) > 1:
            message += f" The same holds of {names(paths[1:])}."
        merged.append(replace(first, layer=paths[0], message=message))
    return merged


def probe(build: Build, x: Any, y: Any, ignore: Collection[str] = ()) -> list[Finding]:
    """Finds what a training loop does wrong in 16 bits: [] for a right one; it takes
    some steps.

    `build()` makes `(model, optimizer, step)` afresh at each call: a built
    `keras.Model`, its optimizer, and `step(x, y)`, which trains once, such as
    `model.train_on_batch`. Only what it makes is trained. If `step` returns the loss,
    more can be told. `ignore` has codes, as for `examine`. Whether a scale that is not
    a `LossScaleOptimizer`'s falls and grows is not seen.

        >>> def build():
        ...     model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        ...     model.compile("sgd", "mse", jit_compile=False)
        ...     return model, model.optimizer, model.train_on_batch
        >>> import numpy as np
        >>> probe(build, np.ones((4, 3), "float32"), np.ones((4, 1), "float32"))
        []
    """
    return [each for each in findings(Watched(build, x, y)) if each.code not in ignore]
