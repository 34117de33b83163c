"""The recorder of loss scales, in fit and in loops of one's own, held against what is known."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.loss_scale import DynamicLossScale
from course_utils.stepping import dtype_policy
from course_utils.training import LossScaleRecorder

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
def test_fit_with_an_overflow_is_recorded_step_by_step(eager):
    model, recorder = model_with(2**20, run_eagerly=eager), LossScaleRecorder()
    table = fit(model, recorder, epochs=2)
    assert table["step"].tolist() == list(range(1, 13))
    skipped = 12 - int(model.optimizer.iterations.numpy())
    assert 0 < skipped < 12
    assert table["applied"].tolist() == [False] * skipped + [True] * (12 - skipped)
    scales = [2.0 ** (20 - min(step, skipped)) for step in range(12)]
    assert table["scale"].tolist() == scales
    assert table["reason"].tolist() == [GRADIENT] * skipped + [""] * (12 - skipped)
    assert float(model.optimizer.dynamic_scale.numpy()) == scales[-1]


def test_growth_shows_in_the_step_after_it():
    model, recorder = model_with(4.0), LossScaleRecorder()
    model.optimizer.dynamic_growth_steps = 2
    assert fit(model, recorder)["scale"].tolist() == [4, 4, 8, 8, 16, 16]


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
    assert recorder.table.iloc[-1].tolist() == [
        25,
        2,
        False,
        f"{GRADIENT} (the loss was not given)",
    ]


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


def test_a_step_after_a_bad_loss_can_be_applied_and_an_epoch_starts_anew():
    y = Y.copy()
    y[0] = np.nan
    table = fit(model_with(8.0), LossScaleRecorder(), y=y, epochs=2)
    assert table["applied"].tolist() == ([False] + [True] * 5) * 2
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
    table = fit(model_with(8.0, inner), LossScaleRecorder())
    assert table["applied"].all()


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


def loop(steps, tell, initial_scale=2**20, recorder=None):
    """A custom loop; `tell` makes record's arguments of loss and gradients."""
    model = model_with(initial_scale)
    recorder = recorder or LossScaleRecorder()
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = keras.ops.mean(keras.ops.square(keras.ops.cast(model(X), "float32")))
            scaled = model.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        model.optimizer.apply(gradients, model.trainable_variables)
        recorder.record(model.optimizer, **tell(loss, gradients))
    return recorder.table, model.optimizer


@pytest.mark.parametrize(
    ("tell", "reason"),
    [
        (lambda loss, gradients: {}, f"{GRADIENT} (the loss was not given)"),
        (lambda loss, gradients: {"loss": loss}, GRADIENT),
        (lambda loss, gradients: {"loss": np.inf}, LOSS),
        (
            lambda loss, gradients: {"loss": loss, "gradients": gradients},
            "1 gradient is not finite: {path} (4 of 4 values)",
        ),
    ],
    ids=["nothing", "loss", "infinite loss", "gradients"],
)
def test_a_custom_loop_is_recorded(tell, reason):
    table, optimizer = loop(12, tell)
    skipped = 12 - int(optimizer.iterations.numpy())
    assert 0 < skipped < 12
    assert table["scale"].tolist() == [2.0 ** (20 - min(step, skipped)) for step in range(12)]
    assert table["applied"].tolist() == [False] * skipped + [True] * (12 - skipped)
    reason = reason.format(path=optimizer.inner_optimizer._trainable_variables[0].path)
    assert table["reason"].tolist() == [reason] * skipped + [""] * (12 - skipped)


def apply(optimizer, variables, gradients):
    optimizer.apply([None if g is None else tf.constant(g, tf.float32) for g in gradients])
    return gradients


def test_the_reason_counts_gradients_and_values_and_names_three_variables():
    variables = [keras.Variable([1.0, 2.0], name=name) for name in "abcde"]
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    optimizer.build(variables)
    recorder, bad, good = LossScaleRecorder(), [np.nan, 1.0], [0.0, 1.0]
    for gradients in ([good, bad, None, [np.inf, -np.inf], good], [bad] * 5, [good] * 5):
        recorder.record(optimizer, 1.0, apply(optimizer, variables, gradients))
    assert recorder.table["reason"].tolist() == [
        "2 gradients are not finite: b (1 of 2 values), d (2 of 2 values)",
        "5 gradients are not finite: a (1 of 2 values), b (1 of 2 values), c (1 of 2 values) "
        "and 2 more",
        "",
    ]


def test_sparse_gradients_are_counted_too():
    table = keras.Variable(np.ones((9, 2), np.float32), name="table")
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    optimizer.build([table])
    gradient = tf.IndexedSlices(tf.constant([[1.0, np.nan]]), tf.constant([4]), tf.constant([9, 2]))
    optimizer.apply([gradient], [table])
    recorder = LossScaleRecorder()
    recorder.record(optimizer, 1.0, [gradient])
    assert recorder.table["reason"].tolist() == ["1 gradient is not finite: table (1 of 2 values)"]


def test_gradients_of_other_variables_are_not_given_a_wrong_name():
    first, second = keras.Variable([1.0], name="first"), keras.Variable([1.0], name="second")
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    optimizer.build([first, second])
    optimizer.apply([tf.constant([np.nan])], [second])
    recorder = LossScaleRecorder()
    recorder.record(optimizer, 1.0, [tf.constant([np.nan])])
    assert recorder.table["reason"].tolist() == [GRADIENT]


def test_both_ends_of_the_scale_are_recorded():
    variable = keras.Variable([1.0])
    for gradient, start, last in (([np.nan], 2.0**-120, 0), ([0.0], 2.0**122, np.inf)):
        optimizer = keras.optimizers.LossScaleOptimizer(
            keras.optimizers.SGD(), initial_scale=start, dynamic_growth_steps=1
        )
        optimizer.build([variable])
        recorder = LossScaleRecorder()
        for _ in range(9):
            apply(optimizer, [variable], [gradient])
            recorder.record(optimizer)
        assert recorder.table["scale"].iloc[-1] == last


def test_steps_that_were_not_recorded_are_noticed():
    for late in ([[0.0]] * 2, [[np.inf]] * 2, [[np.inf], [0.0]]):
        variable = keras.Variable([1.0])
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
        optimizer.build([variable])
        recorder = LossScaleRecorder()
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


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_an_optimizer_without_loss_scaling_is_refused(policy):
    with dtype_policy(policy):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
    for use in (lambda r: fit(model, r), lambda r: r.record(model.optimizer)):
        with pytest.raises(ValueError, match=r"plain SGD without loss scaling: build .* wrap"):
            use(LossScaleRecorder())


def test_several_steps_at_once_are_refused():
    model = model_with(8.0, steps_per_execution=3)
    with pytest.raises(ValueError, match=r"takes 3 steps at a time .* steps_per_execution=1\.$"):
        fit(model, LossScaleRecorder())


def test_an_empty_table_has_its_columns():
    table = LossScaleRecorder().table
    assert table.columns.tolist() == ["step", "scale", "applied", "reason"]
    assert len(table) == 0 and table["applied"].dtype == bool and table["scale"].dtype == float


def test_recording_does_not_change_the_training():
    weights = []
    for callbacks in ([], [LossScaleRecorder()]):
        model = model_with(2**20)
        model.fit(X, Y, 2, 2, shuffle=False, verbose=0, callbacks=callbacks)
        weights.append(model.get_weights()[0])
    assert np.array_equal(*weights) and (weights[0] != 0.125).all()
