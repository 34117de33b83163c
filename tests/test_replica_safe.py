"""Replica-safe loss scaling: overflows on every replica and worker, at the worst of times.

Run as a script, this file is what the tests start in processes of their own: `mirrored FOLDER`
trains on 2 and 3 logical CPUs, `worker` is one of two workers. Both print their result as JSON.
"""

import contextlib
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.distributed import run_workers
from course_utils.loss_scale import DynamicLossScale
from course_utils.stepping import dtype_policy
from course_utils.training import LossScaleRecorder, ReplicaSafeLossScaleOptimizer

ROOT = Path(__file__).resolve().parent.parent
KerasOwn = keras.optimizers.LossScaleOptimizer
SGD, Adam, AdamW = keras.optimizers.SGD, keras.optimizers.Adam, keras.optimizers.AdamW
START, GROWTH, RATE = 2.0**4, 3, 2.0**-6  # powers of two, so that every weight is exact
BAD = [float("inf"), float("-inf"), float("nan")]


# What is played, and what has to come out of it


def patterns(replicas):
    """Names and scripts: for each step, what each replica's gradient is multiplied by."""
    good = [1.0] * replicas
    found = {}
    for k in range(replicas):
        spoiled = [BAD[k % 3] if r == k else 1.0 for r in range(replicas)]
        for name, when in (("first", [0]), ("mid-run", [4]), ("twice in a row", [4, 5])):
            found[f"{name}, on {k}"] = [spoiled if t in when else good for t in range(9)]
    found["never"] = [good] * 9
    found["everywhere"] = [good, [BAD[2]] * replicas, good]
    source = np.random.default_rng(replicas)
    marks = np.where(source.random((40, replicas)) < 0.15, source.choice(BAD, (40, replicas)), 1)
    found["at random"] = marks.tolist()
    return found


def expected(script, start=START):
    """The scale after each step, the steps applied and the weights, by plain arithmetic."""
    loss_scale, scales, applied, weight = DynamicLossScale(start, GROWTH), [], 0, 1.0
    for marks in script:
        if loss_scale.update(bool(np.isfinite(marks).all())):
            applied += 1
            weight -= RATE * sum(range(1, len(marks) + 1))
        scales.append(loss_scale.scale)
    return scales, applied, weight


def on_each_replica(variable):
    """The values on the replicas of this process, as a list of lists."""
    replicas = tf.distribute.get_strategy().experimental_local_results(
        getattr(variable, "value", variable)  # accumulating, `iterations` is a tensor
    )
    return [np.ravel(v.numpy()).tolist() for v in replicas]


class Rig:
    """Two weights, and a step that any replica can spoil: replica r's gradient is r + 1."""

    def __init__(self, kind=ReplicaSafeLossScaleOptimizer, inner=None, start=START, wrap=None):
        self.strategy = tf.distribute.get_strategy()
        self.weights = [keras.Variable(np.ones(shape, np.float32)) for shape in ((2, 3), 2)]
        self.optimizer = kind(inner or SGD(RATE), initial_scale=start, dynamic_growth_steps=GROWTH)
        self.optimizer.build(self.weights)
        self.variables = self.weights + self.optimizer.variables
        self.values = [keras.ops.convert_to_numpy(v) for v in self.variables]
        step = lambda marks: self.strategy.run(self._replica, args=(marks,))  # noqa: E731
        self.step = wrap(step) if wrap else step

    def _replica(self, marks):
        rank = tf.distribute.get_replica_context().replica_id_in_sync_group
        gradient = self.optimizer.scale_loss(tf.cast(rank, tf.float32) + 1)
        spoiled = tf.stack([gradient, gradient * tf.gather(marks, rank)])
        self.optimizer.apply([tf.fill((2, 3), gradient), spoiled], self.weights)

    def play(self, script):
        """From the start: the scales after each step and, at the end, all there is to compare."""
        for variable, value in zip(self.variables, self.values, strict=True):
            variable.assign(value)
        scales = []
        for marks in script:
            self.step(tf.constant(marks, tf.float32))
            scales.append(on_each_replica(self.optimizer.dynamic_scale))
        return {
            "scales": scales,
            "iterations": on_each_replica(self.optimizer.iterations),
            "weights": [on_each_replica(weight) for weight in self.weights],
        }


