"""Comparisons are fair, bounded, interruptible, and say what they could not see."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils import benchmark, figures, hardware, models, training
from course_utils.benchmark import TimedModel, compare, keras_device, rates, timer
from course_utils.distributed.strategies import Choice
from course_utils.hardware import accelerators

pytestmark = pytest.mark.slow
RNG = np.random.default_rng(0)
X = RNG.random((300, 28, 28, 1), dtype="float32")
Y = (X.mean((1, 2, 3)) > 0.5).astype("int32")
SAPPHIRE = hardware.Hardware(
    "Linux x86_64", "some Xeon", 2, ("amx_bf16", "avx512_fp16")
)


def compiled(layers):
    model = keras.Sequential([keras.Input((28, 28, 1)), *layers])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, jit_compile=False)
    return model


def build_tiny():
    layers = keras.layers
    hidden = layers.Dense(8, activation="relu")
    return compiled([layers.Flatten(), hidden, layers.Dense(10, dtype="float32")])


def build_conv():
    layers = keras.layers
    return compiled(
        [layers.Conv2D(2, 9, 9), layers.Flatten(), layers.Dense(10, dtype="float32")]
    )


def comparison(**options):
    settings = {"batch_size": 32, "seconds": 0, "policies": ("float32",), **options}
    return benchmark.compare_policies(build_tiny, X, Y, **settings)


def interrupt_at(monkeypatch, number, owner, name):
    """Raises KeyboardInterrupt at one call of a function, as a person does at some
    time.
    """
    real = getattr(owner, name)
    calls = []

    def called(*args, **options):
        calls.append(1)
        if len(calls) == number:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(owner, name, called)


@pytest.fixture(scope="module")
def three():
    """All three policies, without time."""
    with pytest.MonkeyPatch.context() as patch:
        real = compare._right
        patch.setattr(compare, "_right", lambda *args: real(*args[:-1], 1e9))
        return comparison(policies=benchmark.POLICIES, validation_data=(X, Y))


def test_the_table_follows_from_the_steps(three):
    table = three.table
    steps = three.steps
    assert list(table.index) == list(benchmark.POLICIES)
    for policy, row in table.iterrows():
        seconds = steps.loc[steps["policy"] == policy, "seconds"]
        assert row["step_ms"] == pytest.approx(1e3 * seconds.median())
        turns = steps.pivot(index="round", columns="policy", values="seconds")
        ratios = turns["float32"] / turns[policy]
        assert row["speedup"] == pytest.approx(ratios.median())
        # three rounds are no interval
        assert np.isnan(row["speedup_low"])
        apart = (three.right[policy] != three.right["float32"]).sum()
        assert row["accuracy"] == three.right[policy].mean()
        if policy != "float32":
            assert row["gap_se"] == pytest.approx(math.sqrt(apart) / 300)
    assert (table["steps"] == 3).all()  # without time there are three rounds
    assert table["verdict"].dropna().to_dict() == dict.fromkeys(
        benchmark.POLICIES[1:], "cannot tell"
    )
    assert three.batch_size == 32 and not three.interrupted
    assert keras.config.dtype_policy().name == "float32"
    assert table["peak_mb"].notna().all() == benchmark.counts_memory()


def test_policies_take_turns_from_the_same_start_on_the_same_batches(three):
    assert set(three.steps.groupby("round")["policy"].first()) == set(
        benchmark.POLICIES
    )
    assert (three.steps.groupby("round")["policy"].nunique() == 3).all()
    loss = three.steps.pivot(index="round", columns="policy", values="loss")
    assert np.allclose(loss["float32"], loss["mixed_bfloat16"], rtol=0.02)
    assert not np.allclose(loss["float32"].iloc[0], loss["float32"].iloc[1], rtol=1e-6)


@pytest.mark.parametrize("true", [0.98, 1.0, 2.0])
def test_a_ratio_s_interval_holds_the_true_one_and_slow_moments_of_both_do_not_move_it(
    true,
):
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(200):
        moments = rng.lognormal(0, 1, 60)  # the machine's, which hit both
        noise = rng.lognormal(0, 0.05, (2, 60))
        ratio = benchmark.paired(moments * noise[0], moments * true * noise[1])
        held += ratio.low <= true <= ratio.high
        assert ratio.low <= ratio.median <= ratio.high < 1.1 * ratio.low
        assert true != 2.0 or ratio.verdict("a", "b") == "a"
    assert held > 180  # 95 %, or a little more
    assert benchmark.paired([np.nan], [1.0]).verdict("a", "b") == "cannot tell"


@pytest.mark.parametrize(
    "number, name, unmeasured", [(2, "__init__", True), (8, "step", False)]
)
def test_an_interrupt_keeps_complete_rounds(number, name, unmeasured, monkeypatch):
    interrupt_at(monkeypatch, number, TimedModel, name)
    result = comparison(policies=("float32", "mixed_bfloat16"), validation_data=(X, Y))
    assert result.interrupted and any("interrupted" in note for note in result.notes)
    assert (
        result.table["peak_mb"].isna().all() and result.table["accuracy"].isna().all()
    )
    assert result.table["steps"].nunique() == 1 and len(result.table) == 2
    assert (result.table["steps"].iloc[0] == 0) == unmeasured
    assert "unknown" in figures.comparison(result, guess=0.5).alt


@pytest.mark.parametrize(("pace", "count"), [("1", 3), ("0.2", 1)])
def test_in_haste_memory_is_measured_once(pace, count, monkeypatch):
    seeds = []
    monkeypatch.setenv("COURSE_PACE", pace)
    monkeypatch.setattr(compare, "counts_memory", lambda: True)
    monkeypatch.setattr(
        compare, "_peak_mb", lambda _, __, seed, *batch: seeds.append(seed) or 2.0
    )
    assert (comparison().table["peak_mb"] == 2).all() and seeds == [*range(count)]


def test_an_allocator_that_does_not_count_is_said_so(monkeypatch):
    monkeypatch.setattr(keras_device, "start_peak", lambda: None)
    result = comparison(policies=("mixed_bfloat16",))
    assert any("allocator" in note for note in result.notes)
    # there is no float32
    assert result.table[["peak_mb", "speedup"]].isna().all(axis=None)


def test_errors_are_one_sentence():
    with pytest.raises(ValueError, match="choose a smaller batch_size"):
        comparison(batch_size=301)
    with pytest.raises(ValueError, match="must return a compiled model"):
        benchmark.compare_policies(models.mnist_cnn, X, Y, batch_size=32, seconds=0)


def test_float16_convolutions_run_under_xla_on_the_cpus_that_need_it(monkeypatch):
    monkeypatch.setattr(hardware, "detect", lambda: SAPPHIRE)
    monkeypatch.setattr("tensorflow.__version__", "2.21.0")
    monkeypatch.setattr(
        keras_device, "start_peak", lambda: None
    )  # fewer models to compile
    policies = ("float32", "mixed_float16")
    result = benchmark.compare_policies(
        build_conv, X, Y, policies, batch_size=32, seconds=0
    )
    assert (result.table["steps"] == 3).all() and np.isfinite(
        result.steps["loss"]
    ).all()
    said = [
        note
        for note in result.notes
        if note.startswith("mixed_float16 is compiled with XLA")
    ]
    assert len(said) == 1
    assert not TimedModel(
        build_tiny, "mixed_float16"
    ).model.jit_compile  # no convolution


# ------------------------------------------------------------------ one training


def test_the_same_seed_gives_the_same_batches():
    def take(seed):
        source = benchmark.batches(X, Y, 50, seed)
        return [next(source)[1].tolist() for _ in range(9)]

    assert take(1) == take(1) != take(2)
    all300 = benchmark.batches(np.arange(300), np.arange(300), 100, 0)
    assert {*np.concatenate([next(all300)[0] for _ in range(3)])} == {*range(300)}


def test_tf32_is_tried_and_left_as_it_was(monkeypatch):
    now = tf.config.experimental.tensor_float_32_execution_enabled
    seen, real = [], keras.ops.matmul
    monkeypatch.setitem(rates.MATRICES, rates.device_kind(), (8,))
    monkeypatch.setattr(
        keras.ops, "matmul", lambda *ab: seen.append(now()) or real(*ab)
    )
    benchmark.ceilings(0, ("tf32", "float32"))
    assert {*seen} == {True, False} and now()


def test_a_restart_is_a_new_training_of_the_same_graph():
    mine = TimedModel(build_tiny, "mixed_float16", seed=5)
    first = [mine.step(X[:64], Y[:64]).loss for _ in range(4)]
    for seed in (5, 6):
        mine.restart(seed)
        losses = [mine.step(X[:64], Y[:64]).loss for _ in range(4)]
        assert (losses == first) == (seed == 5)


def test_a_training_in_the_scope_of_a_strategy_ends_in_the_same_bits(monkeypatch):
    """A stand-in for a TPU, in whose scope models are built."""
    import tensorflow as tf

    def trained():
        mine = TimedModel(build_tiny, "mixed_float16")
        mine.step(X[:64], Y[:64])
        mine.model.fit(X, Y, verbose=0)
        assert mine.right(X, Y).shape == Y.shape
        weights = [np.ravel(weight) for weight in mine.model.get_weights()]
        return type(mine.model.distribute_strategy), np.concatenate(weights)

    alone, outside = trained()
    one = tf.distribute.OneDeviceStrategy("CPU:0")
    tpu = Choice("TPUStrategy", ("TPU:0",), "")
    monkeypatch.setattr("course_utils.distributed.strategies.choose", lambda: tpu)
    monkeypatch.setattr(accelerators, "tpu_strategy", lambda: one)
    assert type(benchmark.build(build_tiny).distribute_strategy) is type(one)
    kind, inside = trained()
    assert kind is type(one) is not alone and np.array_equal(inside, outside)


# ------------------------------------------------------------------ curves


@pytest.mark.mnist
def test_real_mnist_is_learned_equally_well():
    """97 % on the full test set after five epochs of 10,000 digits, within a point."""
    from course_utils import datasets

    digits = datasets.load_mnist()
    assert not digits.is_fallback and len(digits.x_test) == 10_000
    x = (digits.x_train[:10_000, ..., None] / 255).astype("float32")
    y = digits.y_train[:10_000]
    x_test = (digits.x_test[..., None] / 255).astype("float32")
    accuracy = {}
    for policy in ("float32", "mixed_bfloat16"):
        keras.utils.set_random_seed(0)
        with training.dtype_policy(policy):
            model = compiled(models.mnist_cnn().layers)
        model.fit(x, y, batch_size=32, epochs=5, verbose=0)
        accuracy[policy] = np.mean(
            model.predict(x_test, verbose=0).argmax(-1) == digits.y_test
        )
    assert min(accuracy.values()) >= 0.97
    assert abs(accuracy["float32"] - accuracy["mixed_bfloat16"]) <= 0.01


def test_loss_curves_have_equal_lengths_and_share_their_start():
    curves = benchmark.loss_curves(build_tiny, X, Y, seconds=0.5)
    assert curves.groupby(["policy", "seed"]).size().nunique() == 1
    start = curves[curves["step"] == 0].pivot(
        index="seed", columns="policy", values="loss"
    )
    assert np.allclose(start["float32"], start["mixed_float16"], rtol=0.01)
    assert start["float32"].nunique() == 3


@pytest.mark.parametrize("at, name", [(1, "__init__"), (26, "step")])
def test_interrupted_curves_keep_their_form(at, name, monkeypatch):
    """While a model is built, and in the second seed."""
    interrupt_at(monkeypatch, at, TimedModel, name)
    monkeypatch.setattr(compare, "rounds", lambda *args, **options: iter(range(6)))
    curves = benchmark.loss_curves(build_tiny, X, Y)
    assert list(curves.columns) == ["policy", "seed", "step", "loss"]
    assert curves["loss"].isna().sum() == 0 and curves.empty == (name == "__init__")


# ------------------------------------------------------------------ rates


def test_what_a_case_counts_as_and_what_an_interrupt_keeps(monkeypatch, capsys):
    """Two operations a multiplication; each pass through an array of 128 or 8 MiB."""
    monkeypatch.setattr(rates, "device_kind", lambda: "CPU")
    monkeypatch.setitem(rates.MATRICES, "CPU", (8,))
    monkeypatch.setattr(timer, "_seconds", lambda run, count: 0.5)
    found = benchmark.ceilings(0, ("float32",))
    assert found["value"].tolist() == pytest.approx(
        [
            2 * 8**3 / 1e12 / 0.5,
            2 * 128 * 2**20 / 1e9 / 0.5,
            3 * 128 * 2**20 / 1e9 / 0.5,
            2 * 8 * 2**20 / 1e9 / 0.5,
            3 * 8 * 2**20 / 1e9 / 0.5,
        ]
    )
    interrupt_at(monkeypatch, 6, timer, "_seconds")
    assert (
        benchmark.ceilings(1, ("float32",)).empty
        and "Interrupted" in capsys.readouterr().out
    )
    interrupt_at(monkeypatch, 21, timer, "_seconds")  # in the second round
    assert len(benchmark.ceilings(1, ("float32",))) == 5


# ------------------------------------------------------------------ the timer


class Clock:
    """A clock that only moves when somebody works."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(timer.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(
            timer, "rounds", lambda seconds, label, at_least: range(at_least)
        )

    def work(self, *seconds):
        """A function that takes these times, the last one from then on."""
        left = list(seconds)

        def run():
            self.now += left.pop(0) if len(left) > 1 else left[0]
            return keras.ops.zeros((2,))

        return run


