"""The patients: scripts that fail as people report it, run step by step, cured or not."""

import difflib
import linecache
import re
import runpy
import sys
import time
import types
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import keras
import numpy as np

from course_utils.training import dtype_policy

FOLDER = Path(__file__).resolve().parents[2] / "data" / "clinic"


def charts() -> dict:
    """{patient: its chart}, as `data/clinic/charts.py` has it."""
    return _read()["CHARTS"]


def families() -> dict:
    """{family: its name}: what a loss curve can look like."""
    return _read()["FAMILIES"]


@cache
def _read():
    return runpy.run_path(str(FOLDER / "charts.py"))


def name_of(patient):
    """The name of a patient that is given by name or by number, from 1 on; ValueError for none."""
    names = list(charts())
    if patient in names:
        return patient
    if isinstance(patient, int) and 0 < patient <= len(names):
        return names[patient - 1]
    raise ValueError(f"There is no patient {patient!r}: give a number from 1 to {len(names)}.")


def script(patient, cure=None):
    """The source of a patient; with `cure`, another patient's or its own, after its edits."""
    patient = name_of(patient)
    source = (FOLDER / f"{patient}.py").read_text(encoding="utf-8")
    if cure is None:
        return source
    treated, chart = source, charts()[name_of(cure)]
    for pattern, text in chart["edits"].items():
        treated = re.sub(pattern, text, treated)
    head, line, rest = treated.partition("keras.config.")
    return source if treated == source else head + chart.get("before", "") + line + rest


def difference(patient):
    """What a patient's cure changes, line by line."""
    sick, cured = script(patient).splitlines(), script(patient, patient).splitlines()
    changed = difflib.unified_diff(sick, cured, lineterm="", n=0)
    return "\n".join(line for line in changed if not line.startswith(("---", "+++", "@@")))


@dataclass
class Visit:
    """What a run of a patient showed.

    Attributes:
        model: as it is afterwards.
        losses, scales, ms, waits: of each step; the scale is NaN where there is none, `waits` are
            the part of the milliseconds that the step's batch took to come.
        report: what `evaluate` says of pictures that were held out.
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
        return bool(charts()[self.patient]["well"](self))

    def __repr__(self):
        count, held = len(self.losses), self.report
        shown = [self.losses[at * (count - 1) // 5] for at in range(6)]
        lines = [f"loss in {count} steps: {'  '.join(f'{loss:.3g}' for loss in shown)}"]
        if held:
            lines.append(f"held out: {held['accuracy']:.0%} right, loss {held['loss']:.3g}")
        return "\n".join(lines)


def admit(patient, cure=None, policy=None):
    """The names that a patient's script defines; `policy` in place of its own."""
    patient, source = name_of(patient), script(patient, cure)
    if policy:
        source = re.sub(r'set_dtype_policy\(".*?"\)', f'set_dtype_policy("{policy}")', source)
    module = types.ModuleType(f"clinic_{patient}")
    module.__file__ = name = f"<patient {patient}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    sys.modules[module.__name__] = module  # so that what reads a layer's source finds it
    exec(compile(source, name, "exec"), module.__dict__)
    return module.__dict__


def run(patient, cure=None, policy=None, steps=None, change=None) -> Visit:
    """Run a patient as its learner did: the loop of `fit`, step by step.

    `cure` is a patient whose cure is applied, `policy` another policy, `steps` the most steps;
    `change(model)` may change the network before the first.
    """
    with dtype_policy(keras.config.dtype_policy()):
        names = admit(patient, cure, policy)
        model = build(names, change)
        batches = list_of(names) if "batches" not in names else names["batches"]()
        losses, scales, ms, waits, count = [], [], [], [], len(batches)
        start = time.perf_counter()
        for at, batch in enumerate(batches):
            if at == steps:
                break
            if at == count * 3 // 4 and "resumed" in names:
                model = names["resumed"](model)
            waits.append(1e3 * (time.perf_counter() - start))
            model.reset_metrics()
            scales.append(scale(model.optimizer))
            losses.append(float(np.ravel(model.train_on_batch(*batch))[0]))
            ms.append(1e3 * (time.perf_counter() - start))
            start = time.perf_counter()
        report = {}
        if model.loss:
            x, y, held = names["x"], names["y"], slice(len(names["x"]) * 6 // 7, None)
            model.reset_metrics()
            report = model.evaluate(x[held], y[held], verbose=0, return_dict=True)
            right = np.argmax(model.predict(x[held], verbose=0), axis=-1) == y[held]
            report["accuracy"] = float(np.mean(right))
    return Visit(name_of(patient), names, model, losses, scales, ms, waits, report)


def build(names, change=None):
    """The network of a script, from the same random numbers each time."""
    keras.utils.set_random_seed(0)
    model = names["build"]()
    if change:
        change(model)
    return model


def list_of(names):
    """The batches of all epochs, `[(x, y)]`; the last seventh of the data is held out."""
    x, y = names["x"], names.get("y", names["x"])
    size, last = min(64, len(x) // 8), len(x) * 6 // 7
    starts = range(0, last - last % size, size)
    return [(x[at : at + size], y[at : at + size]) for at in starts] * names.get("EPOCHS", 2)


def scale(optimizer):
    """The dynamic scale, NaN where there is none."""
    if not optimizer.built:
        return getattr(optimizer, "initial_scale", np.nan)
    return float(getattr(optimizer, "dynamic_scale", np.nan))
