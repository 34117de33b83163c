"""The patients of `data/clinic`: scripts built after faults that people report, run step by
step.
"""

import difflib
import linecache
import re
import runpy
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import keras

from course_utils import paths
from course_utils.clinic.visits import Patient, Visit, train
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
    if treated == source:
        return source
    before = chart.get("before", "")
    return re.sub(r"(?m)^(?=keras\.config|x, y)", lambda _: before, treated, count=1)


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


@dataclass
class _Afresh:
    """What a script's own generator of batches gives, each time from its beginning."""

    make: Callable

    def __iter__(self):
        return self.make()


def batches(names) -> Iterable:
    """The batches of all epochs, (x, y) after (x, y), of what a script defines.

    They are a list, unless the script makes batches itself. The last seventh of the
    data is held out.
    """
    if "batches" in names:
        return _Afresh(names["batches"])
    x = names["x"]
    y = names.get("y", names["x"])
    size = min(64, len(x) // 8)
    last = len(x) * 6 // 7
    starts = range(0, last - last % size, size)
    epoch = [(x[at : at + size], y[at : at + size]) for at in starts]
    return epoch * names.get("EPOCHS", 2)


def patient(key, cure=None, policy=None) -> Patient:
    """A patient by name or number, as instruments take it, of this cure and policy.

    Example:
        >>> patient(3).build().optimizer.name
        'loss_scale_optimizer'
    """
    names = admit(key, cure, policy)
    x = names["x"]
    y = names.get("y", x)
    held = slice(len(x) * 6 // 7, None)
    return Patient(
        build=names["build"],
        batches=batches(names),
        well=charts()[name_of(key)]["well"],
        held=(x[held], y[held]),
        resumed=names.get("resumed"),
        in_float32=lambda: patient(key, cure, "float32"),
    )


def run(key, cure=None, policy=None, steps=None, change=None, step=None) -> Visit:
    """Run a patient, by name or number, as its learner did.

    `cure` is a patient whose cure is applied, `policy` another policy, `steps` the most
    steps; `change(model)` may change the network before the first, and `step(model, x,
    y)` takes them.
    """
    case = patient(key, cure, policy)
    model = case.build()
    if change:
        change(model)
    return train(model, case.batches, **case.options(), steps=steps, step=step)