def test_rounds_count_to_a_number_or_to_a_time(monkeypatch):
    assert list(timer.rounds(0, "x", at_least=2)) == [0, 1]
    clock = iter(np.arange(0, 100, 0.5))
    monkeypatch.setattr(timer.time, "perf_counter", lambda: float(next(clock)))
    assert list(timer.rounds(2.0, "x")) == [0, 1, 2]
    monkeypatch.setenv("COURSE_PACE", "0.25")
    assert list(timer.rounds(8.0, "x")) == [0, 1, 2]
    # never fewer than three, or than was asked for; notebook 10 drops the first two
    for least, count in ((2, 2), (3, 3), (6, 3), (20, 5)):
        assert len(list(timer.rounds(0, "x", at_least=least))) == count
    assert list(timer.turns({"a": 1, "b": 2}, 8)) == [("a", 1), ("b", 2)] * 3


def test_the_median_counts_without_first_calls_and_short_ones_together(monkeypatch):
    clock = Clock(monkeypatch)
    order = []

    def noted(name, *seconds):
        run = clock.work(*seconds)
        return lambda: (order.append(name), run())[1]

    # tracing, caches, the call that tells how many to time together
    first = 9.0, 9.0, 0.02
    cases = {
        "short": noted("s", 0.001),
        "long": noted("l", *first, 0.03, 0.04, 0.05, 0.9, 0.05),
    }
    none = {"none": lambda: keras.ops.ones((2,), "bfloat16")}  # too short for the clock
    found = benchmark.in_turns(cases | none)
    assert found == {"short": pytest.approx(1), "long": pytest.approx(50), "none": 0}
    assert "".join(order) == "sss" + "lll" + 5 * ("sssss" + "l")


def test_a_timing_ends_when_a_number_is_back(monkeypatch):
    """A device may still work on a result that it has handed out."""
    clock = Clock(monkeypatch)
    read = []

    class Number:
        def __float__(self):
            read.append(clock.now)
            clock.now += 0.1  # until the device has finished
            return 0.0

    monkeypatch.setattr(keras.ops, "cast", lambda *_: Number())
    found = benchmark.in_turns({"asynchronous": clock.work(0.0)})
    assert len(read) == 3 + 5 and found["asynchronous"] == pytest.approx(100)
