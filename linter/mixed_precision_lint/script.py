"""A script: what its source tells, and the models that it builds when it is run."""

import ast
import dataclasses
import gc
import os
import pkgutil
import runpy
import signal
import sys
import tokenize
import traceback
import types
import warnings
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from mixed_precision_lint import isolated
from mixed_precision_lint.finding import Finding
from mixed_precision_lint.representable import extreme
from mixed_precision_lint.source import floats, ignored, is_class, words
from mixed_precision_lint.source_rules import unscaled_train_step

AGAIN = 5  # seconds after which a script that caught its interrupt gets the next one


def read(path: Path) -> Iterator[Finding]:
    """What the source of a script tells, by the rules that need no model.

    Nothing is executed. Classes are looked at wherever they stand; a comment `# lint:
    ignore MP009` in one switches a rule off for it. Raises SyntaxError or ValueError
    for what is no Python.

    Example: `list(read(Path("train.py")))`.
    """
    data = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        module = compile(data, path, "exec")
        tree = ast.parse(data)
    with tokenize.open(path) as file:
        lines = file.read().split("\n")  # as Python counts them
    codes = list(_codes(module))
    if not any("mixed_float16" in words(code) for code in (module, *codes)):
        return
    nodes = {
        _first_line(node): node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    for code in filter(is_class, codes):
        node = nodes[code.co_firstlineno]
        off = ignored("\n".join(lines[node.lineno - 1 : node.end_lineno]))
        for finding in _of_class(code):
            if finding.code not in off:
                yield dataclasses.replace(finding, line=node.lineno)


def _first_line(node):
    """Of a class, where Python takes it to begin: at its first decorator."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _codes(code):
    """Yield the pieces of code within some code, in the order of the source."""
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield part
            yield from _codes(part)


def _of_class(code):
    name = code.co_qualname.replace("<locals>.", "")
    used = words(code)
    if "train_step" in code.co_names:
        yield from unscaled_train_step(name, {"train_step": used})
    if "call" in code.co_names:
        yield from extreme(name, floats(used, {}))


def run(
    path: str, seconds: float, ignore: Collection[str] = (), machine: str = ""
) -> dict:
    """In a process of its own: run a script, and examine the models that it has built.

    Gives `problem`, what is to be said of the script, and `models`, a list of their
    names, classes and findings; see `command.saved`.
    """
    # What the script drops stays, as each model is a part of a circle.
    gc.disable()
    gc.collect = lambda generation=2: 0
    problem = ""
    try:
        _interrupt_after(seconds)
        sys.argv = [path]
        sys.path[:0] = [os.path.dirname(os.path.abspath(path))]
        runpy.run_path(path, run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            problem = f"It ended with: {error.code}."
    except KeyboardInterrupt:
        problem = f"It was stopped after {seconds:g} seconds."
    except Exception as error:
        why = isolated.reason(traceback.format_exc()) or type(error).__name__
        problem = f"It raised {why}."
    _interrupt_after(0)
    models = _outermost()
    if not models:
        problem += " It built no Keras model"
        problem += (
            " but of Keras 2: build it with Keras 3."
            if "tf_keras" in sys.modules
            else "."
        )
        return {"problem": problem, "models": []}
    from mixed_precision_lint import rules  # late: the script chooses the backend

    here = pkgutil.resolve_name(machine) if machine else None
    examined = [
        described(model, rules.examine(model, ignore=ignore, machine=here))
        for model in models
    ]
    return {"problem": problem, "models": examined}


def described(model: Any, findings: Iterable[Finding]) -> dict[str, Any]:
    """A Keras model with its findings, as JSON has it."""
    listed = [dataclasses.asdict(finding) for finding in findings]
    return {"name": model.name, "class": type(model).__name__, "findings": listed}


def _interrupt_after(seconds):
    """Interrupt the main thread, as Ctrl-C does; 0 takes that back."""
    if hasattr(signal, "setitimer"):  # on Windows the one who waits ends the process
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)


def _outermost():
    """The Keras models in this process whose layers are not all in another one."""
    keras = sys.modules.get("keras")  # whatever the script takes for it
    kind = getattr(keras, "Model", ())
    sequential = getattr(keras, "Sequential", ())
    by_layers: dict = {}
    for model in gc.get_objects():
        # without a name, its class forgot `super().__init__()`
        if issubclass(type(model), kind) and hasattr(model, "name"):
            # Sequential holds a functional model of its own layers, which nobody made.
            layers = frozenset(map(id, model._flatten_layers(include_self=False)))
            if layers not in by_layers or isinstance(model, sequential):
                by_layers[layers] = model
    return [
        m for ids, m in by_layers.items() if not any(ids < each for each in by_layers)
    ]
