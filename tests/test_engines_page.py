"""docs/engines.md says what data/engine_sums.json holds, and the libraries here still do
it.
"""

import importlib.metadata
import json

import numpy as np
import pytest

from course_utils import hardware
from tools import engine_sums as sums
from tools import engines, engines_page, reference
from tools.canonical_form import COURSE
from tools.engines import COUNTS, SHAPES, THOUSANDS

RECORD = json.loads((COURSE / "data/engine_sums.json").read_text(encoding="utf-8"))
LIBRARIES = RECORD["libraries"]
STOPS = {"float16": 2048, "bfloat16": 256}
RIGHT = "PyTorch", "ONNX Runtime", "OpenVINO", "JAX", "TensorFlow, XLA"
BY_INDEX = sums.NUMBERS, sums.INDEXED, sums.SCATTERED, sums.GROUPS
LOOK_UPS = sums.TABLE, sums.BY_INDEX, sums.TAKEN, sums.GATHERED
# There oneDNN has routines for float16, and adds up in float32 (docs/sums.md).
WITH_FLOAT16_INSTRUCTIONS = {
    (sums.EINSUM, "float16"): [5000.0],
    (sums.DEPTHWISE, "float16"): [5000.0],
}
BEFORE_PANDAS_3 = {
    (sums.COLUMNS, "float16"): [2048.0],
    (sums.MEANS, "float16"): [float(np.float16(2048 / 5000))],
}
# what a library adds up in 32 bits by index
WIDE = {
    ("PyTorch", sums.INDEXED),
    ("PyTorch", sums.SCATTERED),
    ("PyTorch", sums.TAKEN),
    ("PyTorch", sums.GATHERED),
}


def total(library, name, dtype, shape=0):
    """What came out, as one number or text; None without such a sum."""
    answer = LIBRARIES[library]["sums"].get(name, {}).get(dtype)
    if answer is None:
        return None
    (found,) = answer["numbers"][shape]
    return found


def exact(library, name, dtype):
    return total(library, name, dtype) == engines_page.exact(name, COUNTS[dtype])


def kept(library, name, dtype):
    return LIBRARIES[library]["sums"][name][dtype]["kept in"]


def test_the_page_is_made_of_the_record():
    page = (COURSE / "docs/engines.md").read_text(encoding="utf-8")
    assert reference.engines() == page
    assert list(LIBRARIES) == list(engines.LIBRARIES) and len(LIBRARIES) == 10
    asked = {name for library in LIBRARIES.values() for name in library["sums"]}
    assert asked == set(engines_page.ROWS)
    for name, library in LIBRARIES.items():
        assert library["switches"] == engines.LIBRARIES[name][2]
        for row in library["sums"].values():
            for dtype, answer in row.items():
                assert len(answer["numbers"]) in (1, len(SHAPES[dtype]))


def test_sums_and_means():
    for name in ("NumPy, ml_dtypes", "pandas"):
        for operation in (sums.SUM, sums.COLUMNS, sums.CUMSUM):
            assert total(name, operation, "bfloat16") == 256
        for operation in (sums.MEAN, sums.MEANS):
            assert round(total(name, operation, "bfloat16"), 3) == 0.256
            assert total(name, operation, "float16") == 1
        assert total(name, sums.SUM, "float16") == 5000
        assert total(name, sums.CUMSUM, "float16") == 2048
        assert total(name, THOUSANDS, "bfloat16") > 1010
    assert total("NumPy, ml_dtypes", sums.COLUMNS, "float16") == 2048
    assert total("pandas", sums.COLUMNS, "float16") == 5000
    assert total("pandas", sums.GROUPS, "float16") == 5000
    assert total("pandas", sums.GROUPS, "bfloat16") == 256
    for name in RIGHT:
        for dtype in COUNTS:
            for operation in (sums.SUM, sums.COLUMNS, sums.MEAN, sums.MEANS):
                found = total(name, operation, dtype)
                assert found is None or exact(name, operation, dtype)
                assert found is None or kept(name, operation, dtype) == "float32"


def test_tensorflow_is_the_other_way_round():
    for operation in (sums.SUM, sums.COLUMNS, sums.MEAN, sums.MEANS):
        assert kept("TensorFlow", operation, "bfloat16") == "float32"
        assert kept("TensorFlow", operation, "float16").startswith("16 bits")
    assert total("TensorFlow", sums.COLUMNS, "float16") == 2048
    assert total("TensorFlow", sums.SUM, "float16") == 5000
    assert total("TensorFlow", THOUSANDS, "float16") == "inf"


def test_a_mean_that_is_added_up_in_float32_may_overflow():
    assert total("MLX", THOUSANDS, "float16") == "inf"
    assert kept("MLX", sums.SUM, "float16") == "float32"
    for name in ("NumPy, ml_dtypes", "pandas", *RIGHT):
        assert total(name, THOUSANDS, "float16") == 1000


def test_products():
    for name in LIBRARIES:
        for operation in (sums.DOT, sums.MATMUL):
            for dtype in COUNTS:
                found = total(name, operation, dtype)
                rounded = (name, dtype) == ("OpenVINO", "float16")
                right = 4992 if rounded else COUNTS[dtype]
                assert found in (None, right)
    assert np.float32(5000).astype(np.dtype("bfloat16")) == 4992
    assert total("NumPy, ml_dtypes", sums.EINSUM, "float16") == 5000
    assert total("NumPy, ml_dtypes", sums.PRODUCT, "float16") == 2048
    assert total("TensorFlow", sums.EINSUM, "float16") == 2048
    assert kept("TensorFlow", sums.PRODUCT, "float16") == engines_page.PARTS
    for dtype in COUNTS:
        assert kept("JAX", sums.POOL, dtype).startswith("16 bits")
    assert total("TensorFlow", sums.POOL, "float16") == 16 == 32768 / 2048
    assert total("MLX", sums.POOL, "float16", shape=1) == "inf"