def compare(script, found, start=START):
    """Hold what `Rig.play` found against the arithmetic, on every replica of the process."""
    scales, applied, weight = expected(script, start)
    for step, scale in zip(found["scales"], scales, strict=True):
        assert step == [[scale]] * len(step)
    assert all(count == [applied] for count in found["iterations"])
    for replicas in found["weights"]:
        assert all(value == weight for replica in replicas for value in replica)


# Training in fit, with an overflow of float16 itself


def data(replicas, spoiled):
    """Batches of 4 rows a replica; `spoiled`: pairs (batch, replica) that overflow, or ()."""
    x = np.random.default_rng(0).choice([0.5, 1.0], (6 * 4 * replicas, 4)).astype(np.float32)
    y = np.zeros((len(x), 1), np.float32)
    for batch, replica in spoiled:
        y[4 * (replicas * batch + replica)] = 1024
    return x, y


def network(optimizer):
    """One dense layer in float16: a target of 1024 overflows in its backward pass alone."""
    with dtype_policy("mixed_float16"):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, use_bias=False)])
        model.set_weights([np.full((4, 1), 0.125)])
        model.compile(optimizer, "mse", jit_compile=False)
    return model


def safe(inner=None):
    inner = inner or SGD(2.0**-10)
    return ReplicaSafeLossScaleOptimizer(inner, initial_scale=2.0**12, dynamic_growth_steps=2)


def fitted(optimizer, spoiled, eager=False):
    strategy = tf.distribute.get_strategy()
    replicas, recorder = strategy.num_replicas_in_sync, LossScaleRecorder()
    model = network(optimizer)
    model.run_eagerly = eager
    x, y = data(replicas, spoiled)
    model.fit(x, y, batch_size=4 * replicas, shuffle=False, verbose=0, callbacks=[recorder])
    return model, recorder.table


def fit_case(spoiled, inner=None, eager=False):
    model, table = fitted(safe(inner), spoiled, eager)
    return {
        "scale": table["scale"].tolist(),
        "applied": table["applied"].tolist(),
        "weights": on_each_replica(model.weights[0]),
    }


def fit_wanted(bad_batches):
    loss_scale, scales, applied = DynamicLossScale(2.0**12, 2), [], []
    for batch in range(6):
        scales.append(loss_scale.scale)
        applied.append(loss_scale.update(batch not in bad_batches))
    return scales, applied


# A loop of one's own with a tape, sparse gradients, clipping, weight decay and averages


def words(optimizer):
    with dtype_policy("mixed_float16"):
        layers = [keras.Input((3,), dtype="int32"), keras.layers.Embedding(20, 4)]
        layers += [keras.layers.Flatten(), keras.layers.Dense(3, dtype="float32")]
        model = keras.Sequential(layers)
    source = np.random.default_rng(1)
    model.set_weights([source.normal(0, 0.3, w.shape) for w in model.get_weights()])
    optimizer.build(model.trainable_variables)
    return model


def loop_case(optimizer):
    """Batch 2 of 6 overflows by its second half, in which one row weighs 1e30."""
    strategy, model = tf.distribute.get_strategy(), words(optimizer)
    crossentropy = keras.losses.sparse_categorical_crossentropy

    def replica(x, y, weight):
        with tf.GradientTape() as tape:
            losses = crossentropy(y, model(x, training=True), from_logits=True) * weight
            scaled = optimizer.scale_loss(tf.reduce_sum(losses) / 12)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    @tf.function
    def step(*batch):
        strategy.run(replica, args=batch)

    source = np.random.default_rng(2)
    x, y = source.integers(0, 20, (72, 3)).astype(np.int32), source.integers(0, 3, 72)
    weight = np.ones(72, np.float32)
    weight[24 + 8] = 1e30
    batches = tf.data.Dataset.from_tensor_slices((x, y, weight)).batch(12)
    scales = []
    for batch in strategy.experimental_distribute_dataset(batches):
        step(*batch)
        scales.append(on_each_replica(optimizer.dynamic_scale)[0])
    return {
        "scales": scales,
        "iterations": on_each_replica(optimizer.iterations)[0],
        "weights": [on_each_replica(weight) for weight in model.weights],
    }


