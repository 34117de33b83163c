"""The dtypes inside a Keras model: which flow where, and what goes wrong, or slowly, in
16 bits.

This is the linter, `mixed_precision_lint`, which people use without the course, with two
things added: `examine` knows this machine, and `dtype_flow` gives a DataFrame. Importing
this package loads no framework: each name below loads what it needs.
"""

import importlib

from course_utils import late_names

LINTER = ("Finding", "Watched", "findings", "probe")
__own_dir__, _own = late_names(
    __name__, {"tables": "dtype_flow", "here": "examine slow_here"}
)


def __dir__():
    return [*LINTER, *__own_dir__()]


def __getattr__(name):
    if name in LINTER:
        return getattr(importlib.import_module("mixed_precision_lint"), name)
    return _own(name)
