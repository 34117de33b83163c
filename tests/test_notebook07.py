"""What notebook 07 promises: its own cells run here on three replicas, and are looked
at.

With two replicas and two workers the notebook runs itself and asserts what it shows;
what Keras and TensorFlow do there is held by `canaries/test_devices.py`. Run as a
script, this file is what the tests start in a process of its own. Weights, scales,
dtypes, orderings are asserted, never a time.
"""

import json
import re
import sys
import time
from types import SimpleNamespace

import pytest

from course_utils import datasets, distributed
from course_utils.exercises import replicas
from tools import record
from tools.cells import Cells

NOTEBOOK = Cells("07_devices")
COUNT = 3  # what holds for two only would show here
WHEN = 3  # the step in which a replica overflows; in the notebook it is 2
KEPT = ("clipping", "wire-dtypes", "wire-table", "mistake-mean", "zero")
LSO, SAFE = "LossScaleOptimizer", "ReplicaSafeLossScaleOptimizer"


def on_three_replicas():
    names = {"__name__": "__main__", "q": SimpleNamespace(guess=None)}
    distributed.split_cpu(COUNT)
    datasets.load_mnist = datasets._sklearn_digits
    found = {
        cell: NOTEBOOK.printed(cell, names=names) for cell in ("comment", "choose")
    }
    NOTEBOOK.run("witness", names=names)
    found["witness"] = NOTEBOOK.printed("witness-run", names=names)
    NOTEBOOK.run("digits", "network", "bad-picture", "sum-first", names=names)
    NOTEBOOK.run("timeline", names=names, until="@interact")
    NOTEBOOK.run("safe", names=names, until="share_safe =")
    found["count"], found["batch"] = names["count"], names["batch"]
    # A row of the first replica, and one of the last.
    rows = [(LSO, 5), *((kind, names["batch"] - 5) for kind in (LSO, SAFE, "SumFirst"))]
    found["bad"] = [
        names["fit_with_bad_picture"](
            row, lambda kind=kind: names[kind](names["SGD"](0.1))
        )
        for kind, row in rows
    ]
    names["check_finite"] = lambda gradients, context: None  # the stub
    NOTEBOOK.run("mine", names=names, until="for replica")
    kinds = {**names["kinds"], "untouched": names["Mine"]}
    found["play"] = {
        kind: [list(distributed.play(names["strategy"], each, culprit, WHEN, steps=5))
               for culprit in range(COUNT)]
        for kind, each in kinds.items()
    }  # fmt: skip
    exec(replicas.CODE, names)  # what `check_finite` is, is looked up when it is called
    *_, last = distributed.play(names["strategy"], names["Mine"], 1, WHEN)
    found["solved"] = [[note["finite"], note["scale"]] for note in last]
    NOTEBOOK.run("fit-table", until="for policy", names=names)
    NOTEBOOK.run("wire-graph", "wire-sum", names=names)
    found |= {cell: NOTEBOOK.printed(cell, names=names) for cell in KEPT}
    NOTEBOOK.run("by-itself", names=names)
    NOTEBOOK.run("by-itself-run", until="for seed", names=names)
    tries = (names["train_long"](names[LSO], seed) for seed in (11, 12, 13))
    found["lost"] = any(words.startswith("weights lost by step") for words in tries)
    print("RESULT", json.dumps(found))


if __name__ == "__main__":
    on_three_replicas()


@pytest.fixture(scope="module")
def found():
    return distributed.run_workers(__file__, 1, timeout=400)[0]


@pytest.mark.slow
def test_the_comment_is_there_and_is_not_true(found):
    """The comment that notebook 07 opens with; where Keras mends it, mend the notebook."""
    said = " ".join(line.lstrip("# ") for line in found["comment"][1:])
    assert "optimizers/loss_scale_optimizer.py" in found["comment"][0]
    assert (
        "`grads` is all-reduced across replicas. Arbitrarily take `finite` from the first"
        in said
    )
    assert found["witness"] == ["they look at 1.0 2.0 3.0 · the weight moves by 6.0"]
    assert " ".join(found["choose"]).startswith("MirroredStrategy on CPU:0 CPU:1 CPU:2")
    assert found["batch"] % COUNT == 0 and found["count"] % found["batch"] == 0


def test_one_device_is_refused_and_not_told_as_if_it_were_two(monkeypatch):
    strategy = SimpleNamespace(num_replicas_in_sync=1)
    alone = SimpleNamespace(kind="", devices=(), reason="", strategy=lambda: strategy)
    monkeypatch.setattr(distributed, "choose", lambda: alone)
    with pytest.raises(AssertionError, match="restart the kernel"):
        NOTEBOOK.printed("choose")


@pytest.mark.slow
def test_a_bad_picture_is_survived_on_the_first_replica_alone_and_with_both_cures_on_all(
    found,
):
    assert found["bad"] == [1, 0, 1, 1]
    assert found["lost"]


