"""Notebook 07's training as a task of Slurm: `srun python slurm_train.py FOLDER [KILLED]`.

With KILLED, a number, worker 1 kills itself after that step, once.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path


def tf_config():
    """TF_CONFIG from what `srun` says to a task, hosts and ranks in Slurm's own order."""
    task, job, step = (
        int(os.environ[f"SLURM_{name}"]) for name in ("PROCID", "JOB_ID", "STEP_ID")
    )
    show = ["scontrol", "show", "hostnames", os.environ["SLURM_STEP_NODELIST"]]
    hosts = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    # "2(x3),1": three hosts with two tasks each, and one with one
    counts = re.findall(
        r"(\d+)(?:\(x(\d+)\))?", os.environ["SLURM_STEP_TASKS_PER_NODE"]
    )
    tasks = [int(n) for n, times in counts for _ in range(int(times or 1))]
    first = 20000 + (64 * job + 16 * step) % 10000  # another one for each attempt
    workers = [
        f"{host}:{first + place}"
        for host, count in zip(hosts.split(), tasks, strict=True)
        for place in range(count)
    ]
    task = {"type": "worker", "index": task}
    return json.dumps({"cluster": {"worker": workers}, "task": task})


def main(place, killed="-"):
    os.environ["TF_CONFIG"] = tf_config()  # before the strategy is made
    from train import lines

    place = Path(place).resolve()
    mark = place / "killed"
    for line in lines(place):
        print(line, flush=True)
        second = os.environ["SLURM_PROCID"] == "1"
        if line.startswith(f"{killed} ") and second and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
