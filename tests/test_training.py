"""The recorder of loss scales in fit, held against what is known; policies, and who
needs XLA.
"""

import keras
import numpy as np
import pytest

from course_utils import hardware, models
from course_utils.hardware import xla
from course_utils.hardware.xla import has_xla, needs_xla
from course_utils.training import LossScaleRecorder, dtype_policy
from tools.canonical_form import COURSE, code_cells, read

X = np.ones((12, 4), np.float32)
Y = np.zeros((12, 1), np.float32)


def model_with(initial_scale, optimizer=None, **compile_options):
    """One dense layer in float16; scales above 2**15 or so overflow in its backward
    pass.
    """
    with dtype_policy("mixed_float16"):
        model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(1, use_bias=False)]
        )
    model.set_weights([np.full((4, 1), 0.125)])
    optimizer = keras.optimizers.LossScaleOptimizer(
        optimizer or keras.optimizers.SGD(2**-10), initial_scale=initial_scale
    )
    model.compile(optimizer, "mse", jit_compile=False, **compile_options)
    return model


def fit(model, recorder, x=X, y=Y, epochs=1):
    model.fit(x, y, 2, epochs, shuffle=False, verbose=0, callbacks=[recorder])
    return recorder.table


@pytest.mark.parametrize("eager", [False, True])
def test_fit_with_an_overflow_is_recorded_step_by_step_and_not_changed(eager):
    model = model_with(2**20, run_eagerly=eager)
    recorder = LossScaleRecorder()
    table = fit(model, recorder, epochs=2)
    skipped = 12 - int(model.optimizer.iterations.numpy())
    assert 0 < skipped < 12
    assert table["applied"].tolist() == [False] * skipped + [True] * (12 - skipped)
    assert table["scale"].tolist() == [
        2.0 ** (20 - min(step, skipped)) for step in range(12)
    ]
    assert float(model.optimizer.dynamic_scale.numpy()) == table["scale"].iloc[-1]
    alone = model_with(2**20, run_eagerly=eager)
    alone.fit(X, Y, 2, 2, shuffle=False, verbose=0)
    assert np.array_equal(alone.get_weights()[0], model.get_weights()[0])
    assert (model.get_weights()[0] != 0.125).all()


def test_rows_go_on_over_calls_of_fit_and_a_scale_set_in_between_is_seen():
    model = model_with(2**30)
    recorder = LossScaleRecorder()
    setter = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: model.optimizer.dynamic_scale.assign(2.0)
    )
    fit(model, recorder)
    model.fit(X, Y, 2, verbose=0, callbacks=[recorder, setter])
    table = fit(model_with(4.0), recorder)
    assert table["step"].iloc[-1] == len(table) == 18
    assert (
        table["scale"].tolist()
        == [2.0 ** (30 - n) for n in range(6)] + [2] * 6 + [4] * 6
    )


def test_accumulated_gradients_count_as_applied():
    inner = keras.optimizers.SGD(2**-10, gradient_accumulation_steps=3)
    assert fit(model_with(8.0, inner), LossScaleRecorder())["applied"].all()


def test_an_unbuilt_model_starts_with_the_initial_scale():
    with dtype_policy("mixed_float16"):
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
    assert fit(model, LossScaleRecorder())["scale"].iloc[0] == 2**15


def test_what_a_recorder_cannot_see_is_refused_and_an_empty_table_has_its_columns():
    recorder = LossScaleRecorder()
    plain = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    plain.compile("sgd", "mse", jit_compile=False)
    several = model_with(8.0, steps_per_execution=3)
    for model, message in (
        (plain, r"plain SGD without loss scaling: build .* wrap"),
        (several, r"takes 3 steps at a time .* steps_per_execution=1\.$"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(model, recorder)
    assert recorder.table.dtypes.astype(str).to_dict() == {
        "step": "int64",
        "scale": "float64",
        "applied": "bool",
    }


def test_a_policy_is_restored_after_an_error():
    with pytest.raises(RuntimeError), dtype_policy("mixed_float16"):
        raise RuntimeError
    assert keras.config.dtype_policy().name == "float32"


# instruction sets; whether 2.20 needs XLA on such a CPU, whether 2.21 does
NEED_XLA = [
    (("avx2",), True, False),
    (("avx512_bf16", "avx512_fp16"), False, True),
    (("avx512_fp16", "amx_fp16"), False, False),
    (None, False, False),
]


@pytest.mark.parametrize("sets, old, new", NEED_XLA)
def test_only_float16_convolutions_need_xla_and_only_where_kernels_are_slow(
    sets, old, new, monkeypatch
):
    with dtype_policy("mixed_bfloat16"):
        others = [models.mnist_cnn(2)]
    with dtype_policy("mixed_float16"):
        cnn = keras.Sequential([keras.Input((28, 28, 1)), models.mnist_cnn(2)])
        others.append(keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]))
    machine = hardware.Hardware("Linux x86_64", "some CPU", 2, sets)
    monkeypatch.setattr(hardware, "detect", lambda: machine)
    for version, needed in (("2.21.0", new), ("2.20.0", old)):
        monkeypatch.setattr("tensorflow.__version__", version)
        assert needs_xla(cnn) is needed and not any(map(needs_xla, others))
    # tensorflow-tpu's, without XLA
    monkeypatch.setattr(xla, "has_xla", lambda: False)
    assert not needs_xla(cnn)


def test_xla_is_asked_whether_it_compiles_here(monkeypatch):
    import tensorflow as tf

    assert has_xla()  # the package tensorflow has it everywhere

    def refused(function, jit_compile):
        assert jit_compile
        raise tf.errors.NotFoundError(
            None, None, "no registered transfer manager"
        )  # tensorflow-tpu

    monkeypatch.setattr(tf, "function", refused)
    assert not has_xla()


def test_a_cell_that_compiles_with_xla_asks_for_it():
    for path in COURSE.glob("notebooks/*.ipynb"):
        for cell in code_cells(read(path)):
            if "tf.function(" in cell.source and "jit_compile=True" in cell.source:
                assert "has_xla()" in cell.source, (path.name, cell.id)