@pytest.mark.slow
def test_what_the_lanes_show(found):
    """Which replicas take a step, and in which all-reduces they are: both orders of the
    cure.
    """
    steps = [(culprit, step, rank) for culprit in range(COUNT) for step in range(5)
             for rank in range(COUNT)]  # fmt: skip
    sums = {"check first": ["flag"], "sum first": ["gradients"]}
    for culprit, step, rank in steps:
        row = {kind: runs[culprit][step][rank] for kind, runs in found["play"].items()}
        own = row["Keras's own"]
        safe = row["check first"]
        assert safe["step"] == step and safe["replica"] == rank
        assert safe["overflow"] == (step == WHEN and rank == culprit)
        assert (
            safe["scale"] == (2.0**14 if step >= WHEN else 2.0**15) and safe["finite"]
        )
        assert safe["taken"] == (step != WHEN)
        for kind, asked in sums.items():
            more = ["gradients"] * (kind == "check first" and step != WHEN)
            assert row[kind] == {**safe, "sums": asked + more}
        assert own["sums"] == ["gradients"] * own["taken"]
        if culprit == 0:
            assert {**own, "sums": safe["sums"]} == safe
        else:  # not seen: infinity goes into everybody's weight; NaN is no longer equal
            assert (
                own["scale"] == 2.0**15
                and own["taken"]
                and own["finite"] == (step < WHEN)
            )
        # a stub leaves it to Keras
        assert {**row["untouched"], "sums": own["sums"]} == own
    assert found["solved"] == [[True, 2.0**14]] * COUNT


@pytest.mark.slow
def test_what_is_printed_is_what_the_text_says(found):
    """Clipped gradients are added up, all travel in float32, and a sum is no mean."""
    assert f"moved by 1.00 on one device, by {COUNT}.00 on" in found["clipping"][0]
    assert found["wire-dtypes"] == ["{'float32'}"]
    assert [line.split()[-1] for line in found["mistake-mean"]] == [str(COUNT), "1"]
    rows = [re.findall(r"error ([\w.+-]+), not finite: +(\d+) .* (\d+) by", line)[0]
            for line in found["wire-table"]]  # fmt: skip
    bfloat16, float16 = (
        [(float(e), int(a) + int(b)) for e, a, b in rows[k::2]] for k in (0, 1)
    )
    for (error, lost), (error16, lost16) in zip(bfloat16[:2], float16, strict=False):
        assert lost16 == lost == 0 and 4 * error16 < error < 1e-2
    assert float16[2][1] > 0 == bfloat16[2][1]  # at the largest scale
    # Figure 1 of the paper, and what a ring sends; in stage 3 half as much again.
    paper = [line.split(": ")[1].split() for line in found["zero"][-4:]]
    held = [round(float(words[0].replace(",", "")) / 1e3, 1) for words in paper]
    assert held == [120, 31.4, 16.6, 1.9]
    assert [words[4] for words in paper] == ["29,531.25"] * 3 + ["44,296.88"]


@pytest.mark.slow
def test_a_hang_is_followed_to_its_end_and_nothing_is_left(capsys):
    notes, workers = distributed.play_on_workers("own", 1, when=1)
    done = [
        (note["step"], note["replica"], note["taken"], note["scale"]) for note in notes
    ]
    assert sorted(done) == [
        (0, 0, True, 2**15),
        (0, 1, True, 2**15),
        (1, 1, False, 2**14),
    ]
    printed = capsys.readouterr().out.splitlines()
    assert {"worker 0 · silence", "worker 1 · silence"} <= set(printed)
    assert workers.stubborn == [0, 1] and "was ended by SIGKILL" in workers.endings


@pytest.mark.slow
def test_what_is_recorded_of_keras_on_jax_are_the_notebook_s_tries_and_still_so(
    monkeypatch,
):
    """Recorded by tools/record.py, for those who have no JAX."""
    tries = record.tries()
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda name: None)
        recorded = distributed.on_jax(tries)
    where = recorded.pop("where")
    assert where.startswith("Keras 3.") and " on JAX " in where and "2 devices" in where
    assert list(recorded) == list(tries)
    uneven = recorded.pop("batches of one less")
    assert "Error" in uneven and set(list(recorded.values())[-2:]) == {
        "100% of the weights finite"
    }
    assert set(list(recorded.values())[:-2]) == {"works"}
    pytest.importorskip("jax")
    fresh = distributed.on_jax(tries)
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


def test_a_worker_that_waits_says_so_once_after_its_last_step(capfd, monkeypatch):
    """Two that said so together once printed it into one line, in two of ten runs."""
    # the package has a function of this name
    play = sys.modules["course_utils.distributed.play"]
    monkeypatch.setattr(play, "SILENCE", 0.3)
    play.print_as_they_come([["step 0"], ["step 1"], ["step 2"]])
    time.sleep(1)
    assert capfd.readouterr().out == '["step 0"]\n["step 1"]\n["step 2"]\nsilence\n'
