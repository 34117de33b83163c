"""What notebook 07 promises: its own cells run here, on other data, and are looked at.

Run as a script, this file is what the tests start in processes of their own: `COUNT SEED` runs
cells on so many logical CPUs, with data drawn from the seed, and prints what they find as JSON.
Weights, scales, dtypes, names of errors and orderings are asserted, never a time.
"""

import contextlib
import io
import json
import linecache
import random
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tqdm import tqdm

from course_utils import datasets, distributed, processes

sys.path.insert(0, str(Path(__file__).parent / "tools"))
from canonical import COURSE, read

CELLS = {cell.id: cell.source for cell in read(COURSE / "notebooks/07_devices.ipynb").cells}
DEFINED = ("run", "digits", "network", "weights", "bad-picture", "play", "play-rows", "cure",
           "attempts", "wire-graph", "wire-sum")  # fmt: skip
TOLD = ("clipping", "wire-dtypes", "mistake-wrap", "mistake-mean", "mistake-build",
        "mistake-scale")  # fmt: skip
WHEN = 3  # the step in which a replica overflows when they play; in the notebook it is 2
LSO, SAFE = "LossScaleOptimizer", "ReplicaSafeLossScaleOptimizer"
SEEDS = (11, 12, 13)  # for the training whose scale overflows by itself


def run_cell(cell, names, *replaced):
    """Run one cell in these names, as Jupyter does: `inspect.getsource` finds its functions."""
    source, name = CELLS[cell], f"<cell {cell}>"
    for old, new in replaced:
        assert old in source, (cell, old)
        source = source.replace(old, new)
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), names)


def printed(cell, names, *replaced):
    """What a cell prints, as a list of lines."""
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()),
    ):
        run_cell(cell, names, *replaced)
    return [line for line in out.getvalue().splitlines() if line.strip()]


# The script


