"""Where the digits come from, and what happens to files and servers that are not sound."""

import hashlib
import inspect
import io

import numpy as np
import pytest
from helpers.unreliable import Server, serving
from keras.datasets import mnist

from course_utils import datasets, paths


def npz(**changes):
    rng = np.random.default_rng(0)
    arrays = {
        "x_train": rng.integers(0, 256, (20, 28, 28), dtype=np.uint8),
        "y_train": np.arange(20, dtype=np.uint8) % 10,
        "x_test": rng.integers(0, 256, (10, 28, 28), dtype=np.uint8),
        "y_test": np.arange(10, dtype=np.uint8),
    }
    arrays.update(changes)
    buffer = io.BytesIO()
    np.savez(buffer, **{k: v for k, v in arrays.items() if v is not None})
    return buffer.getvalue()


GOOD = npz()
MINE = "the file that COURSE_MNIST names"
ORDER = {
    MINE: "my.npz",
    "the course's data folder": "data/mnist.npz",
    "Keras's cache": "keras/datasets/mnist.npz",
}


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Every source in a folder of its own, and a server address where nobody listens."""
    monkeypatch.delenv("COURSE_MNIST", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    monkeypatch.setattr(paths, "FOLDER", tmp_path)
    monkeypatch.setattr(datasets, "MNIST_URL", "http://127.0.0.1:9/mnist.npz")
    monkeypatch.setattr(datasets, "MNIST_SHA256", hashlib.sha256(GOOD).hexdigest())
    (tmp_path / "keras" / "datasets").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    return tmp_path


def put(sources, where, content, monkeypatch):
    path = sources / ORDER[where]
    path.write_bytes(content)
    if where == MINE:
        monkeypatch.setenv("COURSE_MNIST", str(path))
    return path


def test_the_first_source_that_is_there_wins(sources, monkeypatch, capsys):
    for where in reversed(ORDER):
        put(sources, where, GOOD, monkeypatch)
        digits = datasets.load_mnist()
        assert digits.name == f"MNIST from {where}"
        assert digits.name in capsys.readouterr().out


OTHER = npz(y_test=np.arange(10, dtype=np.uint8)[::-1])
BAD = [
    (GOOD[: len(GOOD) // 2], "truncated"),
    (b"hello, I am a web page", "truncated or not"),
    (npz(y_test=None), "no array named y_test"),
    (npz(x_train=np.zeros((20, 28, 28))), "x_train is float64[20, 28, 28]"),
    (npz(x_test=np.zeros((0, 28, 28), np.uint8)), "x_test is uint8[0, 28, 28]"),
    (npz(x_test=np.zeros((10, 32, 32), np.uint8)), "x_test is uint8[10, 32, 32]"),
    (npz(y_train=np.zeros(3, np.uint8)), "y_train is not one label"),
    (npz(x_test=np.zeros((), np.uint8)), "x_test is uint8[]"),
    (npz(y_test=np.arange(1, 11, dtype=np.uint8)), "y_test is not one label"),
    (npz(y_test=np.array([{}] * 10, object)), "truncated or not"),
]
CASES = [(MINE, *case) for case in BAD]
CASES += [(where, OTHER, "checksum") for where in list(ORDER)[1:]]


@pytest.mark.parametrize(
    "where, content, reason", CASES, ids=[case[-1] for case in CASES]
)
def test_a_bad_file_is_named_and_kept_and_the_next_source_is_used(
    where, content, reason, sources, monkeypatch, capsys
):
    put(sources, "Keras's cache", GOOD, monkeypatch)
    bad = put(sources, where, content, monkeypatch)
    digits = datasets.load_mnist()
    assert digits.is_fallback == (where == "Keras's cache")
    said = capsys.readouterr().out
    assert str(bad) in said and reason in said
    assert bad.read_bytes() == content


def test_without_any_file_the_fallback_is_real_digits_in_mnist_s_form(
    sources, monkeypatch, capsys
):
    monkeypatch.setenv("COURSE_MNIST", str(sources / "nowhere.npz"))
    digits = datasets.load_mnist()
    printed = capsys.readouterr().out
    assert "not MNIST" in digits.name and digits.name in printed
    assert "nowhere.npz is refused: [Errno 2] No such file" in printed
    sets = (digits.x_train, digits.y_train, 1437), (digits.x_test, digits.y_test, 360)
    for x, y, count in sets:
        assert x.shape == (count, 28, 28) and y.shape == (count,)
        assert x.dtype == np.uint8 and x.max() == 255 and x.min() == 0
        assert set(y) == set(range(10))
    assert np.array_equal(datasets.load_mnist().x_test, digits.x_test)  # the same split


@pytest.fixture
def server(sources, monkeypatch):
    with serving(monkeypatch, **{"/m.npz": GOOD}) as address:
        monkeypatch.setattr(datasets, "MNIST_URL", f"{address}/m.npz")
        yield sources / "keras" / "datasets" / "mnist.npz"


def test_a_download_is_verified_and_kept(server):
    assert "downloaded" in datasets.load_mnist().name
    assert server.read_bytes() == GOOD
    assert datasets.load_mnist().name == "MNIST from Keras's cache"
    assert list(server.parent.iterdir()) == [server]


@pytest.mark.slow
@pytest.mark.parametrize("does", "refuses truncates stalls trickles corrupts".split())
def test_a_bad_server_is_left_for_the_next_source(does, server, monkeypatch, capsys):
    monkeypatch.setattr(Server, "does", does)
    if does in ("stalls", "trickles"):
        monkeypatch.setattr(datasets, "STALL_SECONDS", 0.5)
        monkeypatch.setattr(datasets, "DOWNLOAD_SECONDS", 3)
    assert "not MNIST" in datasets.load_mnist().name
    said = capsys.readouterr().out
    why = {"stalls": "timed out", "trickles": "was stopped after 3"}
    assert "could not be downloaded" in said and why.get(does, "") in said
    assert not list(server.parent.iterdir())


def test_a_refused_cache_is_not_overwritten_by_the_download(server):
    server.write_bytes(b"mine")
    assert "downloaded" in datasets.load_mnist().name
    assert server.read_bytes() == b"mine"
    assert list(server.parent.iterdir()) == [server]


def test_keras_expects_the_same_file():
    source = inspect.getsource(mnist.load_data)
    assert datasets.MNIST_SHA256 in source
    assert datasets.MNIST_URL.rsplit("/", 1)[0] in source
