"""A script: what its source tells, and the models that it builds when it is run."""

import contextlib
import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Collection, Iterator
from pathlib import Path

from course_utils import processes, quiet
from course_utils.precision.finding import Finding, show
from course_utils.precision.held import extreme
from course_utils.precision.source import floats, words
from course_utils.precision.source_rules import unscaled

AGAIN = 5  # seconds after which a script that caught its interrupt gets the next one


def read(path: Path) -> Iterator[Finding]:
    """What the source of a script tells, by the rules that need no model.

    Nothing is executed. Raises SyntaxError or ValueError for what is no Python.

    Example: `list(read(Path("train.py")))`.
    """
    module = compile(path.read_bytes(), path, "exec")
    if "mixed_float16" in words(module):
        for code in module.co_consts:
            members = getattr(code, "co_names", ())
            if "__qualname__" in members:  # of a class, not of a function
                used = words(code)
                if "train_step" in members:
                    yield from unscaled(code.co_name, {"train_step": used})
                if "call" in members:
                    yield from extreme(code.co_name, floats(used, {}))


def run(path: str, seconds: float, ignore: Collection[str] = ()) -> None:
    """In a process of its own: run a script, print the findings about its models, and end
    the process.

    Hands back `[problem, status]`: what is to be said of the script, and what the
    command returns.
    """
    # What the script drops stays, as each model is a part of a circle.
    gc.disable()
    gc.collect = lambda generation=2: 0
    problem = ""
    try:
        _interrupt_after(seconds)
        with contextlib.suppress(SystemExit), quiet.silent(1):
            processes.run_script([path])
    except KeyboardInterrupt:
        problem = f"It was stopped after {seconds:g} seconds."
    except Exception as error:
        why = processes.reason(traceback.format_exc()) or type(error).__name__
        problem = f"It raised {why}."
    _interrupt_after(0)
    models = _outermost()
    if not models:
        problem += " It built no Keras model."
    status = 0 if models else 2
    for model in models:
        from course_utils.precision import rules  # late: the script chooses the backend

        if len(models) > 1:
            print(f"{model.name} ({type(model).__name__})")
        status |= show(rules.examine(model, ignore=ignore))
    print(f"{processes.RESULT}{json.dumps([problem, status])}", flush=True)
    os._exit(0)  # with whatever threads the script has left


def _interrupt_after(seconds):
    """Interrupt the main thread, as Ctrl-C does; 0 takes that back."""
    if hasattr(signal, "setitimer"):  # on Windows the one who waits ends the process
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)


def _outermost():
    """The Keras models in this process whose layers are not all in another one."""
    kind, sequential = (
        getattr(sys.modules.get("keras"), name, ()) for name in ("Model", "Sequential")
    )
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