def pictures(seed, count):
    """Ten kinds of noisy pictures, one label in five wrong: so the gradients do not vanish."""
    rng = np.random.default_rng(seed)
    kinds, labels = rng.integers(0, 256, (10, 28, 28)), rng.integers(0, 10, count)
    noise = rng.integers(0, 256, (count, 28, 28))
    wrong = rng.random(count) < 0.2
    shown = np.where(wrong, rng.integers(0, 10, count), labels)
    return ((kinds[labels] + 2 * noise) // 3).astype("uint8"), shown


def on_devices(count, seed):
    names = {"__name__": "__main__", "q": SimpleNamespace(guess=None)}
    distributed.split_cpu(count)
    images, labels = pictures(seed, 1100)
    data = SimpleNamespace(x_train=images[:900], y_train=labels[:900],
                           x_test=images[900:], y_test=labels[900:])  # fmt: skip
    datasets.load_mnist = lambda *_, **__: data
    found = {"choose": printed("choose", names)}
    for cell in DEFINED:
        if cell == "wire-graph":
            exec("from course_utils.training import ReplicaSafeLossScaleOptimizer", names)
        run_cell(cell, names)
    if count == 2:
        found["fit"] = printed(
            "fit-table", names, ("epochs=2", "epochs=1"), ('"mixed_bfloat16", ', "")
        )
    else:
        run_one_device(names)
    found |= {cell: printed(cell, names) for cell in TOLD}
    found["summed"] = [np.ravel(v).tolist() for v in names["local"](names["total"])]
    found["count"], found["batch"] = names["count"], names["batch"]
    found |= {"bad": bad_pictures(names, count), "play": played(names, count)}
    if count == 2:
        found["wire"] = wire(names)
        found["attempts"] = printed("attempts-table", names)
        names["share_finite"] = {r: found["bad"][f"{LSO} {r}"][0] for r in (0, 1)}
        names["share_safe"] = {0: 1.0, 63: 1.0}  # measured by the cell `safe`
        found["recap"] = printed("recap-guess", names)
        found |= by_itself(names)
    print("RESULT", json.dumps(found))


def run_one_device(names):
    source = next(line for line in CELLS["fit-table"].splitlines() if "one_device =" in line)
    exec(source, names)


def bad_pictures(names, count):
    """Share of finite weights, and the words, for a row of the first and of the last replica."""
    part, found = names["batch"] // count, {}
    for kind, ranks in ((LSO, (0, count - 1)), (SAFE, (count - 1,))):
        for rank in ranks:
            found[f"{kind} {rank}"] = names["fit_with_bad_picture"](
                part * rank + 5, lambda kind=kind: names[kind](names["SGD"](0.1))
            )
    return found


def played(names, count):
    """{optimizer: {culprit: rows of all steps}}"""
    return {
        kind: {
            culprit: list(names["play"](names["strategy"], names[kind], culprit, WHEN, steps=5))
            for culprit in range(count)
        }
        for kind in (LSO, "AllDecide")
    }


def wire(names):
    """{"scale dtype": how many sums are not finite, and the error of the others}"""
    summed, found = names["summed"], {}
    largest = max(s for s in (2.0**k for k in range(12, 30)) if summed("float32", s)[-1])
    for scale in (1.0, 2.0**8, largest):
        exact = summed("float32", scale)[0]
        for dtype in ("bfloat16", "float16"):
            sent = summed(dtype, scale)[0]
            good = np.isfinite(sent)
            error = np.linalg.norm((sent - exact)[good]) / np.linalg.norm(exact)
            key = f"{'largest' if scale == largest else int(scale)} {dtype}"
            found[key] = [int((~good).sum()), float(error)]
    return found


def by_itself(names):
    run_cell("by-itself", names)
    definition = CELLS["by-itself-run"].partition("\nfor seed")[0]
    exec(definition, names)
    own, safe = names[LSO], names[SAFE]
    return {"own": [names["train_long"](own, seed) for seed in SEEDS],
            "safe": names["train_long"](safe, SEEDS[0])}  # fmt: skip


if __name__ == "__main__":
    on_devices(int(sys.argv[1]), int(sys.argv[2]))


def started(count, seed):
    process = processes.start(
        processes.script(__file__, count, seed), {"CUDA_VISIBLE_DEVICES": "-1"}
    )
    try:
        told, errors = process.communicate(timeout=400)
    finally:
        processes.stop([process])
    assert process.returncode == 0, errors[-2000:]
    return json.loads(told.split("RESULT ")[-1])


@pytest.fixture(scope="module")
def two():
    return started(2, 7)


@pytest.fixture(scope="module")
def three():
    """What holds for two only would show here."""
    return started(3, 8)


@pytest.fixture(scope="module", params=["two", "three"])
def found(request):
    return request.getfixturevalue(request.param)


def replicas(found):
    return len(found["summed"])


# One process, several replicas


@pytest.mark.slow
def test_the_strategy_is_mirrored_and_every_replica_gets_the_sum(found):
    assert " ".join(found["choose"]).startswith("MirroredStrategy on CPU:0")
    n = replicas(found)
    assert found["summed"] == [[n * (n + 1) / 2]] * n
    assert found["batch"] % n == 0 and found["count"] % found["batch"] == 0


def test_one_device_is_refused_and_not_told_as_if_it_were_two(monkeypatch):
    strategy = SimpleNamespace(num_replicas_in_sync=1)
    alone = SimpleNamespace(kind="", devices=(), reason="", strategy=lambda: strategy)
    monkeypatch.setattr(distributed, "choose", lambda: alone)
    with pytest.raises(AssertionError, match="restart the kernel"):
        printed("choose", {})


@pytest.mark.slow
def test_the_ends_on_one_device_and_on_two_are_nearly_the_same(two):
    apart, right = {}, {}
    for line in two["fit"]:
        policy, *shares = re.search(r"(\w+) +([\d.]+)% right .* ([\d.]+)% on", line).groups()
        apart[policy], right[policy] = float(line.split()[-1]), [float(s) for s in shares]
    assert set(apart) == {"float32", "mixed_float16"}
    assert 0 < apart["float32"] < 1e-5 and 20 * apart["float32"] < apart["mixed_float16"] < 0.2
    assert all(abs(one - all_) < 8 for one, all_ in right.values())


@pytest.mark.slow
def test_a_bad_picture_is_survived_on_the_first_replica_alone_and_with_the_cure_on_all(found):
    last = replicas(found) - 1
    for which in (f"{LSO} 0", f"{SAFE} {last}"):
        share, words = found["bad"][which]
        assert share == 1 and "scale 16,384" in words
    assert found["bad"][f"{LSO} {last}"][0] == 0


@pytest.mark.slow
def test_the_recap_tells_that_half_of_the_overflows_are_survived(two):
    guess, own, safe = two["recap"]
    assert "none" in guess and " 50 % survive" in own and " 100 % survive" in safe
    assert "100% finite" in own and " 0% finite" in own


@pytest.mark.slow
def test_the_scale_overflows_by_itself_and_the_weights_are_lost_with_most_seeds(two):
    lost = [words for words in two["own"] if words.startswith("weights lost by step")]
    assert len(lost) >= 2, two["own"]
    assert re.fullmatch(r"3\d\d steps, weights finite", two["safe"]), two["safe"]


@pytest.mark.slow
def test_what_the_two_timelines_show(found):
    n = replicas(found)
    for culprit in range(n):
        own = found["play"][LSO][str(culprit)]
        cure = found["play"]["AllDecide"][str(culprit)]
        for step in range(5):
            for rank in range(n):
                row, safe = own[step][rank], cure[step][rank]
                assert row["step"] == safe["step"] == step and row["replica"] == rank
                assert row["overflow"] == (step == WHEN and rank == culprit)
                halved = 2.0**14 if step >= WHEN else 2.0**15
                assert safe["scale"] == halved and safe["finite"]
                assert safe["taken"] == (step != WHEN)
                if culprit == 0:
                    assert row == safe
                else:  # not seen: infinity goes into everybody's weight; NaN is no longer equal
                    assert row["scale"] == 2.0**15 and row["taken"]
                    assert row["finite"] == (step < WHEN)


@pytest.mark.slow
def test_each_attempt_of_section_5_fails_in_its_own_way_and_plain_fit_works(two):
    ends = {line[:22].strip(): line[22:].strip() for line in two["attempts"]}
    assert ends.pop("plain") == "works"
    wanted = {
        "batches of 63": ("InvalidArgumentError", "same size"),
        "steps_per_execution=2": ("InvalidArgumentError", "placeholder"),
        "jit_compile=True": ("InvalidArgumentError", "Trying to access resource"),
        "accumulation": ("RuntimeError", "`merge_call` called"),
        "EMA, overwriting": ("RuntimeError", "`merge_call` called"),
    }
    assert set(ends) == set(wanted)
    for name, (kind, words) in wanted.items():
        assert ends[name].startswith(kind) and words in ends[name], ends[name]


@pytest.mark.slow
def test_the_clipped_gradients_are_added_up(found):
    (line,) = found["clipping"]
    assert f"moved by 1.00 on one device, by {replicas(found)}.00 on" in line


@pytest.mark.slow
def test_gradients_travel_in_float32(found):
    assert found["wire-dtypes"] == ["{'float32'}"]


@pytest.mark.slow
def test_16_bits_on_the_wire_cost_what_section_6_says(two):
    for scale in ("1", "256"):
        (lost16, error16), (lost, error) = (
            two["wire"][f"{scale} {d}"] for d in ("float16", "bfloat16")
        )
        assert lost16 == lost == 0 and 4 * error16 < error < 1e-2
    assert two["wire"]["largest float16"][0] > 0 == two["wire"]["largest bfloat16"][0]


@pytest.mark.slow
def test_the_common_mistakes_go_wrong_as_shown(found):
    n = replicas(found)
    assert found["mistake-wrap"] == [
        "wrong: LossScaleOptimizer", "right: ReplicaSafeLossScaleOptimizer"]  # fmt: skip
    assert [line.split()[-1] for line in found["mistake-mean"]] == [str(n), "1"]
    assert found["mistake-build"] == ["wrong: InvalidArgumentError", "right: works"]
    assert found["mistake-scale"] == ["wrong: TypeError", "right: 32768.0"]


# Several processes


@pytest.fixture(scope="module")
def workers():
    """The names that the cells around worker processes define, and their folder of scripts."""
    names = {
        "__name__": "__main__",
        "distributed": distributed,
        "Path": Path,
        "np": np,
        "tqdm": tqdm,
    }
    for cell in ("play", "play-rows", "two-script", "two-write", "two-told", "two-follow",
                 "killed-newest", "killed-two", "paper-parts", "paper-script"):  # fmt: skip
        run_cell(cell, names)
    for cell in ("killed-parts", "killed-train", "killed-step", "killed-digest"):
        run_cell(cell, names)
    yield names
    names["temporary"].cleanup()


@pytest.mark.slow
def test_an_overflow_of_worker_0_hangs_both_and_with_the_cure_both_go_on(workers, capsys):
    """In the notebook it is worker 1's."""
    rows, stopped = workers["follow"]("own", 0)
    steps = [[row["step"] for row in rows if row["replica"] == rank] for rank in (0, 1)]
    assert steps == [[0, 1, 2], [0, 1]] and set(stopped.stubborn) == {0, 1}
    rows, ended = workers["follow"]("safe", 0)
    for rank in (0, 1):
        mine = [row for row in rows if row["replica"] == rank]
        assert [row["taken"] for row in mine] == [step != 2 for step in range(6)]
        assert [row["scale"] for row in mine] == [2.0**15] * 2 + [2.0**14] * 4
        assert all(row["finite"] for row in mine)
    assert ended.stubborn == []


@pytest.mark.slow
def test_after_a_kill_both_go_on_from_the_newest_checkpoint_that_both_have(workers, capsys):
    run_cell("killed-script", workers, ("sys.argv[1], 40)", "sys.argv[1], 24)"))
    train, folder = workers["train_two"], workers["folder"]
    (whole, _), kill_after = train("all"), random.SystemRandom().randint(7, 13)
    broken, endings = train("lost", kill_after)
    kept = [sorted(int(p.stem.split("-")[1]) for p in (folder / "lost" / str(rank)).glob("*.index"))
            for rank in (0, 1)]  # fmt: skip
    newest = max(set(kept[0]) & set(kept[1]))
    resumed, _ = train("lost")
    assert endings[1] == "was ended by SIGKILL" and len(broken[1]) >= kill_after
    assert resumed[0][0].split()[0] == str(newest + 1) and newest in (5, 10, 15, 20)
    assert resumed[0] == resumed[1] == whole[0][newest:]
    assert whole[0] == whole[1] and whole[0][-1].startswith("end ")


@pytest.mark.slow
def test_the_step_is_predicted_within_a_factor_of_two(workers, capsys):
    ratios = []
    for _ in range(4):  # on a machine with other work
        run_cell("paper-measure", workers)
        ratios.append(workers["measured"] / workers["predicted"])
        if 0.5 < np.median(ratios) < 2:
            break
    assert 0.5 < np.median(ratios) < 2, ratios
