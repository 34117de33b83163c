"""Handwritten digits: MNIST where it can be had, scikit-learn's digits where not.

Every file is checked before it is used; a bad one is named and left as it is.
"""

import contextlib
import hashlib
import http.client
import io
import os
import socket
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from course_utils import paths, processes

# What Keras serves, and the checksum that it expects (keras/src/datasets/mnist.py).
MNIST_URL = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
MNIST_SHA256 = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"
DOWNLOAD_SECONDS = 45
STALL_SECONDS = 5


@dataclass(frozen=True, eq=False)
class Dataset:
    """Digit images, uint8 (n, 28, 28) from 0 (paper) to 255 (ink), and labels 0 to 9,
    uint8 (n,).

    `name` says what they are and where they came from; `is_fallback` is True for
    scikit-learn's digits, which are not MNIST.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    name: str
    is_fallback: bool = False

    def __str__(self):
        return f"{self.name}: {len(self.x_train):,} training and {len(self.x_test):,} test images"


def load_mnist() -> Dataset:
    """Loads MNIST from the first source that has it, and says which one it was.

    The order: the file that COURSE_MNIST names, data/mnist.npz, Keras's cache, Keras's
    download (checksum verified), and last scikit-learn's handwritten digits, which need
    no network.

    Example: `load_mnist().x_train` is a uint8 array of shape (n, 28, 28).
    """
    data = paths.FOLDER / "data" / "mnist.npz"
    places = {"the course's data folder": data, "Keras's cache": _keras_cache()}
    sources = [
        (origin, path, MNIST_SHA256) for origin, path in places.items() if path.exists()
    ]
    if text := os.environ.get("COURSE_MNIST"):
        path = Path(text).expanduser()
        sources.insert(0, ("the file that COURSE_MNIST names", path, ""))
    for origin, path, sha256 in sources:
        try:
            dataset = _parse(path.read_bytes(), sha256, f"MNIST from {origin}")
            break
        except (OSError, ValueError) as error:
            print(
                f"{path} is refused: {error}; it is left as it is, trying the next source."
            )
    else:
        dataset = _download() or _sklearn_digits()
    print(dataset)
    return dataset


def _keras_cache():
    home = os.environ.get("KERAS_HOME") or Path.home() / ".keras"
    return Path(home) / "datasets" / "mnist.npz"


def _parse(content, sha256, name):
    """A Dataset from the bytes of an .npz file; ValueError with the reason if it is not
    one.
    """
    if sha256 and hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError("its checksum is not that of Keras's mnist.npz")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {
                key: archive[key] for key in ("x_train", "y_train", "x_test", "y_test")
            }
    except KeyError as error:
        raise ValueError(f"it has no array named {error.args[0].split()[0]}") from None
    except (
        Exception
    ):  # zlib, zipfile, tokenize and NumPy each have their own for a damaged file
        raise ValueError("it is truncated or not an .npz file") from None
    for part in ("train", "test"):
        x = arrays[f"x_{part}"]
        y = arrays[f"y_{part}"]
        if x.dtype != np.uint8 or x.shape[1:] != (28, 28) or not len(x):
            raise ValueError(
                f"x_{part} is {x.dtype}{list(x.shape)} instead of uint8[n, 28, 28]"
            )
        if y.shape != (len(x),) or not np.isin(y, np.arange(10)).all():
            raise ValueError(
                f"y_{part} is not one label from 0 to 9 for each of {len(x)} images"
            )
    return Dataset(**arrays, name=name)


def _download():
    """MNIST from Keras's server, kept in Keras's cache if that place is free; None if
    it fails.
    """
    print("Downloading MNIST (11 MB) from Keras's server …")
    cache = _keras_cache()
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder, "mnist.npz")
        # In a process of its own, for name look-ups, connects and trickles have no
        # common limit.
        how = {"url": MNIST_URL, "path": str(part), "stall_seconds": STALL_SECONDS}
        outcome = processes.call(fetch, how, timeout=DOWNLOAD_SECONDS)
        try:
            if problem := outcome.problem or outcome.result:
                raise OSError(problem)
            content = part.read_bytes()
            dataset = _parse(
                content, MNIST_SHA256, "MNIST downloaded from Keras's server"
            )
        except (OSError, ValueError) as error:
            reason = str(error).rstrip(".")
            print(
                f"MNIST could not be downloaded ({reason}); using digits that need no network."
            )
            return None
    # A read-only home folder costs another download next time.
    with contextlib.suppress(OSError):
        cache.parent.mkdir(parents=True, exist_ok=True)
        if not cache.exists():  # A refused file may lie there: it stays.
            part = cache.with_name(f"mnist.{os.getpid()}.part")
            part.write_bytes(content)
            part.rename(cache)
    return dataset


def fetch(url: str, path: str, stall_seconds: float) -> str:
    """Download a file, in a process of its own; "", or why it could not be had."""
    socket.setdefaulttimeout(stall_seconds)
    try:
        urllib.request.urlretrieve(url, path)
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", None) or error or type(error).__name__)
    return ""


def _sklearn_digits():
    """scikit-learn's 1,797 digits, enlarged from 8×8 to 28×28 and split into train and
    test.
    """
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    large = zoom(digits.images * (255 / 16), (1, 3.5, 3.5), order=1)
    images = np.clip(np.rint(large), 0, 255).astype(np.uint8)
    labels = digits.target.astype(np.uint8)
    x_train, x_test, y_train, y_test = train_test_split(
        images, labels, test_size=360, stratify=labels, random_state=0
    )
    name = "scikit-learn's handwritten digits, enlarged to 28×28 (not MNIST)"
    return Dataset(x_train, y_train, x_test, y_test, name, is_fallback=True)