def rich():
    return AdamW(0.01, weight_decay=0.01, global_clipnorm=0.05, use_ema=True)


def never_built(wrap):
    weight, optimizer = keras.Variable([1.0]), ReplicaSafeLossScaleOptimizer(SGD(0.5))
    strategy = tf.distribute.get_strategy()

    def replica():
        optimizer.apply([optimizer.scale_loss(tf.ones(1))], [weight])

    try:
        wrap(lambda: strategy.run(replica))()
    except ValueError as error:
        return str(error)
    return on_each_replica(weight)


# The scripts


def mirrored(folder):
    """Everything on 2 and 3 logical CPUs of one process."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
    found = {"play": {}, "eager": {}, "fit": {}}
    # Collectives cannot be of two sizes in one process; so both ways of adding up are tried.
    for replicas, across in ((2, None), (3, tf.distribute.ReductionToOneDevice())):
        devices = [f"CPU:{i}" for i in range(replicas)]
        strategy = tf.distribute.MirroredStrategy(devices, cross_device_ops=across)
        with strategy.scope():
            rig = Rig(wrap=tf.function)
            scripts = patterns(replicas)
            found["play"][replicas] = {name: rig.play(s) for name, s in scripts.items()}
            rig, chosen = Rig(), [f"mid-run, on {replicas - 1}", "everywhere"]
            found["eager"][replicas] = {name: rig.play(scripts[name]) for name in chosen}
            cases = {f"on {k}": ([(2, k), (3, k)], None, False) for k in range(replicas)}
            if replicas == 2:
                cases |= {"eager": ([(2, 1)], None, True), "rich": ([(0, 1)], rich(), False)}
            found["fit"][replicas] = {name: fit_case(*case) for name, case in cases.items()}
            if replicas == 2:
                found["unbuilt"] = never_built(tf.function)
                found["unbuilt, eager"] = never_built(lambda step: step)
                found["loop"] = loop_case(ReplicaSafeLossScaleOptimizer(SGD(0.1)))
                found["rich loop"] = loop_case(ReplicaSafeLossScaleOptimizer(rich()))
                model, _ = fitted(safe(Adam()), [(2, 1)])
                model.save(os.path.join(folder, "two.keras"))
                variables = model.weights + model.optimizer.variables
                found["saved"] = [on_each_replica(v)[0] for v in variables]
    print("RESULT", json.dumps(found))


def worker():
    """One of two workers: every pattern, in a tf.function and, some of them, without."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    scripts = patterns(strategy.num_replicas_in_sync)
    with strategy.scope():
        rig = Rig(wrap=tf.function)
        found = {"play": {name: rig.play(script) for name, script in scripts.items()}}
        rig, chosen = Rig(), ("first, on 0", "mid-run, on 1")
        found["eager"] = {name: rig.play(scripts[name]) for name in chosen}
    print("RESULT", json.dumps(found))


if __name__ == "__main__":
    mirrored(sys.argv[2]) if sys.argv[1] == "mirrored" else worker()


# Several replicas of one process


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def on_devices(folder):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, __file__, "mirrored", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=480)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-2000:]
    return json.loads(lines[0].removeprefix("RESULT "))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["play", "eager"])
@pytest.mark.parametrize("replicas", [2, 3])
def test_an_overflow_on_any_replica_is_one_skipped_step_for_all(on_devices, replicas, way):
    found, scripts = on_devices[way][str(replicas)], patterns(replicas)
    assert len(found) == (3 * replicas + 3 if way == "play" else 2)
    for name, result in found.items():
        assert len(result["iterations"]) == len(result["weights"][0]) == replicas
        compare(scripts[name], result)


@pytest.mark.slow
@pytest.mark.parametrize("replicas", [2, 3])
def test_fit_on_several_devices_skips_two_overflows_in_a_row(on_devices, replicas):
    for k in range(replicas):
        found = on_devices["fit"][str(replicas)][f"on {k}"]
        assert (found["scale"], found["applied"]) == fit_wanted({2, 3})
        assert found["weights"] == [found["weights"][0]] * replicas
        assert np.isfinite(found["weights"]).all() and found["weights"][0] != [0.125] * 4


