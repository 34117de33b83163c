"""What has to be in memory at the worst moment of a step: counted from its graph."""

import importlib

import keras
import numpy as np
import pytest
from keras import layers

from course_utils import benchmark, models, profiling, roofline
from course_utils.roofline.liveness import Operation, peak

RNG = np.random.default_rng(0)


def chain(*types, size=100):
    """Operations that each read what the one before has made."""
    return [
        Operation(
            f"op{n}",
            kind,
            (f"{n - 1}",) * (n > 0),
            {f"{n}": size},
            frozenset({n - 1} if n else ()),
        )
        for n, kind in enumerate(types)
    ]


def compiled(model, optimizer="adam", loss="mse"):
    model.compile(optimizer, loss, jit_compile=False)
    return model


def test_an_array_goes_when_its_last_reader_has_run():
    assert peak(chain("MatMul", "MatMul", "MatMul", "MatMul")) == 200
    assert peak(chain("MatMul", "MatMul"), least=101) == 0
    # the last one reads the first as well, as a backward pass does
    step = chain("MatMul", "MatMul", "MatMul", "MatMul")
    step[3] = step[3]._replace(reads=("2", "0"))
    assert peak(step) == 300


def test_an_operation_may_write_over_an_input_that_nobody_reads_after_it():
    assert peak(chain("MatMul", "Relu", "Relu")) == 100
    kept = chain("MatMul", "Relu", "MatMul")
    kept[2] = kept[2]._replace(reads=("1", "0"))
    assert peak(kept) == 300
    other = chain("MatMul", "Relu")
    other[1] = other[1]._replace(makes={"1": 50})  # another size, such as a cast's
    assert peak(other) == 150


def test_the_order_of_independent_operations_decides():
    """Three branches that each make much and keep little, and two run at a time."""
    step = [Operation("x", "MatMul", (), {"x": 1}, frozenset())]
    for branch in "abc":
        first, after = f"{branch}0", frozenset({len(step)})
        step.append(Operation("op", "MatMul", ("x",), {first: 100}, frozenset({0})))
        step.append(Operation("op", "MatMul", (first,), {f"{branch}1": 10}, after))
    after = frozenset({2, 4, 6})
    step.append(Operation("sum", "AddN", ("a1", "b1", "c1"), {"y": 10}, after))
    assert len({peak(step, seed) for seed in range(50)}) > 1


def test_the_graph_knows_the_arrays_of_a_step():
    def build():
        model = keras.Sequential(
            [keras.Input((8,)), layers.Dense(4), layers.Reshape((2, 2))]
        )
        return compiled(model, "sgd")

    x = RNG.random((16, 8), dtype="float32")
    y = RNG.random((16, 2, 2), dtype="float32")
    step = roofline.operations(build, "float32", x, y)
    products = [op for op in step if op.type == "MatMul"]
    assert [list(op.makes.values()) for op in products] == [[16 * 4 * 4], [8 * 4 * 4]]
    reshaped = [op for op in step if op.type == "Reshape"]
    assert reshaped and not any(op.makes or op.reads for op in reshaped)
    half = roofline.operations(build, "mixed_bfloat16", x, y)
    assert list(next(op for op in half if op.type == "MatMul").makes.values()) == [128]
    # Keras hands all gradients on at once, and each is alive until its own update.
    bias = next(op for op in step if op.type == "BiasAddGrad")
    gradients = {*products[1].makes, *bias.makes}
    last = {array: number for number, op in enumerate(step) for array in op.reads}
    merged = next(n for n, op in enumerate(step) if op.type == "IdentityN")
    assert all(last[array] > merged for array in gradients)
    numbers = range(len(step))
    assert all(before in numbers for op in step for before in op.after)
    with pytest.raises(ValueError, match="compiled"):
        roofline.operations(models.mnist_cnn, "float32", x, y)


@pytest.mark.slow
@pytest.mark.skipif(
    not benchmark.counts_memory(), reason="this allocator does not count memory"
)
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_count_and_working_space_come_near_the_measured_peak(policy):
    """Of the CNN and of a network with other layers and another optimizer."""

    def other():
        model = keras.Sequential(
            [
                keras.Input((32, 32, 3)),
                layers.Conv2D(32, 3, padding="same", activation="relu"),
                layers.SeparableConv2D(64, 3, strides=2, activation="relu"),
                layers.GlobalAveragePooling2D(),
                layers.Dense(10, dtype="float32"),
            ]
        )
        return compiled(model, keras.optimizers.SGD(0.1, momentum=0.9))

    def cnn():
        return compiled(models.mnist_cnn())

    for build, shape in ((cnn, (28, 28, 1)), (other, (32, 32, 3))):
        x = RNG.random((128, *shape), dtype="float32")
        y = RNG.random((128, 10), dtype="float32")
        found = profiling.peaks(build, x, y, [128], [policy], seconds=0)
        assert len(found) == 3
        middle = found.drop(columns="policy").median()
        share = (middle["counted"] + middle["working"]) / middle["asked"]
        assert 0.8 < share < 1.2, (build.__name__, found)
        assert (found["given"] >= found["asked"] - 1e-6).all()
        assert (found["counted"] > found["variables"]).all()


@pytest.mark.slow
def test_an_allocator_that_tells_nothing_leaves_the_count(monkeypatch):
    peaks = importlib.import_module("course_utils.profiling.peaks")
    monkeypatch.setattr(peaks, "start_peak", lambda: None)
    x, y = RNG.random((8, 28, 28, 1), dtype="float32"), RNG.random((8, 10))
    build = lambda: compiled(models.mnist_cnn(4))  # noqa: E731
    found = peaks.peaks(build, x, y, [8], ["float32"], seconds=0)
    assert found[["working", "asked", "given"]].isna().all(axis=None)
    assert (found["counted"] > 0).all()
    with pytest.raises(ValueError, match="A batch of 9 needs"):
        peaks.peaks(build, x, y, [9], ["float32"], seconds=0)
