"""The overflow drill: what it passes, and what it finds."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time

import pytest
from test_processes import posix

from course_utils import __main__, paths
from course_utils.distributed import drill, run_workers, workers
from course_utils.exercises import hand_ins
from course_utils.processes import ProcessError
from course_utils.report import certificates
from tools import drills

HELPERS = paths.FOLDER / "tests/helpers"
CLUSTERS = paths.FOLDER / "docs/clusters"
OURS = "ReplicaSafeLossScaleOptimizer"
WAITS = "nobody waits for more than 3 s"
FINITE = "all weights are finite"
COPIES = "all copies of the weights are equal"
SCALES = "all loss scales are equal"
SKIP = "all skip the infinite batch"


@pytest.fixture
def script(tmp_path):
    """Writes a file for the drill; `loop` is a call in it that makes its function."""

    def write(loop):
        head = f"import sys; sys.path.insert(0, {str(HELPERS)!r})\nimport drilled\n"
        path = tmp_path / "train.py"
        path.write_text(f"{head}drill = drilled.{loop}\n", encoding="utf-8")
        return path

    return write


def missed(notes, culprit=1):
    """The sentences that do not hold."""
    verdict = drill.judge(notes, culprit, 3)
    return {sentence for sentence, holds in verdict.items() if not holds}


def played(path, processes, culprit=1):
    arguments = path, culprit, processes, 3
    return drill.play(drill.__file__, arguments, processes)[0]


# The judge


def made(culprit=1, **changes):
    """The notes of a right training whose replica `culprit` overflows; `changes` in the
    last step of replica 0.
    """
    notes = []
    for step, rank in itertools.product(range(drill.STEPS), range(2)):
        bad = step == drill.WHEN and culprit >= 0
        note = {"step": step, "replica": rank, "overflow": bad and rank == culprit}
        note |= {"taken": not bad, "finite": True, "weights": 1.5, "scale": 8.0}
        notes.append(note | {"optimizer": "Mine"})
    notes[-2] |= changes
    return notes


def test_the_notes_of_a_right_training_pass():
    assert missed(made()) == set()
    assert missed(made(-1), -1) == set()


def test_a_loop_that_skips_that_step_by_itself_has_not_been_drilled():
    """Its scale is too large for its data: an optimizer that decides alone would pass."""
    notes = made()
    for note in notes:
        note["overflow"] = False
    assert missed(notes, -1) == {f"all take step {drill.WHEN}"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"finite": False}, FINITE),
        ({"weights": 1.25}, COPIES),
        ({"scale": 4.0}, SCALES),
        ({"weights": float("nan")}, COPIES),
    ],
)
def test_each_fault_has_its_sentence(changes, sentence):
    assert missed(made(**changes)) == {sentence}


def test_a_step_that_nobody_or_one_alone_skips_is_found():
    for ranks in ((0,), (1,), (0, 1)):
        notes = made()
        for note in notes:
            note["taken"] |= note["replica"] in ranks
        assert missed(notes) == {SKIP}


def test_a_training_that_stops_does_not_pass():
    assert WAITS in missed(made()[:-1]) and WAITS in missed([])


# The certificate


def issued(path, **changes):
    """Its status, and the file: three runs, `changes` in that of replica 1."""
    runs = zip(drill.RUNS, (made(-1), made(0), made(1, **changes)), strict=True)
    status = certificates.issue(runs, "train.py", "an engine 1.0", 3, certificate=path)
    return status, hand_ins.read(path)


def test_a_certificate_has_the_verdict_and_what_each_replica_did(tmp_path):
    path = tmp_path / "new/drill.json"
    status, right = issued(path)
    assert status == 0 and right["title"].startswith("train.py passes the overflow dri")
    assert right["settings"].pop("engine") == "an engine 1.0"
    assert len(right["settings"]) == 15 and {*right["settings"].values()} == {"yes"}
    assert right["device"] and right["date"] and right["versions"]["course"]
    assert len(right["table"]["rows"]) == 3 * 2 * drill.STEPS
    status, wrong = issued(path, weights=float("nan"))
    assert status == 1 and wrong["title"].startswith(
        "train.py fails the overflow drill"
    )
    failed = {key for key, answer in wrong["settings"].items() if answer == "NO"}
    assert failed == {f"one on 1: {COPIES}"}


def test_certificates_are_handed_in_with_a_class(tmp_path, capsys):
    issued(tmp_path / "a.json")
    issued(tmp_path / "b.json", scale=4.0)
    page = tmp_path / "board.html"
    assert __main__.main(["class-board", str(tmp_path), "--out", str(page)]) == 0
    assert capsys.readouterr().out.endswith(f"{page} shows 2 of 2 files.\n")
    for verdict in ("passes", "fails"):
        assert f"train.py {verdict} the overflow drill" in page.read_text("utf-8")


def test_a_run_without_notes_gives_no_certificate(tmp_path):
    path = tmp_path / "drill.json"
    runs = [(drill.RUNS[0], made(-1)), (drill.RUNS[1], [])]
    assert certificates.issue(runs, "train.py", "", 3, certificate=path) == 2
    assert not path.exists()


# Two devices in one process


@pytest.mark.slow
def test_keras_own_loses_all_weights_on_two_devices(script):
    notes = played(script("loop(drilled.KerasOwn, drilled.two)"), 1)
    assert missed(notes) == {FINITE, SKIP}
    overflowed = [(n["step"], n["replica"]) for n in notes if n["overflow"]]
    assert overflowed == [(drill.WHEN, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("culprit", [0, 1])
def test_the_course_s_optimizer_passes_on_two_devices(script, culprit):
    notes = played(script("loop(drilled.Safe, drilled.two)"), 1, culprit)
    assert missed(notes, culprit) == set()
    scales = [note["scale"] for note in notes if note["replica"] == 0]
    assert scales[drill.WHEN] == scales[0] / 2


# Two processes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "sentences"),
    [
        ("KerasOwn", {WAITS, COPIES, SCALES, SKIP}),
        ("KerasOwn, drilled.apart", {COPIES, SCALES, SKIP}),
        ("Lone", {COPIES, SCALES, SKIP}),
        ("Late", {WAITS, COPIES, SCALES, SKIP}),
        ("Deaf", {SKIP}),
        ("Torn", {COPIES}),
    ],
)
def test_a_hang_a_split_brain_and_other_faults_are_found_on_two_processes(
    script, loop, sentences, capsys
):
    start = time.monotonic()
    notes = played(script(f"loop(drilled.{loop})"), 2)
    assert missed(notes) == sentences
    assert time.monotonic() - start < drill.START
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_the_command_passes_the_course_s_optimizer_and_draws_it(
    script, tmp_path, capsys
):
    path = str(script("loop(drilled.Safe)"))
    picture, kept = tmp_path / "lanes.png", tmp_path / "drill.json"
    files = ["--output", str(picture), "--certificate", str(kept)]
    assert __main__.main(["drill", path, *files]) == 0
    printed = capsys.readouterr().out
    assert "NO" not in printed and "train.py passes the overflow drill" in printed
    assert printed.count("yes all skip the infinite batch") == 2
    for rank in range(2):
        assert f"replica {rank} overflows in step 2, is skipped" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    certificate = hand_ins.read(kept)
    drills.answers_of(certificate)
    assert certificate["settings"]["engine"] == "processes: 2"
    assert certificate["versions"]["keras"]
    assert {row[-1] for row in certificate["table"]["rows"]} == {OURS}


@pytest.mark.slow
def test_the_command_fails_keras_s_own(script, capsys):
    path = str(script("loop(drilled.KerasOwn, drilled.two)"))
    assert __main__.main(["drill", path, "--devices"]) == 1
    printed = capsys.readouterr().out
    assert printed.count("NO all weights are finite") == 1
    assert "train.py fails the overflow drill" in printed


# The files of docs/clusters


@pytest.mark.slow
def test_the_page_s_own_training_can_be_drilled():
    """No step of it overflows by itself, as those of the notebook's run do."""
    assert missed(played(CLUSTERS / "train.py", 2, -1), -1) == set()


