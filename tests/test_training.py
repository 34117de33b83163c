"""The recorder of loss scales, in fit and in loops of one's own, held against what is known."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils import hardware, models
from course_utils.loss_scale import DynamicLossScale
from course_utils.training import LossScaleRecorder, dtype_policy, needs_xla

GRADIENT = "a gradient is not finite"
LOSS = "the loss is not finite"
X, Y = np.ones((12, 4), np.float32), np.zeros((12, 1), np.float32)


def model_with(initial_scale, optimizer=None, **compile_options):
    """One dense layer in float16; scales above 2**15 or so overflow in its backward pass."""
    with dtype_policy("mixed_float16"):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, use_bias=False)])
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
    model, recorder = model_with(2**20, run_eagerly=eager), LossScaleRecorder()
    table = fit(model, recorder, epochs=2)
    assert table["step"].tolist() == list(range(1, 13))
    check_overflows(table, model.optimizer, GRADIENT)
    assert float(model.optimizer.dynamic_scale.numpy()) == table["scale"].iloc[-1]
    alone = model_with(2**20, run_eagerly=eager)
    alone.fit(X, Y, 2, 2, shuffle=False, verbose=0)
    assert np.array_equal(alone.get_weights()[0], model.get_weights()[0])
    assert (model.get_weights()[0] != 0.125).all()


def check_overflows(table, optimizer, reason):
    """Twelve steps from a scale of 2**20, the first ones skipped."""
    skipped = 12 - int(optimizer.iterations.numpy())
    assert 0 < skipped < 12
    assert table["applied"].tolist() == [False] * skipped + [True] * (12 - skipped)
    assert table["scale"].tolist() == [2.0 ** (20 - min(step, skipped)) for step in range(12)]
    assert table["reason"].tolist() == [reason] * skipped + [""] * (12 - skipped)


def test_rows_go_on_over_calls_of_fit_and_loops():
    model, recorder = model_with(2**30), LossScaleRecorder()
    fit(model, recorder)
    fit(model, recorder)
    table = fit(other := model_with(2.0), recorder, epochs=2)
    assert len(table) == 24 and table["step"].iloc[-1] == 24
    assert table["scale"].tolist()[:12] == [2.0 ** (30 - n) for n in range(12)]
    assert table["scale"].tolist()[12:] == [2] * 12
    other.optimizer.apply([tf.fill((4, 1), np.nan)])
    recorder.record(other.optimizer)
    last = recorder.table.iloc[-1].tolist()
    assert last == [25, 2, False, f"{GRADIENT} (the loss was not given)"]


def test_a_loss_that_is_not_finite_is_told_apart_until_the_mean_is_spoiled():
    """Step 2 has an infinite loss; later the logged mean says nothing, until the next epoch."""
    y = Y.copy()
    y[3] = np.inf
    table = fit(model_with(2**30), LossScaleRecorder(), y=y, epochs=2)
    untold = (
        f"{GRADIENT} (whether the loss was finite cannot be told: its mean over this epoch was not "
        "finite before)"
    )
    assert table["reason"].tolist() == ([GRADIENT, LOSS] + [untold] * 4) * 2

    y = np.where(np.arange(12) == 0, np.nan, Y[:, 0])  # a step after a bad loss can be applied
    table = fit(model_with(8.0), LossScaleRecorder(), y=y, epochs=2)
    assert table["reason"].tolist() == ([LOSS] + [""] * 5) * 2


def test_a_scale_that_was_set_between_two_steps_is_seen():
    model, recorder = model_with(8.0), LossScaleRecorder()
    fit(model, recorder)
    setter = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: model.optimizer.dynamic_scale.assign(2.0)
    )
    model.fit(X, Y, 6, verbose=0, callbacks=[recorder, setter])
    assert recorder.table["scale"].tolist() == [8] * 6 + [2] * 2


def test_a_train_step_that_logs_no_loss_is_said_so():
    class Model(keras.Model):
        def train_step(self, data):
            return {"other": super().train_step(data)["loss"]}

    like = model_with(2**30)
    model = Model(like.inputs, like.outputs)
    model.compile(like.optimizer, "mse", jit_compile=False)
    reasons = fit(model, LossScaleRecorder())["reason"]
    assert set(reasons) == {f"{GRADIENT} (the loss was not logged)"}


def test_accumulated_gradients_count_as_applied():
    inner = keras.optimizers.SGD(2**-10, gradient_accumulation_steps=3)
    assert fit(model_with(8.0, inner), LossScaleRecorder())["applied"].all()


def test_the_recorder_agrees_with_the_loss_scale_in_plain_python():
    y = np.where(np.random.default_rng(0).random((200, 1)) < 0.2, np.nan, 0).astype(np.float32)
    model, own = model_with(64.0), DynamicLossScale(64, growth_steps=3)
    model.optimizer.dynamic_growth_steps = 3
    table = fit(model, LossScaleRecorder(), np.ones((200, 4)), y)
    assert 20 < table["applied"].sum() < 80
    for scale, applied in zip(table["scale"], table["applied"], strict=True):
        assert own.scale == scale
        own.update(applied)


def test_an_unbuilt_model_starts_with_the_initial_scale():
    with dtype_policy("mixed_float16"):
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
    assert fit(model, LossScaleRecorder())["scale"].iloc[0] == 2**15


TOLD = {
    "nothing": (lambda loss, g: {}, f"{GRADIENT} (the loss was not given)"),
    "loss": (lambda loss, g: {"loss": loss}, GRADIENT),
    "infinite loss": (lambda loss, g: {"loss": np.inf}, LOSS),
    "gradients": (lambda loss, g: {"loss": loss, "gradients": g},
                  "1 gradient is not finite: {path} (4 of 4 values)"),
}  # fmt: skip


@pytest.mark.parametrize(("tell", "reason"), TOLD.values(), ids=TOLD)
def test_a_custom_loop_is_recorded(tell, reason):
    model, recorder = model_with(2**20), LossScaleRecorder()
    for _ in range(12):
        with tf.GradientTape() as tape:
            loss = keras.ops.mean(keras.ops.square(keras.ops.cast(model(X), "float32")))
            scaled = model.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        model.optimizer.apply(gradients, model.trainable_variables)
        recorder.record(model.optimizer, **tell(loss, gradients))
    reason = reason.format(path=model.trainable_variables[0].path)
    check_overflows(recorder.table, model.optimizer, reason)


def wrapped(*variables, **options):
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(), **options)
    optimizer.build(list(variables))
    return optimizer


def apply(optimizer, variables, gradients):
    optimizer.apply([None if g is None else tf.constant(g, tf.float32) for g in gradients])
    return gradients


def test_the_reason_counts_gradients_and_values_and_names_three_variables():
    variables = [keras.Variable([1.0, 2.0], name=name) for name in "abcde"]
    optimizer = wrapped(*variables)
    recorder, bad, good = LossScaleRecorder(), [np.nan, 1.0], [0.0, 1.0]
    for gradients in ([good, bad, None, [np.inf, -np.inf], good], [bad] * 5, [good] * 5):
        recorder.record(optimizer, 1.0, apply(optimizer, variables, gradients))
    assert recorder.table["reason"].tolist() == [
        "2 gradients are not finite: b (1 of 2 values), d (2 of 2 values)",
        "5 gradients are not finite: a (1 of 2 values), b (1 of 2 values), c (1 of 2 values) "
        "and 2 more",
        "",
    ]


def test_sparse_gradients_are_counted_and_those_of_other_variables_get_no_wrong_name():
    first, second = (keras.Variable(np.ones((9, 2), np.float32), name=name) for name in "ab")
    bad = tf.IndexedSlices(tf.constant([[1.0, np.nan]]), tf.constant([4]), tf.constant([9, 2]))
    for variables, reason in (([first], "1 gradient is not finite: a (1 of 2 values)"),
                              ([first, second], GRADIENT)):  # fmt: skip
        optimizer, recorder = wrapped(*variables), LossScaleRecorder()
        optimizer.apply([bad], variables[-1:])
        recorder.record(optimizer, 1.0, [bad])
        assert recorder.table["reason"].tolist() == [reason]


@pytest.mark.parametrize(
    ("gradient", "start", "last"), [(np.nan, 2.0**-120, 0), (0.0, 2.0**122, np.inf)]
)
def test_both_ends_of_the_scale_are_recorded(gradient, start, last):
    variable, recorder = keras.Variable([1.0]), LossScaleRecorder()
    optimizer = wrapped(variable, initial_scale=start, dynamic_growth_steps=1)
    for _ in range(9):
        apply(optimizer, [variable], [[gradient]])
        recorder.record(optimizer)
    assert recorder.table["scale"].iloc[-1] == last


def test_steps_that_were_not_recorded_are_noticed():
    for late in ([[0.0]] * 2, [[np.inf]] * 2, [[np.inf], [0.0]]):
        variable = keras.Variable([1.0])
        optimizer, recorder = wrapped(variable), LossScaleRecorder()
        for gradient in late:
            apply(optimizer, [variable], [gradient])
        with pytest.raises(ValueError, match="not one step after .* call record after every"):
            recorder.record(optimizer)
        assert len(recorder.table) == 0
        recorder.start(optimizer)
        apply(optimizer, [variable], [[np.inf]])
        scale = float(optimizer.dynamic_scale.numpy()) * 2
        recorder.record(optimizer)
        assert recorder.table.iloc[0].tolist()[:3] == [1, scale, False]


def test_an_optimizer_without_loss_scaling_is_refused():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    for use in (lambda r: fit(model, r), lambda r: r.record(model.optimizer)):
        with pytest.raises(ValueError, match=r"plain SGD without loss scaling: build .* wrap"):
            use(LossScaleRecorder())


def test_several_steps_at_once_are_refused_and_an_empty_table_has_its_columns():
    model, recorder = model_with(8.0, steps_per_execution=3), LossScaleRecorder()
    with pytest.raises(ValueError, match=r"takes 3 steps at a time .* steps_per_execution=1\.$"):
        fit(model, recorder)
    table = recorder.table
    assert table.columns.tolist() == ["step", "scale", "applied", "reason"]
    assert len(table) == 0 and table["applied"].dtype == bool and table["scale"].dtype == float


def test_a_policy_is_restored_after_an_error():
    with pytest.raises(RuntimeError), dtype_policy("mixed_float16"):
        raise RuntimeError
    assert keras.config.dtype_policy().name == "float32"


def test_only_float16_convolutions_need_xla_and_only_where_the_cpu_does(monkeypatch):
    built = {}
    for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
        with dtype_policy(policy):
            built[policy] = models.mnist_cnn(2)
    with dtype_policy("mixed_float16"):
        nested = keras.Sequential([keras.Input((28, 28, 1)), models.mnist_cnn(2)])
        dense = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    for needed in (True, False):
        monkeypatch.setattr(hardware, "float16_convolutions_need_xla", lambda needed=needed: needed)
        found = {policy: needs_xla(model) for policy, model in built.items()}
        assert found == {"float32": False, "mixed_bfloat16": False, "mixed_float16": needed}
        assert needs_xla(nested) is needed and not needs_xla(dense)
    monkeypatch.setattr(hardware, "float16_convolutions_need_xla", lambda: True)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    assert not needs_xla(built["mixed_float16"])
