"""Notebook 12: what a run needs to go on, and what a kill leaves of it."""

import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from tools.cells import Cells

NOTEBOOK = Cells("12_stop_and_go_on")
PREPARE = ["start", "one-step", "place", "digest", "train", "script", "run"]
MOMENTS = [step for step in range(6, 40) if step % 5]


@pytest.fixture(scope="module")
def notebook():
    names = NOTEBOOK.run(*PREPARE)
    yield names
    names["temporary"].cleanup()


@pytest.mark.slow
def test_ten_of_ten_killed_runs_end_with_the_same_bits(notebook):
    run = notebook["run"]
    alone = run("alone")
    assert list(alone) == list(range(1, 41)) and len(set(alone.values())) > 20
    for moment in random.SystemRandom().sample(MOMENTS, 10):
        assert max(run(f"killed-{moment}", moment)) == moment
        again = run(f"killed-{moment}")
        assert list(again) == list(range(moment // 5 * 5 + 1, 41)), moment
        assert all(alone[step] == bits for step, bits in again.items()), moment


def test_checkpoints_that_are_not_finished_are_not_read(tmp_path):
    n = tf.Variable(1)
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(n=n), tmp_path, max_to_keep=2
    )
    good = manager.save()
    (tmp_path / "ckpt-2_temp").mkdir()
    (tmp_path / "ckpt-2_temp/part-00000-of-00001.data-00000-of-00001").write_bytes(
        b"half"
    )
    (tmp_path / "ckpt-2.data-00000-of-00001").write_bytes(b"half")
    assert tf.train.latest_checkpoint(tmp_path) == good


def test_keras_own_means_keep_the_scale_and_neither_the_place_in_the_data_nor_the_draws(
    notebook,
):
    lines = NOTEBOOK.printed("look", "backup", "fit", names=notebook)
    assert lines[0] == "18 batches, then 57 more"  # the epoch begins again
    assert notebook["second"][0] == notebook["first"][15] != notebook["first"][0]
    for line in NOTEBOOK.printed("save", names=notebook):
        old, new = line[12:].split(" → ")
        assert (old.strip() == new) == (not line.startswith("random")), line


@pytest.mark.parametrize("double", [False, True])
def test_a_backup_cut_off_is_lost_unless_the_one_before_is_kept(tmp_path, double):
    models, backups = [], []
    for _ in range(2):
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        model.compile("sgd", "mse", jit_compile=False)
        model.optimizer.build(model.trainable_variables)
        backup = keras.callbacks.BackupAndRestore(
            str(tmp_path), double_checkpoint=double
        )
        backup.set_model(model)
        models.append(model)
        backups.append(backup)
    backups[0].on_epoch_end(0)
    good = models[0].get_weights()
    models[0].set_weights([w + 1 for w in good])
    backups[0].on_epoch_end(1)
    file = tmp_path / "latest.weights.h5"
    file.write_bytes(file.read_bytes()[:96])  # as after a kill in the middle
    if double:
        backups[1].on_train_begin()
        assert all(map(np.array_equal, models[1].get_weights(), good))
    else:
        with pytest.raises(OSError):
            backups[1].on_train_begin()
