"""The overflow drill on an engine: each worker keeps notes, and then they are judged.

    drill_task.py FOLDER FILE CULPRIT    as a task of Slurm; CULPRIT is -1, 0 or 1
    drill_task.py FOLDER FILE ENGINE     judges the notes of all three runs: it prints what
                                         holds, and writes certificate.json into FOLDER

FILE is a module beside this one, such as train, whose function `drill` is drilled. On
another engine call `work(folder, file, culprit, rank)` in each worker, once TF_CONFIG is
set. A worker that waits for 10 seconds ends itself, and the engine ends the others.
"""

import importlib
import json
import os
import sys
import threading
from pathlib import Path

from course_utils.distributed import drill
from course_utils.report import certificates

SECONDS = 10


def work(folder, file, culprit, rank, *how):
    """Writes the notes of this worker, as far as it comes."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    module = importlib.import_module(file)
    if hasattr(module, "steps"):  # it takes its own notes, as drill_jax does
        steps = module.steps(culprit, rank, *how)
    else:
        strategy, model, optimizer, step, batch = module.drill()
        weights = model.trainable_variables
        steps = drill.steps(strategy, weights, optimizer, step, batch, culprit)
    waits = None
    with Path(folder, f"notes {culprit} {rank}").open("w", encoding="utf-8") as stream:
        for notes in steps:
            print(json.dumps(notes), file=stream, flush=True)
            if waits:
                waits.cancel()
            waits = threading.Timer(SECONDS, os._exit, [1])
            waits.start()
    waits.cancel()


def runs(folder):
    """The name and the notes of each run, as far as the workers came."""
    for culprit, name in enumerate(drill.RUNS, -1):
        print(f"{name}:")
        notes = []
        for path in sorted(Path(folder).glob(f"notes {culprit} *")):
            for line in path.read_text(encoding="utf-8").splitlines():
                notes += json.loads(line)
        yield name, notes


def certificate(folder, file, engine):
    """Says what holds: 0 if all does, 1 if not, 2 if a run has no notes."""
    importlib.import_module(file)  # a certificate tells the versions of what is loaded
    kept = Path(folder, "certificate.json")
    return certificates.issue(
        runs(folder), f"{file}.py", engine, SECONDS, certificate=kept
    )


if __name__ == "__main__":
    folder, file, last = sys.argv[1:]
    if last not in ("-1", "0", "1"):
        sys.exit(certificate(folder, file, last))
    from slurm_train import tf_config

    os.environ["TF_CONFIG"] = tf_config()
    work(folder, file, int(last), int(os.environ["SLURM_PROCID"]))
