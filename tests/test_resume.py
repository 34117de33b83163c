"""Notebook 12: what Keras's own ways keep, and what a kill leaves of a file."""

from tempfile import TemporaryDirectory

import keras
import numpy as np
import pytest
import tensorflow as tf

from tools.notebook_cells import Cells

NOTEBOOK = Cells("12_stop_and_go_on")


def test_checkpoints_that_are_not_finished_are_not_read(tmp_path):
    kept = tf.train.Checkpoint(n=tf.Variable(1))
    good = tf.train.CheckpointManager(kept, tmp_path, max_to_keep=2).save()
    (tmp_path / "ckpt-2_temp").mkdir()
    for part in ("ckpt-2_temp/part-00000-of-00001.data-00000-of-00001", "ckpt-2.data"):
        (tmp_path / part).write_bytes(b"half")
    assert tf.train.latest_checkpoint(tmp_path) == good


@pytest.mark.slow
def test_keras_own_means_keep_the_scale_and_neither_the_place_in_the_data_nor_the_draws():
    names = NOTEBOOK.run("start", "one-step", "place")
    lines = NOTEBOOK.printed("look", "backup", "fit", names=names)
    assert lines[0] == "18 batches, then 57 more"  # the epoch begins again
    assert names["second"][0] == names["first"][15] != names["first"][0]
    for line in NOTEBOOK.printed("save", names=names):
        old, new = line[12:].split(" → ")
        assert (old.strip() == new) == (not line.startswith("random")), line
    names["temporary"].cleanup()


@pytest.mark.parametrize("double", [False, True])
def test_a_backup_cut_off_is_lost_unless_the_one_before_is_kept(tmp_path, double):
    def trained():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        model.compile("sgd", "mse", jit_compile=False)
        model.optimizer.build(model.trainable_variables)
        kept = keras.callbacks.BackupAndRestore(tmp_path, double_checkpoint=double)
        kept.set_model(model)
        return model, kept

    model, backup = trained()
    backup.on_epoch_end(0)
    good = model.get_weights()
    model.set_weights([w + 1 for w in good])
    backup.on_epoch_end(1)
    file = tmp_path / "latest.weights.h5"
    file.write_bytes(file.read_bytes()[:96])  # as after a kill in the middle
    again, backup = trained()
    if double:
        backup.on_train_begin()
        assert all(map(np.array_equal, again.get_weights(), good))
    else:
        with pytest.raises(OSError):
            backup.on_train_begin()


def lost(cells, without, seed=0, **scaling):
    """Stops a training of the notebook and goes on without some parts: both, after the
    same number of steps.
    """
    whole = cells["start"](seed, **scaling)
    cells["steps"](whole, 15)
    with TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(**whole).save(f"{folder}/stopped")
        resumed = cells["go_on"](path, without, seed, **scaling)
    return whole, resumed


@pytest.fixture(scope="module")
def cells():
    return NOTEBOOK.run("start", "one-step", "place", "stop", "go-on")


@pytest.mark.slow
def test_a_lost_scale_skips_only_where_it_had_moved(cells):
    for scaling in ({}, {"scale": 2.0**15, "growth": 2000}):
        whole, resumed = lost(cells, ["loss scale"], **scaling)
        ahead, here = (cells["steps"](each, 3) for each in (whole, resumed))
        assert np.array_equal(ahead, here) == bool(scaling)
        made = (each["optimizer"].iterations for each in (whole, resumed))
        assert (next(made) == next(made)) == bool(scaling)


def test_lost_moments_are_those_of_a_new_optimizer_and_leave_the_scale(cells):
    whole, resumed = lost(cells, ["moments"])
    new = cells["start"]()["optimizer"].inner_optimizer.variables
    adam = resumed["optimizer"].inner_optimizer.variables
    assert len(adam) > 8 and all(map(np.array_equal, adam, new))
    assert (
        resumed["optimizer"].dynamic_scale == whole["optimizer"].dynamic_scale != 2**24
    )
    first = cells["steps"](whole, 1) - cells["steps"](resumed, 1)
    assert np.abs(first).max() > 0


def test_everything_restored_goes_on_to_the_same_bits(cells):
    whole, resumed = lost(cells, [])
    assert np.array_equal(cells["steps"](whole, 4), cells["steps"](resumed, 4))


def examples():
    yield from range(64)


class Pipelines:
    """Those that the notebook names, each a function without arguments."""

    numbers = tf.data.Dataset.range(64)

    def generator(self):
        spec = tf.TensorSpec((), tf.int64)
        return tf.data.Dataset.from_generator(examples, output_signature=spec)

    def python(self):
        def same(number):
            return tf.py_function(abs, [number], tf.int64)

        return self.numbers.map(same)

    def random_layer(self):
        layer = keras.layers.RandomFlip()

        def flipped(number):
            return layer(tf.fill((4, 4, 1), tf.cast(number, tf.float32)), training=True)

        return self.numbers.map(flipped)

    def shuffled_and_batched(self):
        data = self.numbers.shuffle(64).cache().repeat().batch(4)
        return data.prefetch(2)

    def enumerated(self):
        def noise(place, number):
            drawn = tf.random.stateless_uniform((), seed=(7, place))
            return drawn + tf.cast(number, tf.float32)

        return self.numbers.shuffle(64).repeat().enumerate().map(noise)


@pytest.mark.parametrize("name", ["generator", "python", "random_layer"])
def test_pipelines_that_the_notebook_warns_of_cannot_be_saved(name, tmp_path):
    data = iter(getattr(Pipelines(), name)())
    with pytest.raises(tf.errors.FailedPreconditionError, match="is stateful"):
        tf.train.Checkpoint(data=data).save(tmp_path / "data")


def test_a_distributed_iterator_is_no_part_of_a_checkpoint():
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    data = iter(strategy.experimental_distribute_dataset(Pipelines.numbers.batch(8)))
    with pytest.raises(ValueError, match="trackable"):
        tf.train.Checkpoint(data=data)


@pytest.mark.parametrize("name", ["shuffled_and_batched", "enumerated"])
def test_other_pipelines_come_back_to_the_same_batch(name, tmp_path):
    make = getattr(Pipelines(), name)
    data, again = iter(make()), iter(make())
    for _ in range(3):
        next(data)
    path = tf.train.Checkpoint(data=data).save(tmp_path / "data")
    tf.train.Checkpoint(data=again).restore(path).assert_consumed()
    for _ in range(3):
        assert np.array_equal(next(data), next(again))


def test_the_cells_say_which_pipeline_is_saved_and_that_skipping_finds_the_batch(cells):
    drawn, numbered = NOTEBOOK.printed("pipelines", names=cells)
    assert drawn.endswith("RandomUniform is stateful.") and numbered.endswith("saved")
    numbers = tf.data.Dataset.range(8)
    for data, same in (
        (numbers.enumerate().repeat(), True),
        (numbers.repeat().enumerate(), False),
    ):
        draws = [float(draw) for draw in data.map(cells["by_number"]).take(16)]
        assert (draws[:8] == draws[8:]) == same
    (line,) = NOTEBOOK.printed("rebuild", names=cells)
    assert line.startswith("15 of 15 batches are the same")


def test_a_check_finds_what_was_asked_for_and_not_what_nobody_named(cells):
    asked, forgotten = NOTEBOOK.printed("assert", names=cells)
    assert asked.endswith("] an error") and forgotten.endswith("] no error")
