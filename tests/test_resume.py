"""Notebook 06, section 5: its script in real processes, killed, resumed, compared bit by bit."""

import linecache
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parent / "tools"))
from canonical import COURSE, read

CELLS = {cell.id: cell.source for cell in read(COURSE / "notebooks/06_training_loop.ipynb").cells}
PREPARE = [f"resume-{part}" for part in ("parts", "keep", "train", "step", "digest", "script")]
PREPARE += ["resume-write", "resume-launch", "resume-row", "resume-follow"]
STEPS, EVERY = 40, 5  # how long the script trains, and how often it writes a checkpoint
BOUNDARY = 10  # where its runs with a part left out stop and go on


def run_cell(name, names):
    """Run a cell so that inspect.getsource finds its functions, as in a notebook."""
    source = CELLS[name] + "\n"
    filename = f"<cell {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), names)


@pytest.fixture(scope="module")
def notebook():
    names = {}
    for cell in PREPARE:
        run_cell(cell, names)
    yield names
    names["temporary"].cleanup()


def ended(process):
    return process.returncode is not None and process.stdout.closed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "moment"), [("float32", 7), ("mixed_float16", 13), ("mixed_bfloat16", 16)]
)
def test_a_killed_run_goes_on_with_the_same_bits(policy, moment, notebook):
    launch, follow = notebook["launch"], notebook["follow"]
    victim, other = launch(policy, "killed"), launch(policy, "whole")
    killed, whole = follow(victim, other, kill_first_after=moment)
    assert ended(victim) and ended(other)
    if os.name == "posix":
        assert victim.returncode == -signal.SIGKILL
    assert moment <= len(killed) < STEPS and killed == whole[: len(killed)]
    assert len(whole) == STEPS + 1
    (resumed,) = follow(launch(policy, "resumed", start="killed"))
    first = int(resumed[0][0])
    assert first % EVERY == 1 and 1 < first <= len(killed) + 1  # it did not start afresh
    assert resumed == whole[first - 1 :]  # losses, scales, labels and every variable
    assert resumed[-1][0] == "end" and len(resumed[-1][1]) == 64
    scales = [line[2] for line in whole[:-1]]
    if policy == "mixed_float16":  # the scale is no constant that would be right by chance
        numbers = [float(scale) for scale in scales]
        assert any(a > b for a, b in zip(numbers[first:], numbers[first + 1 :], strict=False))
        assert any(a < b for a, b in zip(numbers[first:], numbers[first + 1 :], strict=False))
    else:
        assert set(scales) == {"None"}


# What a run shows from the step after the stop on: the same, or another scale, or other labels.
LEFT_OUT = {
    "nothing": "same",
    "model": "same",  # an optimizer refers to the weights it trains, and saves them too
    "iterator": "labels",
    "scale": "scale",
    "optimizer": "scale",
    "dice": "loss",
}


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_a_run_with_a_part_left_out_goes_on_with_others(policy, notebook):
    mixed = policy == "mixed_float16"
    parts = [part for part in LEFT_OUT if mixed or part != "scale"]
    launch = notebook["launch"]
    never_stopped, lines = notebook["follow"](
        launch(policy, "whole"), launch(policy, "without", leave_out=parts)
    )
    runs = {part: [line[1:] for line in lines if line[0] == part] for part in parts}
    whole, *_ = runs.values()
    assert [line[0] for line in whole] == [*map(str, range(BOUNDARY + 1, 2 * BOUNDARY + 1)), "end"]
    assert whole[:-1] == never_stopped[BOUNDARY : 2 * BOUNDARY]
    for part, run in runs.items():
        differs = LEFT_OUT[part]
        if differs == "same":
            assert run == whole, part
            continue
        assert run[-1] != whole[-1], part
        assert sum(a[1] != b[1] for a, b in zip(run, whole, strict=True)) >= BOUNDARY - 1, part
        (_, loss, scale, labels), (_, right, right_scale, right_labels) = run[0], whole[0]
        assert (labels != right_labels) == (differs == "labels"), part
        assert (loss == right) == (differs == "scale"), part  # the forward pass knows no scale
        if differs == "scale" and mixed:
            assert float(scale) >= 4 * float(right_scale)
    if mixed:
        assert {run[0][2] for run in (runs["scale"], runs["optimizer"])} == {str(2.0**23)}


