"""What people ask: each link shows something, each error text is said."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.training import dtype_policy
from tools.canonical_form import COURSE, read

ASK = (COURSE / "docs/ask.md").read_text(encoding="utf-8")


def said(*call):
    with pytest.raises(Exception) as caught:
        call[0](*call[1:])
    return str(caught.value)


def mixed(**options):
    with dtype_policy("mixed_float16"):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, **options)])
    model.compile("sgd", "mse", jit_compile=False)
    return model


def fits_no_16_bit_loss():
    mixed(activity_regularizer="l2").fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)


def test_its_links_show_something_and_its_error_texts_are_said():
    links = set(re.findall(r"notebooks/(solved/\w+\.ipynb)#cell-id=([\w-]+)", ASK))
    texts = []
    for name, id in links:
        cells = {cell.id: cell for cell in read(COURSE / "notebooks" / name).cells}
        assert cells[id].get("outputs"), (name, id)
        texts += [output.get("text", "") for output in cells[id].outputs]
    wrapper, sgd = keras.optimizers.LossScaleOptimizer, keras.optimizers.SGD()
    texts += [
        said(tf.function(tf.multiply), tf.ones(2, "float16"), tf.ones(2)),
        said(lambda: wrapper(sgd, clipnorm=1.0)),
        said(getattr, wrapper(sgd), "get_unscaled_gradients"),
        said(wrapper, "sgd"),
        said(fits_no_16_bit_loss),
        said(mixed().quantize, "int8"),
    ]
    answers = re.findall(r"^## (.*)\n\n(?!PyTorch)", ASK, re.M)
    spans = re.findall(r"(`+)(.+?)(?<!`)\1(?!`)", "\n".join(answers))
    quoted = [text for _, text in spans if " " in text]
    assert len(quoted) == 10
    for text in quoted:
        assert text in "\n".join(texts)


def test_the_callback_that_it_offers_logs_the_scale():
    model, scales = mixed(), []
    line = re.search(r"`(keras\.callbacks\.LambdaCallback\(.+?)`", ASK)[1]
    callback = eval(line, {"keras": keras, "model": model, "scales": scales})
    x = np.float32([[0.01] * 4, [1e38] * 4])  # the second is skipped
    model.fit(x, np.zeros((2, 2)), 1, shuffle=False, verbose=0, callbacks=[callback])
    assert scales == [2**15, 2**14]
