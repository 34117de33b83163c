"""A linter for mixed precision in Keras 3: which dtypes flow where in a model, and what
goes wrong, or slowly, in 16 bits.

`examine` trains and builds nothing. What can be measured is measured, by calling a
layer on symbols; where only the code of a layer of yours can tell, the rule reads it. It
is silent where nothing can be measured or there is no source; of a model that is not
built it says so. `probe` takes steps of a training loop, on TensorFlow. Importing this
package loads no framework: each name below loads what it needs.
"""

import importlib

__version__ = "0.1.0"

HOMES = {
    "Finding": "finding",
    "Reason": "inspected",
    "Watched": "watched",
    "dtype_flow": "flow",
    "examine": "rules",
    "findings": "loop_rules",
    "probe": "rules",
}


def __dir__():
    return [*HOMES, "__version__"]


def __getattr__(name):
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
