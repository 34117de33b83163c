"""Files of LiteRT: what is no model, what cannot calibrate, and what is not installed."""

import os

import numpy as np
import pytest
import tensorflow as tf

from course_utils.benchmark import lite


def test_without_litert_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.delattr(tf.lite, "Interpreter")
    assert "install tensorflow 2.20" in lite.missing()
    monkeypatch.delattr(tf, "lite")
    assert "install tensorflow 2.20" in lite.missing()


@pytest.mark.parametrize("content", [b"", b"no model", b"TFL3" * 100])
def test_a_file_that_is_no_model_is_told_in_one_sentence(content):
    with pytest.raises(ValueError, match="LiteRT cannot run these .* bytes") as error:
        lite.Lite(content)
    assert str(error.value).count(". ") == 0


@pytest.mark.parametrize(
    ("shape", "fill", "dtype"),
    [
        ((5, 28, 28, 1), 0, "uint8"),
        ((5, 28, 28), 0, "float32"),
        ((0, 28, 28, 1), 0, "float32"),
        ((), 0, "float32"),
        ((5, 28, 28, 1), np.nan, "float32"),
    ],
)
def test_images_that_cannot_calibrate_are_told_in_one_sentence(shape, fill, dtype):
    images = np.full(shape, fill, dtype)
    asked = r"finite float32 images of shape \(28, 28, 1\)"
    with pytest.raises(ValueError, match=f"are {dtype} of shape .* with {asked}"):
        lite.calibration(images, (28, 28, 1))


def test_what_is_run_quietly_prints_nothing_and_may_raise(capfd):
    lite.quietly(lambda: (print("out"), os.write(1, b"raw"), os.write(2, b"native")))
    with pytest.raises(ZeroDivisionError):
        lite.quietly(lambda: 1 / 0)
    print("heard")
    assert capfd.readouterr().out == "heard\n"
