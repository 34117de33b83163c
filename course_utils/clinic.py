"""The patients of `data/clinic`: scripts that fail as people report it, run step by
step.
"""

import difflib
import linecache
import re
import runpy
import sys
import time
import types
from dataclasses import dataclass
from functools import cache

import keras
import numpy as np

from course_utils import paths
from course_utils.training import dtype_policy

FOLDER = paths.data("clinic")


@cache
def charts() -> dict:
    """{patient: title, symptom, family, diagnosis and cure}, as `data/clinic/charts.py`
    has it.
    """
    return runpy.run_path(str(FOLDER / "charts.py"))["CHARTS"]


def name_of(patient: str | int) -> str:
    """The name of a patient, given by name or by number from 1 on; ValueError for any
    other.

    >>> name_of(2)
    'ids'
    """
    names = list(charts())
    if patient in names:
        return str(patient)
    if isinstance(patient, int) and 0 < patient <= len(names):
        return names[patient - 1]
    raise ValueError(
        f"There is no patient {patient!r}: give a number from 1 to {len(names)}."
    )


def script(patient, cure=None, policy=None) -> str:
    """The source of a patient; after the edits of a `cure`, its own or another's, if
    they apply.
    """
    source = (FOLDER / f"{name_of(patient)}.py").read_text(encoding="utf-8")
    if policy:
        source = re.sub(
            r'set_dtype_policy\(".*?"\)', f'set_dtype_policy("{policy}")', source
        )
    treated = source
    chart = charts()[name_of(cure)] if cure else {"edits": {}}
    for pattern, text in chart["edits"].items():
        treated = re.sub(pattern, text, treated)
    head, line, rest = treated.partition("keras.config.")
    return source if treated == source else head + chart.get("before", "") + line + rest


def difference(patient) -> str:
    """What a patient's own cure changes in its script, line by line."""
    sick, cured = (script(patient, cure).splitlines() for cure in (None, patient))
    lines = list(difflib.unified_diff(sick, cured, lineterm="", n=0))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@"))


def admit(patient, cure=None, policy=None) -> dict:
    """What a script defines, `x`, `y` and `build` among it, which makes the compiled
    network.

    `policy` is one in place of its own. The policy in force stays what it is.
    """
    source = script(patient, cure, policy)
    module = types.ModuleType(f"clinic_{name_of(patient)}")
    module.__file__ = file = f"<patient {name_of(patient)}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    # so that what reads a layer's source finds it
    sys.modules[module.__name__] = module
    with dtype_policy(keras.config.dtype_policy()):
        exec(compile(source, file, "exec"), module.__dict__)
        own = keras.config.dtype_policy()
        former = vars(module)["build"]

    def build():
        keras.utils.set_random_seed(0)
        with dtype_policy(own):
            return former()

    vars(module)["build"] = build  # for what else the script defines, too
    return vars(module)


def batches(names) -> list:
    """The batches of all epochs, `[(x, y)]`; the last seventh of the data is held out."""
    if "batches" in names:
        return names["batches"]()
    x = names["x"]
    y = names.get("y", names["x"])
    size = min(64, len(x) // 8)
    last = len(x) * 6 // 7
    starts = range(0, last - last % size, size)
    return [(x[at : at + size], y[at : at + size]) for at in starts] * names.get(
        "EPOCHS", 2
    )


@dataclass(repr=False)
class Visit:
    """What a run of a patient showed.

    Attributes:
        names: what its script defines.
        model: as it is afterwards.
        losses, scales, ms, waits: of each step; the scale is NaN where there is none, `waits` are
            the part of the milliseconds in which the batch came.
        report: accuracy and loss on what was held out, {} where the script compiles no loss.
    """

    patient: str
    names: dict
    model: object
    losses: list
    scales: list
    ms: list
    waits: list
    report: dict

    @property
    def well(self):
        """Whether it does what its learner wants of it."""
        return bool(charts()[self.patient]["well"](self))

    def __repr__(self):
        few = [self.losses[at * (len(self.losses) - 1) // 5] for at in range(6)]
        shown = f"loss in {len(self.losses)} steps: {'  '.join(f'{loss:.3g}' for loss in few)}"
        if self.report:
            shown += "\nheld out: {accuracy:.0%} right, loss {loss:.3g}".format(
                **self.report
            )
        return shown


def run(patient, cure=None, policy=None, steps=None, change=None, step=None) -> Visit:
    """Run a patient as its learner did.

    `cure` is a patient whose cure is applied, `policy` another policy, `steps` the most
    steps; `change(model)` may change the network before the first, and `step(model, x,
    y)` takes them.
    """
    names = admit(patient, cure, policy)
    model = names["build"]()
    given = batches(names)
    if change:
        change(model)
    losses = []
    scales = []
    ms = []
    waits = []
    start = time.perf_counter()
    for at, batch in enumerate(given):
        if at == steps:
            break
        if "resumed" in names and at == len(given) * 3 // 4:
            model = names["resumed"](model)
        waits.append(1e3 * (time.perf_counter() - start))
        scales.append(scale(model.optimizer))
        model.reset_metrics()  # Keras 3.13 returns the mean of all losses since
        result = (step or type(model).train_on_batch)(model, *batch)
        # A step that is not written yet returns nothing.
        losses.append(float(np.ravel(np.nan if result is None else result)[0]))
        ms.append(1e3 * (time.perf_counter() - start))
        start = time.perf_counter()
    report = {}
    if model.loss and steps is None:
        held = slice(len(names["x"]) * 6 // 7, None)
        x = names["x"][held]
        y = names["y"][held]
        model.reset_metrics()
        right = np.argmax(model.predict(x, verbose=0), axis=-1) == y
        report = {"accuracy": np.mean(right), "loss": model.evaluate(x, y, verbose=0)}
    return Visit(name_of(patient), names, model, losses, scales, ms, waits, report)


def scale(optimizer) -> float:
    """The dynamic scale, NaN where there is none."""
    if not optimizer.built:
        return getattr(optimizer, "initial_scale", np.nan)
    return float(getattr(optimizer, "dynamic_scale", np.nan))
