"""What a learner sees of workers that wait, and of workers that were killed: a hang is
followed to its end, and training goes on from a checkpoint that all have.
"""

import time

import pytest

from course_utils.distributed import drill
from course_utils.lessons.nb07 import fit_attempts
from tools import record
from tools.notebook_cells import Cells

NOTEBOOK = Cells("07_devices")


@pytest.mark.slow
def test_what_is_recorded_of_keras_on_jax_are_the_notebook_s_tries_and_still_so(
    monkeypatch,
):
    """Recorded by tools/record.py, for those who have no JAX."""
    attempts = record.attempts()
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda name: None)
        recorded = fit_attempts.on_jax(attempts)
    where = recorded.pop("where")
    assert where.startswith("Keras 3.") and " on JAX " in where and "2 devices" in where
    assert list(recorded) == list(attempts)
    uneven = recorded.pop("batches of one less")
    assert "Error" in uneven and set(list(recorded.values())[-2:]) == {
        "100% of the weights finite"
    }
    assert set(list(recorded.values())[:-2]) == {"works"}
    pytest.importorskip("jax")
    fresh = fit_attempts.on_jax(attempts)
    assert {name: fresh.get(name) for name in recorded} == recorded, fresh["where"]


def test_workers_go_on_from_the_newest_checkpoint_that_all_have(tmp_path):
    """A kill can fall between two of them."""
    import tensorflow as tf

    newest = NOTEBOOK.run("killed-newest", names={"tf": tf})["newest_of_all"]
    assert newest(tmp_path, 2) is None
    for rank, steps in ((0, (5, 10, 15)), (1, (5, 10))):
        checkpoint = tf.train.Checkpoint(n=tf.Variable(rank))
        manager = tf.train.CheckpointManager(
            checkpoint, tmp_path / str(rank), max_to_keep=2
        )
        for step in steps:
            manager.save(checkpoint_number=step)
        assert newest(tmp_path, rank + 1) == {0: 15, 1: 10}[rank]
    assert newest(tmp_path, 3) is None


def test_a_worker_that_waits_says_so_once_after_its_last_step(capfd):
    """Two that said so together once printed it into one line, in two of ten runs."""
    drill.print_as_they_come([["step 0"], ["step 1"], ["step 2"]], 0.3)
    time.sleep(1)
    assert capfd.readouterr().out == '["step 0"]\n["step 1"]\n["step 2"]\nsilence\n'
