"""What people ask: each link shows something, each error text is said."""

import io
import re

import keras
import ml_dtypes
import numpy as np
import pandas as pd
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


NO_ROOM = "OOM when allocating tensor with shape"
# How it stands in the files of Keras 2.
OF_KERAS_2 = {
    "module": "keras.mixed_precision",
    "class_name": "Policy",
    "config": {"name": "mixed_float16"},
    "registered_name": None,
}


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    file.seek(0)
    return file


def test_its_links_show_something_and_its_error_texts_are_said():
    links = set(re.findall(r"notebooks/(solved/\w+\.ipynb)#cell-id=([\w-]+)", ASK))
    texts, solved = [], {}
    for name, id in links:
        if name not in solved:
            read_cells = read(COURSE / "notebooks" / name).cells
            solved[name] = {cell.id: cell for cell in read_cells}
        cells = solved[name]
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
        said(keras.layers.Dense.from_config, {"units": 2, "dtype": OF_KERAS_2}),
        said(np.load, saved(np.ones(3, ml_dtypes.float8_e5m2))),
        said(tf.debugging.check_numerics, np.float32([1, np.nan]), "a gradient"),
        said(tf.debugging.check_numerics, np.float32([1, np.inf]), "a gradient"),
    ]
    # what other libraries say is a run by hand, with its version
    answers = re.findall(r"^## (.*)\n\n(?!PyTorch|Keras 2 )", ASK, re.M)
    spans = re.findall(r"(`+)(.+?)(?<!`)\1(?!`)", "\n".join(answers))
    quoted = [text for _, text in spans if " " in text]
    assert len(quoted) == 14
    assert [text for text in quoted if text not in "\n".join(texts)] == [NO_ROOM]


@pytest.mark.slow  # TensorFlow waits ten seconds for room
def test_an_array_without_room_says_so():
    assert NO_ROOM in said(tf.zeros, [10**8, 10**9], "float16")  # no machine has that


def test_the_callback_that_it_offers_logs_the_scale():
    model, scales = mixed(), []
    line = re.search(r"`(keras\.callbacks\.LambdaCallback\(.+?)`", ASK)[1]
    callback = eval(line, {"keras": keras, "model": model, "scales": scales})
    x = np.float32([[0.01] * 4, [1e38] * 4])  # the second is skipped
    model.fit(x, np.zeros((2, 2)), 1, shuffle=False, verbose=0, callbacks=[callback])
    assert scales == [2**15, 2**14]


def test_there_are_thirty_answers():
    headings = re.findall("^## (.*)", ASK, re.M)
    assert len(headings) == len(set(headings)) >= 32  # and two of short answers


def test_a_file_of_e5m2_is_not_lost():
    numbers = np.array([1.5, -2, 3], ml_dtypes.float8_e5m2)
    content = saved(numbers).getvalue()
    assert np.array_equal(np.frombuffer(content[-3:], ml_dtypes.float8_e5m2), numbers)
    assert np.array_equal(np.load(saved(numbers.view(np.uint8))), numbers.view("u1"))


def test_a_mean_of_ones():
    for count, mean in ((256, 1), (1000, 0.256)):
        ones = pd.Series(np.ones(count, ml_dtypes.bfloat16))
        table = pd.DataFrame({"of": ones, "by": 0})
        for found in (ones.mean(), table["of"].to_frame().mean()["of"]):
            assert float(found) == pytest.approx(mean)
        assert float(table.groupby("by")["of"].mean()[0]) == pytest.approx(mean)
        assert float(ones.to_numpy().mean()) == pytest.approx(mean, rel=0.01)
        assert ones.astype("float32").mean() == 1
    assert pd.Series(np.ones(5000, np.float16)).mean() == 1
    assert np.ones(5000, np.float16).mean() == 1
    assert float(tf.reduce_mean(tf.ones(1000, "bfloat16"))) == 1


def stepped(dtype, **limit):
    """What a rate of 1 takes off four weights whose gradients are 300."""
    weights = keras.Variable(np.zeros(4), dtype=dtype)
    optimizer = keras.optimizers.SGD(1.0, **limit)
    optimizer.apply([tf.fill([4], tf.cast(300, dtype))], [weights])
    return -np.array(weights, np.float32)


def test_clipping_in_float16():
    gradient = tf.fill([4], tf.cast(300, "float16"))
    assert not np.any(tf.clip_by_norm(gradient, 1.0))
    assert np.isnan(tf.clip_by_global_norm([gradient], 1.0)[0][0]).all()
    assert not np.any(stepped("float16", clipnorm=1.0))
    assert np.isnan(stepped("float16", global_clipnorm=1.0)).all()
    assert (stepped("float32", global_clipnorm=1.0) == 0.5).all()
    assert (stepped("float16", clipvalue=1.0) == 1).all()
    squares = tf.square(tf.constant([256, 1e-4], "float16")).numpy()
    assert squares[0] == np.inf and squares[1] == 0
