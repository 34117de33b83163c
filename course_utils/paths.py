"""Where the course's own files lie, and where those of its learners go."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
# A checkout keeps the recorded data beside the package, a wheel inside.
IS_CHECKOUT = not (PACKAGE / "data").is_dir()
# The course's folder; of an installed wheel, which has none, the folder where Python
# started.
FOLDER = PACKAGE.parent if IS_CHECKOUT else Path.cwd()


def data(name: str) -> Path:
    """The path of a file or a folder of the course's own data.

    Example:
        >>> data("claims.json").exists()
        True
    """
    return (PACKAGE.parent if IS_CHECKOUT else PACKAGE) / "data" / name
