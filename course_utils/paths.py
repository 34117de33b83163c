"""Where the course's own files lie."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def data(name: str) -> Path:
    """The path of a file or a folder of `data/`.

    Example:
        >>> data("claims.json").exists()
        True
    """
    return ROOT / "data" / name
