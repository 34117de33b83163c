"""The plumbing behind the notebooks of *Mixed Precision, Measured*.

Importing this package loads neither TensorFlow nor matplotlib: each module is
imported where a notebook needs it, and the lesson's idea stays in the notebook.
"""

import importlib
from collections.abc import Callable
from typing import Any

__version__ = "0.1.0"


def late_names(
    package: str, modules: dict[str, str]
) -> tuple[Callable[[], list[str]], Callable[[str], Any]]:
    """The `__dir__` and `__getattr__` of a package that imports each of its modules when
    a name of it is first asked for.

    `modules`: {module: those of its names that the package offers, with blanks between}.
    `__getattr__` raises AttributeError for any other.

    Example:
        >>> names, get = late_names("course_utils", {"paths": "FOLDER data"})
        >>> names(), get("data").__module__
        (['FOLDER', 'data'], 'course_utils.paths')
    """
    home = {name: module for module, text in modules.items() for name in text.split()}

    def get(name):
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home[name]}"), name)

    return lambda: sorted(home), get
