"""Where the course's own files lie, and where those of its learners go."""

import json
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent
# A checkout keeps the recorded data beside the package, a wheel inside.
IS_CHECKOUT = not (PACKAGE / "data").is_dir()
_HERE = Path.cwd()
# The learner's: the course's folder around the one where Python started, since a class
# may share an installed package, and has a copy of the folder each; elsewhere the
# package's own, and of an installed wheel, which has none, where Python started.
FOLDER = next(
    (at for at in (_HERE, *_HERE.parents) if (at / "course_utils/paths.py").is_file()),
    PACKAGE.parent if IS_CHECKOUT else _HERE,
)


def data(name: str) -> Path:
    """The path of a file or a folder of the course's own data.

    Example:
        >>> data("claims.json").exists()
        True
    """
    return (PACKAGE.parent if IS_CHECKOUT else PACKAGE) / "data" / name


def read(path: Path) -> Any:
    """What a file of JSON holds.

    Example:
        >>> sorted(read(data("claims.json"))[0])
        ['cell', 'claim', 'id', 'note', 'notebook', 'verdict']
    """
    return json.loads(path.read_text(encoding="utf-8"))
