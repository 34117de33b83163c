"""Handwritten digits: MNIST where it can be had, scikit-learn's digits where not.

Every file is checked before it is used. A bad one is named and left as it is,
and the next source is tried.
"""

import hashlib
import http.client
import io
import os
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

# The file that Keras serves and the checksum that Keras itself expects
# (keras/src/datasets/mnist.py).
MNIST_URL = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
MNIST_SHA256 = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"
DOWNLOAD_SECONDS = 45
STALL_SECONDS = 5

COURSE_DATA = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Digit images and their labels.

    Attributes:
        x_train, x_test: uint8 arrays of shape (n, 28, 28), 0 (paper) to 255 (ink).
        y_train, y_test: uint8 arrays of shape (n,), labels 0 to 9.
        name: what the images are and where they came from.
        is_fallback: True for scikit-learn's digits, which are not MNIST.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    name: str
    is_fallback: bool

    def __str__(self):
        return f"{self.name}: {len(self.x_train):,} training and {len(self.x_test):,} test images"


def load_mnist() -> Dataset:
    """Loads MNIST from the first source that has it, and says which one it was.

    The order: the file named by the environment variable COURSE_MNIST,
    data/mnist.npz, Keras's cache, Keras's download (checksum verified), and last
    scikit-learn's handwritten digits, which need no network.

    Example:
        >>> digits = load_mnist()  # doctest: +ELLIPSIS
        ...
        >>> digits.x_train.shape[1:]
        (28, 28)
    """
    sources = [
        ("COURSE_MNIST", os.environ.get("COURSE_MNIST"), None),
        ("the course's data folder", COURSE_DATA / "mnist.npz", MNIST_SHA256),
        ("Keras's cache", _keras_cache(), MNIST_SHA256),
    ]
    for origin, path, sha256 in sources:
        if not path:
            continue
        path = Path(path).expanduser()
        if not path.exists():
            if origin == "COURSE_MNIST":
                print(f"COURSE_MNIST names {path}, which does not exist; trying the next source.")
            continue
        try:
            dataset = _parse(path.read_bytes(), sha256, f"MNIST from {origin}")
        except (OSError, ValueError) as error:
            print(f"{path} is refused: {error}; it is left as it is, trying the next source.")
            continue
        print(dataset)
        return dataset
    dataset = _downloaded() or _sklearn_digits()
    print(dataset)
    return dataset


def _keras_cache():
    home = os.environ.get("KERAS_HOME") or Path.home() / ".keras"
    return Path(home) / "datasets" / "mnist.npz"


def _parse(content, sha256, name):
    """A Dataset from the bytes of an .npz file; ValueError with the reason if it is not one."""
    if sha256 and hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError("its checksum is not that of Keras's mnist.npz")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in ("x_train", "y_train", "x_test", "y_test")}
    except KeyError as error:
        raise ValueError(f"it has no array named {error.args[0].split()[0]}") from None
    except Exception:  # zlib, zipfile, tokenize and NumPy each have their own for a damaged file
        raise ValueError("it is truncated or not an .npz file") from None
    for part in ("train", "test"):
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        if x.dtype != np.uint8 or x.ndim != 3 or x.shape[1:] != (28, 28) or len(x) == 0:
            raise ValueError(f"x_{part} is {x.dtype}{list(x.shape)} instead of uint8[n, 28, 28]")
        if (
            y.shape != (len(x),)
            or not np.issubdtype(y.dtype, np.integer)
            or y.min() < 0
            or y.max() > 9
        ):
            raise ValueError(f"y_{part} is not one label from 0 to 9 for each of {len(x)} images")
    return Dataset(**arrays, name=name, is_fallback=False)


def _downloaded():
    """MNIST from Keras's server, kept in Keras's cache if that place is free; None if it fails."""
    try:
        content = _within(DOWNLOAD_SECONDS, _fetch, MNIST_URL)
        dataset = _parse(content, MNIST_SHA256, "MNIST downloaded from Keras's server")
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        print(f"MNIST could not be downloaded ({reason}); using digits that need no network.")
        return None
    cache = _keras_cache()
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        part = cache.with_name(f"mnist.{os.getpid()}.part")
        part.write_bytes(content)
        if cache.exists():  # A refused file lies there: it stays.
            part.unlink()
        else:
            part.rename(cache)
    except OSError:
        pass  # A read-only home folder costs another download next time, no more.
    return dataset


def _within(seconds, function, *arguments):
    """What a function returns, or TimeoutError: name look-ups and connects have no common limit."""
    outcome = {}

    def work():
        try:
            outcome["value"] = function(*arguments)
        except Exception as error:
            outcome["error"] = error

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(seconds)
    if worker.is_alive():
        raise TimeoutError(f"it took more than {seconds} s")
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def _fetch(url):
    """The bytes behind a URL, with a limit on every wait; OSError if it fails."""
    deadline = time.monotonic() + DOWNLOAD_SECONDS
    content = bytearray()
    with urllib.request.urlopen(url, timeout=STALL_SECONDS) as response:
        size = int(response.headers.get("Content-Length") or 0)
        with tqdm(total=size or None, unit="B", unit_scale=True, desc="MNIST") as bar:
            while chunk := response.read1(1 << 16):
                content += chunk
                bar.update(len(chunk))
                if time.monotonic() > deadline:  # nobody waits for this thread any more
                    raise TimeoutError(f"it took more than {DOWNLOAD_SECONDS} s")
    if len(content) < size:
        raise OSError(f"the connection ended after {len(content):,} of {size:,} bytes")
    return bytes(content)


def _sklearn_digits():
    """scikit-learn's 1,797 digits, enlarged from 8×8 to 28×28 and split into train and test."""
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
