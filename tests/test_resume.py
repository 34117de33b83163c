"""Notebook 06, sections 9 and 10: what a run needs to go on, and what a kill leaves of
it.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tools.cells import Cells

NOTEBOOK = Cells("06_training_loop")
PREPARE = [
    f"resume-{part}" for part in ("parts", "kept", "train", "step", "digest", "script")
]
PREPARE += ["resume-write", "resume-launch", "resume-row", "resume-follow"]


@pytest.fixture(scope="module")
def notebook():
    names = NOTEBOOK.run(*PREPARE)
    yield names
    names["temporary"].cleanup()


# That a killed run goes on with the same bits is asserted by the notebook's own cells,
# and that a kill while a checkpoint is written leaves the one before, by what is read
# of a half-written one.


def test_an_interrupt_leaves_no_process(notebook, monkeypatch):
    def interrupted(stream, **_):
        raise KeyboardInterrupt

    monkeypatch.setitem(notebook, "tqdm", interrupted)
    runs = [notebook["launch"]("float32", name) for name in ("one", "two")]
    with pytest.raises(KeyboardInterrupt):
        notebook["follow"](*runs)
    assert all(run.returncode is not None and run.stdout.closed for run in runs)


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


def test_keras_own_means_keep_the_scale_and_neither_the_place_in_the_data_nor_the_dice(
    notebook,
):
    names = {
        **notebook,
        "loss_fn": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    }
    lines = NOTEBOOK.printed("resume-backup", "resume-fit", names=names)
    assert lines[0] == "18 batches, then 57 more"  # the epoch begins again
    assert names["after"][0] == names["before"][15] != names["before"][0]
    for line in NOTEBOOK.printed("resume-save", names=names):
        before, after = line[11:].split(" → ")
        assert (before == after) == (line[:4] != "dice"), line


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