@pytest.mark.slow
@pytest.mark.parametrize(("name", "batch"), [("eager", 2), ("rich", 0)])
def test_fit_run_eagerly_and_with_clipping_decay_and_averages(on_devices, name, batch):
    found = on_devices["fit"]["2"][name]
    assert (found["scale"], found["applied"]) == fit_wanted({batch})
    assert found["weights"][0] == found["weights"][1] and np.isfinite(found["weights"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["loop", "rich loop"])
def test_a_tape_with_sparse_gradients_takes_the_steps_of_one_device(on_devices, name):
    found = on_devices[name]
    inner = rich() if name == "rich loop" else SGD(0.1)
    one = loop_case(KerasOwn(inner))
    assert found["scales"] == one["scales"] and found["iterations"] == one["iterations"] == [5]
    assert np.ravel(one["scales"]).tolist() == [2**15, 2**15] + [2**14] * 4
    for several, single in zip(found["weights"], one["weights"], strict=True):
        assert several[0] == several[1]
        if name == "loop":  # each replica clips its own gradient
            assert np.allclose(several[0], single[0], rtol=1e-2, atol=1e-4)


@pytest.mark.slow
def test_an_optimizer_that_is_not_built_says_so_where_it_cannot_go_on(on_devices):
    assert (
        on_devices["unbuilt"]
        .strip()
        .endswith(
            "The optimizer is not built: call optimizer.build(model.trainable_variables) within "
            "strategy.scope(), before the first step."
        )
    )
    assert on_devices["unbuilt, eager"] == [[0.0], [0.0]]


@pytest.mark.slow
def test_a_model_saved_on_two_devices_is_loaded_on_one(on_devices, folder):
    model = keras.models.load_model(folder / "two.keras")
    optimizer = model.optimizer
    assert type(optimizer) is ReplicaSafeLossScaleOptimizer and optimizer.initial_scale == 2**12
    assert optimizer.dynamic_growth_steps == 2 and isinstance(optimizer.inner_optimizer, Adam)
    found = [np.ravel(v.numpy()).tolist() for v in model.weights + optimizer.variables]
    assert found == on_devices["saved"]
    assert optimizer.dynamic_scale.numpy() == 2**13 and optimizer.iterations.numpy() == 5
    x, y = data(2, ())
    model.fit(x, y, batch_size=8, verbose=0)
    assert optimizer.iterations.numpy() == 11


# Two workers


@pytest.mark.slow
def test_an_overflow_on_any_worker_is_one_skipped_step_for_both():
    results, scripts = run_workers(__file__, 2, ["worker"], show=None, timeout=200), patterns(2)
    assert results[0] == results[1]
    assert len(results[0]["play"]) == 9 and len(results[0]["eager"]) == 2
    for way in ("play", "eager"):
        for name, result in results[0][way].items():
            compare(scripts[name], result)


# One device: nothing else than Keras's own

WAYS = [None, tf.function, lambda step: tf.function(step, jit_compile=True)]


@pytest.mark.parametrize("wrap", WAYS, ids=["eager", "function", "xla"])
def test_on_one_device_the_scale_moves_as_computed(wrap):
    rig = Rig(wrap=wrap)
    for script in patterns(1).values():
        compare(script, rig.play(script))


@pytest.mark.parametrize(
    ("inner", "wrap"),
    [(rich, WAYS[0]), (rich, WAYS[2]), (lambda: SGD(0.1, clipnorm=0.5), WAYS[1]),
     (lambda: SGD(0.1, gradient_accumulation_steps=2), WAYS[1]),
     (lambda: Adam(0.1, use_ema=True, ema_overwrite_frequency=3), WAYS[2])],
    ids=["rich", "rich, xla", "clipnorm", "accumulation", "overwritten by averages"],
)  # fmt: skip
def test_on_one_device_every_bit_is_as_with_keras_own(inner, wrap):
    script = patterns(1)["at random"]
    ends = []
    for kind in (KerasOwn, ReplicaSafeLossScaleOptimizer):
        rig = Rig(kind, inner(), wrap=wrap)
        found = rig.play(script)
        ends.append((found, [v.numpy().tobytes() for v in rig.variables]))
    assert ends[0] == ends[1]


def test_both_ends_of_float32_are_reached_as_in_keras():
    """No floor and no cap."""
    for start, mark in ((2.0**-120, np.inf), (2.0**126, 1.0)):
        rig = Rig(start=start)
        scales = rig.play([[mark]] * 9)["scales"]
        assert [s[0][0] for s in scales] == expected([[mark]] * 9, start)[0]
        assert scales[-1] == [[0.0 if mark != 1 else np.inf]]


@pytest.mark.parametrize("eager", [False, True])
def test_fit_leaves_it_in_place_and_takes_the_steps_of_keras_own(eager):
    ends = []
    for kind in (KerasOwn, ReplicaSafeLossScaleOptimizer):
        optimizer = kind(Adam(), initial_scale=2.0**12, dynamic_growth_steps=2)
        model, table = fitted(optimizer, [(2, 0), (3, 0)], eager)
        assert model.optimizer is optimizer
        assert (table["scale"].tolist(), table["applied"].tolist()) == fit_wanted({2, 3})
        ends.append(model.get_weights()[0])
    assert np.array_equal(*ends)


def test_it_is_built_by_its_first_step():
    for wrap in WAYS:
        weight, optimizer = keras.Variable([1.0]), ReplicaSafeLossScaleOptimizer(SGD(0.5))

        def step(weight, optimizer):
            optimizer.apply([optimizer.scale_loss(tf.ones(1))], [weight])

        step = functools.partial(step, weight, optimizer)
        (wrap(step) if wrap else step)()
        assert weight.numpy().tolist() == [0.5]


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_saved_and_loaded_it_goes_on_under_any_policy(tmp_path, policy):
    model, _ = fitted(safe(Adam()), [(2, 0)])
    model.save(tmp_path / "one.keras")
    with dtype_policy(policy):
        loaded = keras.models.load_model(tmp_path / "one.keras")
    assert type(loaded.optimizer) is ReplicaSafeLossScaleOptimizer
    for a, b in zip(model.optimizer.variables, loaded.optimizer.variables, strict=True):
        assert np.array_equal(a, b)
    for further in (model, loaded):
        further.fit(*data(1, [(1, 0)]), batch_size=4, shuffle=False, verbose=0)
    assert np.array_equal(model.get_weights()[0], loaded.get_weights()[0])
    assert model.optimizer.dynamic_scale.numpy() == loaded.optimizer.dynamic_scale.numpy() != 2**13


def test_a_configuration_gives_an_equal_optimizer():
    optimizer = safe(Adam(0.25, global_clipnorm=2.0))
    configs = []
    for way in (lambda o: type(o).from_config(o.get_config()),
                lambda o: keras.optimizers.deserialize(keras.optimizers.serialize(o))):  # fmt: skip
        again = way(optimizer)
        assert type(again) is ReplicaSafeLossScaleOptimizer
        configs.append(again.get_config())
    assert configs[0] == configs[1] == optimizer.get_config()


@pytest.mark.parametrize("order", [1, -1])
def test_a_checkpoint_of_keras_own_is_restored_and_the_other_way_round(tmp_path, order):
    first, second = (
        Rig(kind, Adam()) for kind in (KerasOwn, ReplicaSafeLossScaleOptimizer)[::order]
    )
    first.play(patterns(1)["at random"])
    path = tf.train.Checkpoint(optimizer=first.optimizer).save(tmp_path / "step")
    tf.train.Checkpoint(optimizer=second.optimizer).restore(path).assert_consumed()
    variables = zip(first.optimizer.variables, second.optimizer.variables, strict=True)
    assert all(np.array_equal(a, b) for a, b in variables)


@pytest.mark.parametrize("settings", [{"clipnorm": 1.0}, {"use_ema": True}, {"dynamic": False}])
def test_what_keras_refuses_is_refused(settings):
    for kind in (KerasOwn, ReplicaSafeLossScaleOptimizer):
        with pytest.raises(ValueError, match="inner_optimizer"):
            kind(SGD(), **settings)


def test_outside_of_a_replica_it_raises_as_keras_does():
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    for kind in (KerasOwn, ReplicaSafeLossScaleOptimizer):
        with strategy.scope(), contextlib.ExitStack() as stack:
            rig = Rig(kind)
            stack.enter_context(pytest.raises(ValueError, match="must be called in a replica"))
            rig.optimizer.apply([tf.ones((2, 3)), tf.ones(2)], rig.weights)