def test_an_interrupt_leaves_no_process(notebook, monkeypatch):
    def interrupted(stream, **_):
        raise KeyboardInterrupt

    monkeypatch.setitem(notebook, "tqdm", interrupted)
    runs = [notebook["launch"]("float32", name) for name in ("one", "two")]
    with pytest.raises(KeyboardInterrupt):
        notebook["follow"](*runs)
    assert all(map(ended, runs))


@pytest.mark.slow
def test_a_script_that_fails_says_why(notebook):
    with pytest.raises(AssertionError, match="no_policy"):
        notebook["follow"](notebook["launch"]("no_policy", "fails"))


SAVING = """import sys, tensorflow as tf
tf.config.set_visible_devices([], "GPU")
n, v = tf.Variable(0), tf.Variable(tf.zeros(4_000_000))
manager = tf.train.CheckpointManager(tf.train.Checkpoint(n=n, v=v), sys.argv[1], max_to_keep=2)
manager.restore_or_initialize()
while True:
    n.assign_add(1)
    v.assign(tf.fill(v.shape, float(n)))
    print(int(n), flush=True)
    manager.save()"""


@pytest.mark.slow
def test_a_kill_while_a_checkpoint_is_written_leaves_the_one_before(tmp_path):
    last = 0
    for delay in (0.0, 0.01):
        command = [sys.executable, "-c", SAVING, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                first = int(process.stdout.readline())
                while int(process.stdout.readline()) < first + 4:
                    pass
                time.sleep(delay)  # it is writing number first + 4
            finally:
                process.kill()
            announced = [int(line) for line in process.stdout]
        newest = max([first + 4, *announced])
        assert first in (last, last + 1)  # it went on from what the kill before had left
        n, v = tf.Variable(0), tf.Variable(tf.zeros(4_000_000))
        newest_file = tf.train.latest_checkpoint(tmp_path)
        tf.train.Checkpoint(n=n, v=v).restore(newest_file).assert_consumed()
        last = int(n)
        assert newest - 1 <= last <= newest
        assert np.all(v.numpy() == last)  # whole, not half of one and half of another
        last += 1


def test_checkpoints_that_are_not_finished_are_not_read(tmp_path):
    n = tf.Variable(1)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(n=n), tmp_path, max_to_keep=2)
    good = manager.save()
    (tmp_path / "ckpt-2_temp").mkdir()
    (tmp_path / "ckpt-2_temp/part-00000-of-00001.data-00000-of-00001").write_bytes(b"half")
    (tmp_path / "ckpt-2.data-00000-of-00001").write_bytes(b"half")
    assert tf.train.latest_checkpoint(tmp_path) == good


class Fragile(keras.layers.Dense):
    """A layer whose saving is cut off in the middle, once asked to."""

    cut = False

    def save_own_variables(self, store):
        super().save_own_variables(store)
        if self.cut:
            raise InterruptedError


def network():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), Fragile(1)])
    model.compile(keras.optimizers.SGD(), "mse", jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    return model


def backup_of(model, path, **options):
    backup = keras.callbacks.BackupAndRestore(str(path), **options)
    backup.set_model(model)
    return backup


def test_a_backup_cut_off_while_it_is_written_has_destroyed_the_one_before(tmp_path):
    model, other = network(), network()
    backup = backup_of(model, tmp_path / "backup")
    backup.on_epoch_end(0)
    good = model.get_weights()
    model.set_weights([w + 1 for w in good])
    model.layers[-1].cut = True
    with pytest.raises(InterruptedError):
        backup.on_epoch_end(1)
    try:
        backup_of(other, tmp_path / "backup").on_train_begin()
    except (OSError, KeyError, ValueError):
        return
    assert not all(map(np.array_equal, other.get_weights(), good))


def test_with_double_checkpoint_the_backup_before_is_read(tmp_path):
    for double in (False, True):
        path = tmp_path / f"backup-{double}"
        model, other = network(), network()
        backup = backup_of(model, path, double_checkpoint=double)
        backup.on_epoch_end(0)
        good = model.get_weights()
        model.set_weights([w + 1 for w in good])
        backup.on_epoch_end(1)
        file = path / "latest.weights.h5"
        file.write_bytes(file.read_bytes()[:96])  # as after a kill in the middle
        again = backup_of(other, path, double_checkpoint=double)
        if double:
            again.on_train_begin()
            assert all(map(np.array_equal, other.get_weights(), good))
        else:
            with pytest.raises(OSError):
                again.on_train_begin()
