"""From a symptom of mixed precision to its cause: patients, instruments, elimination.

`clinic.run` runs a patient of `data/clinic`, `clinic.train` a model of yours. Eleven
instruments each read a `Reading`; `clinic.read(key, patient)` takes one of
`clinic.INSTRUMENTS` by its key, on a patient of the course or on a `clinic.Patient` of
your own, whose docstring has an example with all of them. `clinic.struck` and the other
functions of elimination tell which causes readings leave. Importing this package loads
no framework: each name below loads what it needs.
"""

import importlib

_HOME = {
    **dict.fromkeys(("Patient", "Visit", "train"), "visits"),
    **dict.fromkeys(("admit", "batches", "charts", "difference"), "patients"),
    **dict.fromkeys(("name_of", "patient", "run", "script"), "patients"),
    **dict.fromkeys(("INSTRUMENTS", "Reading", "read"), "instruments"),
    **dict.fromkeys(("examine", "files", "flow", "histogram"), "instruments"),
    **dict.fromkeys(("layer", "numerics", "probe", "profiler"), "instruments"),
    **dict.fromkeys(("ranges", "scale", "twin"), "instruments"),
    **dict.fromkeys(("fewest", "minutes", "struck", "tree"), "elimination"),
}
__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