TASK = """\
import json, os, sys
sys.path.insert(0, {!r})
import drill_task
rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
drill_task.work(sys.argv[1], sys.argv[2], int(sys.argv[3]), rank, *sys.argv[4:])
"""


@pytest.fixture
def task(tmp_path, monkeypatch):
    """Runs what an engine would, in two processes: the notes of one run."""
    path = tmp_path / "task.py"
    path.write_text(TASK.format(str(CLUSTERS)), encoding="utf-8")
    monkeypatch.syspath_prepend(CLUSTERS)

    def start(file, culprit, *how):
        try:
            run_workers(path, 2, [tmp_path, file, culprit, *how], timeout=240)
        except ProcessError as error:
            print(error)
        import drill_task

        return dict(drill_task.runs(tmp_path))[drill.RUNS[1 + culprit]]

    return start


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "sentences"),
    [("alone", {COPIES, SCALES, SKIP}), ("DataParallel", set())],
)
def test_two_models_on_jax_are_found_and_one_for_all_passes(how, sentences, task):
    """As `JaxTrainer` starts them, and as Keras wants it; both with Keras's own."""
    pytest.importorskip("jax", reason="JAX is not installed")
    notes = task("drill_jax", 1, how, *workers.free_ports(1))
    assert missed(notes) == sentences
    assert {note["optimizer"] for note in notes} == {"LossScaleOptimizer"}


