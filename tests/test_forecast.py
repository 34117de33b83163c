"""What a step will take, from operations like its own, and the way to the clock."""

import numpy as np
import pandas as pd
import pytest

from course_utils import figures, models, profiling, roofline
from course_utils.profiling import calibration, recordings
from tools import forecasts

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


COLUMNS = ["type", "dtype", "product", "flops", "bytes", "ms"]


def calibrated(*rows):
    return calibration.Calibration(pd.DataFrame(rows, columns=COLUMNS), (0.2, 0.1))


def test_an_operation_takes_as_many_times_its_bound_as_those_like_it():
    """Sizes that were not recorded lie between those that were: of a type that slows
    down with its size, and of one that waits for memory.
    """
    rng = np.random.default_rng(1)

    def true_ms(flops, moved, product):
        ms = 0.02 + 3e-9 * flops * (1 + flops / 1e9) if product else 0.02
        return ms + np.where(moved < 4e6, 2e-8, 8e-8) * moved

    rows = []
    for kind, product in (("MatMul", True), ("Mul", False)):
        flops = 10 ** rng.uniform(6, 9, 60) if product else np.zeros(60)
        moved = 10 ** rng.uniform(5, 8, 60)
        ms = [true_ms(f, m, product) for f, m in zip(flops, moved, strict=True)]
        rows += [
            (kind, "float32", product, *three)
            for three in zip(flops, moved, ms, strict=True)
        ]
    seen = calibrated(*rows)
    for flops, moved in ((0, 3e5), (0, 3e7), (3e8, 3e5), (3e8, 3e7), (5e7, 2e6)):
        product = flops > 0
        kind = "MatMul" if product else "Mul"
        work = work_of(("a", kind, "float32", flops, moved, product))
        found = profiling.forecast(work, seen)
        right = true_ms(flops, moved, product)
        assert found["products" if product else "other"] == pytest.approx(
            right, rel=0.4
        )


def test_a_forecast_compares_what_nobody_recorded_with_its_kind():
    seen = calibrated(
        ("MatMul", "float32", True, 1000, 5, 1.0),
        ("Mul", "float32", False, 0, 1000, 0.5),
        ("Add", "float32", False, 0, 1000, 0.125),
        ("MatMul", "bfloat16", True, 1000, 5, 0.25),
    )
    work = work_of(
        ("a", "MatMul", "bfloat16", 1000, 5, True),
        ("b", "Conv2D", "float32", 1000, 5, True),  # a product that nobody recorded
        ("c", "Tanh", "int64", 0, 1000, False),  # a dtype that nobody recorded
    )
    found = profiling.forecast(work, seen)
    # Of two of one size it is between the geometric mean and the other one.
    assert found.pop("other") == pytest.approx(((0.5**0.25 + 0.125**0.25) / 2) ** 4)
    assert found == pytest.approx({"launch": 0.5, "products": 1.25})


def test_ten_times_the_arithmetic_takes_as_many_times_a_larger_bound():
    seen = calibrated(
        ("MatMul", "float32", True, 1000, 1000, 1.0),
        ("Mul", "float32", False, 0, 1000, 0.1),
    )
    work = work_of(("a", "MatMul", "float32", 10_000, 1000, True))
    start, flop, byte = 0.1, 1.0 / 1000, 0.1 / 1000
    bounds = [start + flop * flops + byte * 1000 for flops in (1000, 10_000)]
    found = profiling.forecast(work, seen)["products"]
    assert found == pytest.approx(1.0 * bounds[1] / bounds[0])


def test_what_a_library_does_inside_of_another_operation_is_forecast_to_take_no_time():
    """As the gradient of a convolution's bias, where oneDNN adds it up with the filters'."""
    seen = calibrated(
        ("BiasAddGrad", "float32", False, 10**6, 4 * 10**6, 0.0),
        ("BiasAddGrad", "float32", False, 10**3, 4 * 10**3, 0.5),
        ("MatMul", "float32", True, 1000, 5, 1.0),
    )
    for size, ms in ((10**6, 0), (10**3, 0.5)):
        work = work_of(("a", "BiasAddGrad", "float32", size, 4 * size, False))
        assert profiling.forecast(work, seen)["other"] == pytest.approx(ms, abs=1e-3)


@pytest.mark.slow
def test_a_calibration_holds_the_types_of_every_model_of_the_course(monkeypatch):
    monkeypatch.setattr(calibration, "BATCHES", (1, 2))
    found = profiling.calibrate(("float32",), seconds=0)
    known = set(found.table["type"])
    block = models.transformer_block(8, 16, 2)
    block.compile("adam", "mse", jit_compile=False)
    data = np.zeros((2, 8, 16), "float32")
    cnn = models.mnist_cnn()
    cnn.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
    for model, batch in ((block, (data, data)), (cnn, (X, Y))):
        table = roofline.count(model.train_step, batch).table
        products = table[table["product"]]
        assert set(products["type"]) <= known
    assert (found.table["ms"] >= 0).all() and sum(found.launch) > 0


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


def test_what_notebook_13_says_of_twenty_steps_is_in_the_record():
    table = profiling.recorded_forecasts()
    assert (table["measured_ms"] > 0.95 * table["bound_ms"]).all()
    assert (table["measured_ms"] <= table["slower_ms"]).all()
    table["error"] = table["ratio"] - 1
    for _, own in table.groupby("device"):
        assert own["case"].nunique() == 20
        assert set(forecasts.HELD_OUT) < {*own["case"]}
        assert own["error"].abs().median() < 0.1
    amd = table[table["device"].str.startswith("AMD")]
    xeon = table[table["device"].str.contains("Xeon")]
    assert len(amd) == len(xeon) == 40
    assert xeon["error"].abs().max() < 0.25
    times = xeon.pivot(index="case", columns="policy", values="measured_ms")
    assert (times["mixed_bfloat16"] > times["float32"]).all()
    outside = amd[amd["error"].abs() > 0.25]
    assert set(outside["policy"]) == {"mixed_bfloat16"} and len(outside) == 3
    for case, fast in zip(outside["case"], outside["ratio"] > 1, strict=True):
        assert case.split(",")[0] == ("U-Net" if fast else "autoencoder")
    again = (amd["slower_ms"] / amd["measured_ms"]).max()
    assert 1.4 < again < 1.6
