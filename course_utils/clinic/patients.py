"""The patients of `data/clinic`: scripts built after faults that people report, run step by
step.
"""

import difflib
import linecache
import re
import runpy
import sys
import types
from collections.abc import Callable
from functools import cache

import keras

from course_utils import paths
from course_utils.clinic.training_run import Patient, TrainingRun
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


def script(
    patient: str | int, cure: str | int | None = None, policy: str | None = None
) -> str:
    """The source of a patient; after the edits of a `cure`, its own or another's, if
    they apply.
    """
    source = (FOLDER / f"{name_of(patient)}.py").read_text(encoding="utf-8")
    if policy:
        source = re.sub(
            r'set_dtype_policy\(".*?"\)', f'set_dtype_policy("{policy}")', source
        )
    edited = source
    chart = charts()[name_of(cure)] if cure else {"edits": {}}
    for pattern, text in chart["edits"].items():
        edited = re.sub(pattern, text, edited)
    if edited == source:
        return source
    before = chart.get("before", "")
    return re.sub(r"(?m)^(?=keras\.config|x, y)", lambda _: before, edited, count=1)


def difference(patient: str | int) -> str:
    """What a patient's own cure changes in its script, line by line."""
    before = script(patient).splitlines()
    after = script(patient, cure=patient).splitlines()
    lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@"))


def patient(
    key: str | int, cure: str | int | None = None, policy: str | None = None
) -> Patient:
    """A patient by name or number, as instruments take it, of this cure and policy.

    `cure` is a patient whose cure is applied, `policy` one in place of its own. The
    policy in force stays what it is. The last seventh of the data is held out.

    Example:
        >>> patient(3).build().optimizer.name
        'loss_scale_optimizer'
    """
    source = script(key, cure, policy)
    module = types.ModuleType(f"clinic_{name_of(key)}")
    file = f"<patient {name_of(key)}>"
    module.__file__ = file
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    # so that what reads a layer's source finds it
    sys.modules[module.__name__] = module
    names = vars(module)
    with dtype_policy(keras.config.dtype_policy()):
        exec(compile(source, file, "exec"), names)
        own = keras.config.dtype_policy()
        former = names["build"]

    def build():
        keras.utils.set_random_seed(0)
        with dtype_policy(own):
            return former()

    names["build"] = build  # for what else the script defines, too
    x = names["x"]
    y = names.get("y", x)
    last = len(x) * 6 // 7
    size = min(64, len(x) // 8)
    starts = range(0, last - last % size, size)
    epoch = [(x[at : at + size], y[at : at + size]) for at in starts]
    return Patient(
        build=build,
        batches=names.get("batches", epoch * names.get("EPOCHS", 2)),
        well=charts()[name_of(key)]["well"],
        held=(x[last:], y[last:]) if y.dtype.kind in "iu" else None,
        resumed=names.get("resumed"),
        in_float32=lambda: patient(key, cure, "float32"),
    )


def run(
    key: str | int,
    cure: str | int | None = None,
    policy: str | None = None,
    steps: int | None = None,
    change: Callable[[keras.Model], object] | None = None,
) -> TrainingRun:
    """Run a patient, by name or number, as its learner did.

    `cure` is a patient whose cure is applied, `policy` another policy, `steps` the most
    steps; `change(model)` may change the network before the first.
    """
    case = patient(key, cure, policy)
    model = case.build()
    if change:
        change(model)
    return case.train(model, steps)
