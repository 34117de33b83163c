"""What notebook 07 promises: its own cells run here on three replicas, and are looked at.

With two replicas and two workers the notebook runs itself and asserts what it shows; what Keras and
TensorFlow do there is held by `canaries/test_devices.py`. Run as a script, this file is what the
tests start in a process of its own. Weights, scales, dtypes, orderings are asserted, never a time.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from course_utils import datasets, distributed

sys.path.insert(0, str(Path(__file__).parent / "tools"))
from cells import Cells

NOTEBOOK = Cells("07_devices")
COUNT = 3  # what holds for two only would show here
WHEN = 3  # the step in which a replica overflows; in the notebook it is 2
KEPT = ("clipping", "wire-dtypes", "mistake-wrap", "mistake-mean", "mistake-build", "mistake-scale")
LSO, SAFE = "LossScaleOptimizer", "ReplicaSafeLossScaleOptimizer"


def pictures(count):
    """Ten kinds of noisy pictures, one label in five wrong: so the gradients do not vanish."""
    rng = np.random.default_rng(8)
    kinds, labels = rng.integers(0, 256, (10, 28, 28)), rng.integers(0, 10, count)
    noise = rng.integers(0, 256, (count, 28, 28))
    shown = np.where(rng.random(count) < 0.2, rng.integers(0, 10, count), labels)
    return ((kinds[labels] + 2 * noise) // 3).astype("uint8"), shown


def on_three_replicas():
    names = {"__name__": "__main__", "q": SimpleNamespace(guess=None)}
    distributed.split_cpu(COUNT)
    images, labels = pictures(1100)
    datasets.load_mnist = lambda: SimpleNamespace(
        x_train=images[:900], y_train=labels[:900], x_test=images[900:], y_test=labels[900:]
    )
    found = {"choose": NOTEBOOK.printed("choose", names=names)}
    cells = ("run", "digits", "network", "weights", "bad-picture", "play", "play-rows", "cure")
    NOTEBOOK.run(*cells, names=names)
    few = [("fit(x, y,", "fit(x[:2 * batch], y[:2 * batch],"), ("epochs=2", "epochs=1")]
    found["fit"] = NOTEBOOK.printed("fit-table", names=names, replaced=few)
    found["attempts"] = NOTEBOOK.printed("attempts", "attempts-table", names=names)
    found["summed"] = [np.ravel(v).tolist() for v in names["local"](names["total"])]
    found["count"], found["batch"] = names["count"], names["batch"]
    NOTEBOOK.run("safe", until="share_safe =", names=names)
    found["bad"] = bad_pictures(names)
    NOTEBOOK.run("wire-graph", "wire-sum", names=names)
    found["wire"] = wire(names)
    found |= {cell: NOTEBOOK.printed(cell, names=names) for cell in KEPT}
    found["play"] = {
        kind: [list(names["play"](names["strategy"], names[kind], culprit, WHEN, steps=5))
               for culprit in range(COUNT)]
        for kind in (LSO, "AllDecide")
    }  # fmt: skip
    NOTEBOOK.run("by-itself", names=names)
    NOTEBOOK.run("by-itself-run", until="for seed", names=names)
    tries = (names["train_long"](names[LSO], seed) for seed in (11, 12, 13))
    found["lost"] = any(words.startswith("weights lost by step") for words in tries)
    names["share_finite"] = {row: found["bad"][LSO][row][0] for row in (0, 1)}
    names["share_safe"] = {0: 1.0, 63: 1.0}
    found["recap"] = NOTEBOOK.printed("recap-guess", names=names)
    print("RESULT", json.dumps(found))


def bad_pictures(names):
    """Share of finite weights, and the words, for a row of the first and of the last replica."""
    part = names["batch"] // COUNT
    return {
        kind: [names["fit_with_bad_picture"](row, lambda kind=kind: names[kind](names["SGD"](0.1)))
               for row in rows]
        for kind, rows in ((LSO, (5, part * (COUNT - 1) + 5)), (SAFE, (part * (COUNT - 1) + 5,)))
    }  # fmt: skip


def wire(names):
    """{"scale dtype": how many sums are not finite, and the error of the others}"""
    summed, found = names["summed"], {}
    largest = max(s for s in (2.0**k for k in range(12, 30)) if summed("float32", s)[-1])
    for name, scale in (("1", 1.0), ("256", 2.0**8), ("largest", largest)):
        exact = summed("float32", scale)[0]
        for dtype in ("bfloat16", "float16"):
            sent = summed(dtype, scale)[0]
            good = np.isfinite(sent)
            error = np.linalg.norm((sent - exact)[good]) / np.linalg.norm(exact)
            found[f"{name} {dtype}"] = [int((~good).sum()), float(error)]
    return found


if __name__ == "__main__":
    on_three_replicas()


@pytest.fixture(scope="module")
def found():
    return distributed.run_workers(__file__, 1, timeout=400)[0]


@pytest.mark.slow
def test_the_strategy_is_mirrored_and_every_replica_gets_the_sum(found):
    assert " ".join(found["choose"]).startswith("MirroredStrategy on CPU:0 CPU:1 CPU:2")
    assert found["summed"] == [[COUNT * (COUNT + 1) / 2]] * COUNT
    assert found["batch"] % COUNT == 0 and found["count"] % found["batch"] == 0


def test_one_device_is_refused_and_not_told_as_if_it_were_two(monkeypatch):
    strategy = SimpleNamespace(num_replicas_in_sync=1)
    alone = SimpleNamespace(kind="", devices=(), reason="", strategy=lambda: strategy)
    monkeypatch.setattr(distributed, "choose", lambda: alone)
    with pytest.raises(AssertionError, match="restart the kernel"):
        NOTEBOOK.printed("choose")


@pytest.mark.slow
def test_fit_gets_the_weights_of_one_device_and_five_ways_of_it_fail(found):
    """At the same global batch the weights differ by rounding: here after two steps."""
    for line, margin in zip(found["fit"], (1e-5, 5e-2, 5e-2), strict=True):
        assert float(line.split()[-1]) < margin, line
    said = {line[:22].strip(): line[23:] for line in found["attempts"]}
    wanted = ["works", *["InvalidArgumentError"] * 3, *["RuntimeError: `merge_call`"] * 2]
    for told, (name, start) in zip(said.values(), zip(said, wanted, strict=True), strict=True):
        assert told.startswith(start), name
    for name, why in {
        "steps_per_execution=2": "placeholder",
        "jit_compile=True": "replica_",
    }.items():
        assert why in said[name]


@pytest.mark.slow
def test_a_bad_picture_is_survived_on_the_first_replica_alone_and_with_the_cure_on_all(found):
    first, last = found["bad"][LSO]
    for share, words in (first, *found["bad"][SAFE]):
        assert share == 1 and "scale 16,384" in words
    assert last[0] == 0
    guess, own, safe = found["recap"]
    assert "none" in guess and " 50 % survive" in own and " 100 % survive" in safe
    assert "100% finite" in own and " 0% finite" in own
    assert found["lost"]


@pytest.mark.slow
def test_what_the_two_timelines_show(found):
    steps = [(culprit, step, rank) for culprit in range(COUNT) for step in range(5)
             for rank in range(COUNT)]  # fmt: skip
    for culprit, step, rank in steps:
        row, safe = (found["play"][kind][culprit][step][rank] for kind in (LSO, "AllDecide"))
        assert row["step"] == safe["step"] == step and row["replica"] == rank
        assert row["overflow"] == (step == WHEN and rank == culprit)
        assert safe["scale"] == (2.0**14 if step >= WHEN else 2.0**15) and safe["finite"]
        assert safe["taken"] == (step != WHEN)
        if culprit == 0:
            assert row == safe
        else:  # not seen: infinity goes into everybody's weight; NaN is no longer equal
            assert row["scale"] == 2.0**15 and row["taken"] and row["finite"] == (step < WHEN)


@pytest.mark.slow
def test_16_bits_on_the_wire_cost_what_section_6_says(found):
    for scale in ("1", "256"):
        (lost16, error16), (lost, error) = (
            found["wire"][f"{scale} {dtype}"] for dtype in ("float16", "bfloat16")
        )
        assert lost16 == lost == 0 and 4 * error16 < error < 1e-2
    assert found["wire"]["largest float16"][0] > 0 == found["wire"]["largest bfloat16"][0]


@pytest.mark.slow
def test_what_is_printed_is_what_the_text_says(found):
    """Clipped gradients are added up, all travel in float32, and mistakes go wrong as shown."""
    assert f"moved by 1.00 on one device, by {COUNT}.00 on" in found["clipping"][0]
    assert found["wire-dtypes"] == ["{'float32'}"]
    assert found["mistake-wrap"] == [f"wrong: {LSO}", f"right: {SAFE}"]
    assert [line.split()[-1] for line in found["mistake-mean"]] == [str(COUNT), "1"]
    assert found["mistake-build"] == ["wrong: InvalidArgumentError", "right: works"]
    assert found["mistake-scale"] == ["wrong: TypeError", "right: 32768.0"]


def test_workers_go_on_from_the_newest_checkpoint_that_all_have(tmp_path):
    """A kill can fall between two of them."""
    import tensorflow as tf

    newest = NOTEBOOK.run("killed-newest", names={"tf": tf})["newest_of_all"]
    assert newest(tmp_path, 2) is None
    for rank, steps in ((0, (5, 10, 15)), (1, (5, 10))):
        checkpoint = tf.train.Checkpoint(n=tf.Variable(rank))
        manager = tf.train.CheckpointManager(checkpoint, tmp_path / str(rank), max_to_keep=2)
        for step in steps:
            manager.save(checkpoint_number=step)
        assert newest(tmp_path, rank + 1) == {0: 15, 1: 10}[rank]
    assert newest(tmp_path, 3) is None