@posix
@pytest.mark.slow
def test_a_task_that_waits_ends_itself_and_the_engine_the_others(task, capsys):
    notes = task("train_own", 1)
    assert missed(notes) >= {WAITS}
    assert "ended with exit code 1" in capsys.readouterr().out


# What cannot be drilled


def test_a_file_that_is_not_there_is_named(capsys):
    with pytest.raises(SystemExit) as ending:
        __main__.main(["drill", "nowhere.py"])
    assert ending.value.code == 2
    assert "can't open 'nowhere.py'" in capsys.readouterr().err


NO_DRILL = "module 'train' has no attribute 'drill'"
NO_MODEL = "not enough values to unpack (expected 5, got 2)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", NO_DRILL),
        pytest.param("drill = lambda: (1, 2)", NO_MODEL, marks=pytest.mark.slow),
        pytest.param("def drill(:", "SyntaxError: ", marks=pytest.mark.slow),
    ],
)
def test_a_file_that_is_no_loop_is_told_in_one_sentence(text, told, tmp_path, capsys):
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    assert __main__.main(["drill", str(path), "--devices"]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1
    assert error.startswith("Worker 0 of 1 ended with exit code 1 (")


@posix
@pytest.mark.slow
def test_an_interrupt_ends_the_drill_and_leaves_nobody(script, tmp_path):
    path = script("loop(drilled.Safe)")
    with path.open("a", encoding="utf-8") as stream:
        stream.write("import os, pathlib, time\n")
        note = f"pathlib.Path({str(tmp_path)!r}, str(os.getpid()) + '.pid').touch()"
        stream.write(f"{note}\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "course_utils", "drill", str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=paths.FOLDER
    ) as process:
        deadline = time.monotonic() + 120
        while len(list(tmp_path.glob("*.pid"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        for _ in range(3):  # one that comes during a garbage collection is lost in JAX
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                _, errors = process.communicate(timeout=20)
                break
    assert process.returncode == 130 and b"Traceback" not in errors, errors
    pids = [int(each.stem) for each in tmp_path.glob("*.pid")]
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
