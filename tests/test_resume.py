"""Notebook 12: what Keras's own ways keep, and what a kill leaves of a file."""

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
