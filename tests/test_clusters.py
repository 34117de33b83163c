"""What docs/clusters.md hands out: the notebook's functions, and who is told to be who.

That Ray and Slurm end with the notebook's bits is tried by hand: tests/records.
"""

import ast
import contextlib
import json
import runpy
import types

import pytest
import yaml
from test_processes import posix

from course_utils.distributed import Workers
from course_utils.processes import ProcessError
from tools.canonical_form import COURSE
from tools.notebook_cells import Cells

FILES = COURSE / "docs" / "clusters"
NOTEBOOK = Cells("07_devices")
CELLS = "killed-parts killed-newest killed-train killed-step killed-digest".split()


def functions(source):
    """{name: the function, without its layout}."""
    nodes = ast.parse(source).body
    return {n.name: ast.dump(n) for n in nodes if isinstance(n, ast.FunctionDef)}


def test_the_file_has_the_functions_of_the_notebook_as_they_are():
    own = functions((FILES / "train.py").read_text(encoding="utf-8"))
    for cell in CELLS:
        ((name, function),) = functions(NOTEBOOK.sources[cell]).items()
        assert own.pop(name) == function, cell
    assert set(own) == {"drill", "lines"}


ATTEMPT = """\
import json, os, pathlib, signal, sys
sys.path.insert(0, {!r})
import train
place, killed = map(pathlib.Path, sys.argv[1:])
rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
for line in train.lines(place, 12):
    print(line, flush=True)
    if rank == 1 and line.startswith("7 ") and not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
@pytest.mark.slow
def test_three_attempts_with_a_worker_killed_end_with_the_bits_of_one(tmp_path):
    """With the course's own starter, as the job file does with Slurm's."""
    script = tmp_path / "attempt.py"
    script.write_text(ATTEMPT.format(str(FILES)), encoding="utf-8")

    def attempts(place, killed):
        """What worker 0 printed in each attempt, at most three."""
        printed = []
        for _ in range(3):
            printed.append([])
            with (
                contextlib.suppress(ProcessError),
                Workers(script, 2, [place, killed], grace=1) as started,
            ):
                for rank, line in started:
                    if rank == 0:
                        printed[-1].append(line)
                break
        return printed

    (whole,) = attempts(tmp_path / "whole", script)  # a mark that is there already
    broken, resumed = attempts(tmp_path / "broken", tmp_path / "killed")
    assert not any(line.startswith("end") for line in broken)
    assert resumed[1].startswith("6 ")  # a checkpoint is kept every five steps
    assert whole[-1].startswith("end ") and resumed[1:] == whole[6:]


SHOWN = {
    "n[8-11]": ("n8\nn9\nn10\nn11\n", "1(x4)", "n8 n9 n10 n11".split()),
    "a,b": ("a\nb\n", "2,1", ["a", "a", "b"]),
    "here": ("here\n", "2", ["here", "here"]),
}


@pytest.mark.parametrize("nodes", SHOWN)
def test_a_task_of_slurm_knows_all_in_slurm_s_own_order(nodes, monkeypatch):
    """TensorFlow's resolver sorts them as text, so that n10 comes before n8."""
    shown, tasks, hosts = SHOWN[nodes]
    told = {"PROCID": "1", "JOB_ID": "7", "STEP_ID": "0", "STEP_NODELIST": nodes}
    for name, value in (told | {"STEP_TASKS_PER_NODE": tasks}).items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    asked = []

    def run(command, **options):
        asked.append(command)
        return types.SimpleNamespace(stdout=shown)

    monkeypatch.setattr("subprocess.run", run)
    tf_config = runpy.run_path(str(FILES / "slurm_train.py"))["tf_config"]
    config = json.loads(tf_config())
    assert asked == [["scontrol", "show", "hostnames", nodes]]
    workers = config["cluster"]["worker"]
    assert [worker.split(":")[0] for worker in workers] == hosts
    assert len(set(workers)) == len(workers)  # two on a host have two ports
    assert config["task"] == {"type": "worker", "index": 1}
    monkeypatch.setenv("SLURM_STEP_ID", "1")  # the next attempt
    assert not set(json.loads(tf_config())["cluster"]["worker"]) & set(workers)


def test_a_pod_is_told_who_it_is(monkeypatch):
    job = yaml.safe_load((FILES / "jobset.yaml").read_text(encoding="utf-8"))
    (one,) = job["spec"]["replicatedJobs"]
    pod = one["template"]["spec"]
    (container,) = pod["template"]["spec"]["containers"]
    ran = []
    monkeypatch.setattr("runpy.run_path", lambda path, run_name: ran.append(path))
    monkeypatch.setattr("sys.argv", [])
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    monkeypatch.setenv("TF_CONFIG", "")
    names = {}
    exec(container["args"][0], names)
    config = json.loads(names["os"].environ["TF_CONFIG"])
    assert config["task"]["index"] == 1
    group = f"{job['metadata']['name']}-{one['name']}-0"
    host = f".{job['metadata']['name']}:2222"
    wanted = [f"{group}-{rank}{host}" for rank in range(pod["completions"])]
    assert config["cluster"]["worker"] == wanted
    assert ran == ["/course/docs/clusters/train.py"]


def test_without_ray_the_notebook_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (first, *_) = NOTEBOOK.printed("cluster-ray")
    page = (COURSE / "docs/clusters.md").read_text(encoding="utf-8")
    assert '`pip install "ray[train]==2.60.0"`' in first and "Colab" in first
    assert 'pip install "ray[train]==2.60.0"' in page


def test_with_ray_the_notebook_compares_the_bits(monkeypatch, tmp_path):
    """Ray's part is tried by hand; here somebody else has done it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    (tmp_path / "ray").mkdir()
    for ends, said in (("aa", "the same"), ("ab", "DIFFERENT")):
        for rank, end in enumerate(ends):
            (tmp_path / "ray" / f"end-{rank}").write_text(f"end {end}")
        fitted = []
        names = {"fit_on_ray": lambda *a: fitted.append(a), "loop": 1}  # noqa: B023
        names |= {"folder": tmp_path, "whole": {0: ["end a"]}}
        assert NOTEBOOK.printed("cluster-ray", names=names) == [f"last bits {said}"]
        assert fitted == [(1, tmp_path / "ray")]