def test_by_index_nearly_all_stop():
    for name in LIBRARIES:
        for operation in (*BY_INDEX, *LOOK_UPS):
            for dtype, stop in STOPS.items():
                found = total(name, operation, dtype)
                wide = (name, operation) in WIDE
                wide |= name == "OpenVINO" and dtype == "float16"
                wide |= name == "pandas" and dtype == "float16"
                assert found in (None, COUNTS[dtype] if wide else stop)
    assert total("PyTorch", sums.NUMBERS, "float16") == 2048


def test_gradients():
    assert total("TensorFlow", sums.BIAS, "bfloat16") == 256
    assert total("TensorFlow", sums.BIAS, "float16") == 5000
    assert total("TensorFlow", sums.PLUS, "bfloat16") == 1000
    assert total("TensorFlow", sums.PLUS, "float16") == 2048
    for name in set(LIBRARIES) - {"TensorFlow"}:
        for operation in (sums.BIAS, sums.PLUS, sums.KERNEL):
            for dtype, count in COUNTS.items():
                assert total(name, operation, dtype) in (None, count)
    for name in LIBRARIES:
        for dtype, stop in STOPS.items():
            assert total(name, sums.LOOP, dtype) in (None, stop)
    assert total("PyTorch", sums.NORM, "float16") == 2 * 2048
    assert total("PyTorch", sums.NORM, "bfloat16") == 2 * 256


def test_what_the_page_says_of_shapes_and_switches_is_computed():
    told = engines_page.told(RECORD)
    shapes = {(row[0], row[1], row[2]) for row in told["shapes"]}
    assert ("NumPy, ml_dtypes", "sum, axis 0", "float16") in shapes
    assert ("TensorFlow", "sum, axis 0", "float16") in shapes
    assert {row[0] for row in told["switched"]} == {"TensorFlow", "OpenVINO"}
    assert {row[3] for row in told["switched"] if row[0] == "TensorFlow"} == {
        "bfloat16"
    }
    assert told["without"] == ["ONNX Runtime", "MLX"]


def live(library, without=()):
    """(Name, dtype, what it gives now, what it gave) of each sum that no switch changes."""
    run, _ = engines.LIBRARIES[library][0]()
    about = LIBRARIES[library]
    for name in set(run) - set(without):
        for dtype, answer in about["sums"][name].items():
            if about["switched"][name][dtype]["numbers"] == answer["numbers"]:
                count, width = SHAPES[dtype][0]
                given = engines.terms(name, dtype, count)
                found = engines.numbers(run[name], given, width)
                yield name, dtype, found, answer["numbers"][0]


@pytest.mark.parametrize("library", ["NumPy, ml_dtypes", "pandas", "TensorFlow"])
def test_the_libraries_here_still_do_so(library):
    old = library == "pandas" and importlib.metadata.version("pandas") < "3"
    has_float16 = {"avx512_fp16", "amx_fp16"} & set(
        hardware.detect().instruction_sets or ()
    )
    # which has no groups of bfloat16
    for name, dtype, now, then in live(library, {sums.GROUPS} if old else ()):
        if old:
            then = BEFORE_PANDAS_3.get((name, dtype), then)
        if library == "TensorFlow" and has_float16:
            then = WITH_FLOAT16_INSTRUCTIONS.get((name, dtype), then)
        assert now == then, (name, dtype)


@pytest.mark.parametrize("width", [7, 8, 10, 12, 100])
def test_what_is_left_behind_the_last_eight_columns_stops(width):
    import tensorflow as tf

    ones = tf.ones((5000, width), "float16")
    with tf.GradientTape() as tape:
        bias = tf.zeros(width, "float16")
        tape.watch(bias)
        result = ones + bias
    in_groups = width // 8 * 8
    right = [5000] * in_groups + [2048] * (width - in_groups)
    assert tf.reduce_sum(ones, 0).numpy().tolist() == right
    assert tape.gradient(result, bias, ones).numpy().tolist() == right
    more = tf.reduce_sum(tf.ones((40_000, 8), "float16"), 0)
    assert set(more.numpy()) == {8192}


@pytest.mark.slow
def test_xla_still_does_so():
    for name, dtype, now, then in live("TensorFlow, XLA"):
        assert now == then, (name, dtype)


def test_the_cure():
    import tensorflow as tf

    for dtype, count in COUNTS.items():
        ones = np.ones((count, 4), dtype)
        assert (ones.astype("float32").sum(0) == count).all()
        assert (tf.reduce_sum(tf.cast(ones, "float32"), 0).numpy() == count).all()


def test_an_embedding_of_a_mixed_policy_has_the_exact_gradient():
    import keras
    import tensorflow as tf

    for dtype, count in COUNTS.items():
        layer = keras.layers.Embedding(2, 4, dtype=f"mixed_{dtype}")
        with tf.GradientTape() as tape:
            rows = layer(tf.zeros(count, "int32"))
            loss = tf.reduce_sum(tf.cast(rows, "float32"))
        gradient = tape.gradient(loss, layer.embeddings)
        assert rows.dtype == dtype
        assert tf.convert_to_tensor(gradient).numpy()[0].tolist() == [count] * 4
