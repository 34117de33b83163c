"""What a step will take: lines through recorded operations, and the way to the clock."""

import numpy as np
import pandas as pd
import pytest

from course_utils import figures, models, profiling, roofline
from course_utils.profiling import calibration, recordings

X = np.random.default_rng(0).random((64, 28, 28, 1), dtype="float32")
Y = np.zeros(64, "int64")


@pytest.fixture(scope="module")
def cnn():
    """The count of a step of the CNN, and a trace of it."""
    model = models.mnist_cnn()
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
    work = roofline.count(model.train_step, (X, Y))
    return work, profiling.record(lambda: model.train_on_batch(X, Y), steps=3)


def work_of(*rows):
    columns = ["name", "type", "dtype", "flops", "bytes", "product"]
    table = pd.DataFrame(rows, columns=columns)
    return roofline.Work(table.assign(riders=[()] * len(table)))


def test_every_large_operation_of_the_count_is_in_the_trace(cnn):
    work, trace = cnn
    table = profiling.measured(work, trace)
    large = table[table["bytes"] > 2**16]
    # TensorFlow's graph optimizer takes out operations on scalars, and no other.
    assert len(large) > 30
    # In one routine with the gradient of the weights.
    assert set(large["type"][large["ms"].isna()]) <= {"BiasAddGrad"}
    # A product of the trace has the name of one of the count, or of the bias or ReLU in it.
    traced = {
        calibration.BRANCH.sub("", op.name)
        for op in calibration.find_ops(trace)
        if op.kind in recordings.PRODUCTS
    }
    products = table[table["product"]]
    assert traced <= {*products["name"], *products["riders"].sum()}
    assert len(traced) == len(products) and (products["ms"] > 0).all()


def test_a_line_finds_start_rate_and_bandwidth():
    rng = np.random.default_rng(1)
    flops, moved = rng.uniform(1e5, 1e9, (2, 40))
    ms = 0.02 + 3e-9 * flops + 5e-8 * moved
    group = pd.DataFrame({"flops": flops, "bytes": moved, "ms": ms})
    assert calibration._line(group) == pytest.approx([0.02, 3e-9, 5e-8], rel=0.01)
    falling = group.assign(ms=1 / group["bytes"])
    assert (calibration._line(falling) >= 0).all()


def test_a_forecast_adds_up_its_lines():
    lines = {
        ("MatMul", "float32"): (0.01, 1e-6, 0.0),
        (True, "float32"): (0.5, 0.0, 0.0),
        (False, "float32"): (0.0, 0.0, 1e-6),
    }
    table = pd.DataFrame(lines.values(), lines, ["start", "flop", "byte"])
    lines = calibration.Calibration(table, launch=(0.2, 0.1))
    work = work_of(
        ("a", "MatMul", "float32", 1000, 5, True),
        ("b", "Conv2D", "float32", 1000, 5, True),  # a product that nobody recorded
        ("c", "Mul", "int64", 1, 1000, False),  # a dtype that nobody recorded
    )
    found = profiling.forecast(work, lines)
    assert found == pytest.approx({"launch": 0.5, "products": 0.511, "other": 0.001})


@pytest.mark.slow
def test_a_calibration_holds_the_types_of_every_model_of_the_course(monkeypatch):
    monkeypatch.setattr(calibration, "BATCHES", (1, 2))
    found = profiling.calibrate(("float32",), seconds=0)
    known = set(found.table.index)
    block = models.transformer_block(8, 16, 2)
    block.compile("adam", "mse", jit_compile=False)
    data = np.zeros((2, 8, 16), "float32")
    cnn = models.mnist_cnn()
    cnn.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
    for model, batch in ((block, (data, data)), (cnn, (X, Y))):
        table = roofline.count(model.train_step, batch).table
        products = table[table["product"]]
        assert set(products["type"]) <= {kind for kind, _ in known}
    assert (found.table >= 0).all(axis=None) and sum(found.launch) > 0


def test_the_waterfall_ends_at_the_clock():
    best = {"products": 3.0, "other": 1.0}
    predicted = {"products": 5.0, "other": 2.0, "launch": 1.0}
    falls = {"float32": (best, predicted, 9.0), "mixed_float16": (best, predicted, 7.5)}
    picture = figures.waterfall(falls, "One step")
    for ax, measured in zip(picture.figure.axes, (9.0, 7.5), strict=True):
        bars = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
        assert bars[0] == (0, 4) and bars[-1] == (0, measured)
        for (start, width), (following, _) in zip(bars[:-2], bars[1:-1], strict=True):
            assert following == pytest.approx(start + width)
        assert sum(bars[-2]) == pytest.approx(measured)
    assert "not explained: −" in picture.alt
    assert "other operations: +" in picture.alt
