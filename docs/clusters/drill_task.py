"""The overflow drill on an engine: each worker keeps notes, and then they are judged.

    drill_task.py FOLDER CULPRIT    as a task of Slurm; CULPRIT is -1, 0 or 1
    drill_task.py FOLDER            says what the notes of all three runs come to

On another engine call `work(folder, culprit)` in each worker, once TF_CONFIG is set.
End a run that takes too long from outside: what waits then has no notes.
"""

import json
import os
import sys
from pathlib import Path

from course_utils.distributed import drill


def work(folder, culprit):
    """Writes the notes of this worker, as far as it comes."""
    from train import drill as build

    strategy, model, optimizer, step, batch = build()
    weights = model.trainable_variables
    rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    with Path(folder, f"notes-{culprit}-{rank}").open("w", encoding="utf-8") as file:
        for notes in drill.steps(strategy, weights, optimizer, step, batch, culprit):
            print(json.dumps(notes), file=file, flush=True)


def certificate(folder):
    """Prints what holds; True if all does."""
    passed = True
    for culprit in (-1, 0, 1):
        files = sorted(Path(folder).glob(f"notes-{culprit}-*"))
        lines = [line for file in files for line in file.read_text().splitlines()]
        notes = [note for line in lines for note in json.loads(line)]
        print("infinite batch on:", "nobody" if culprit < 0 else culprit)
        # the engine's own limit ended what took longer
        for sentence, holds in drill.judge(notes, culprit, 300).items():
            print("  yes" if holds else "   NO", sentence)
            passed &= holds
    return passed


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(0 if certificate(sys.argv[1]) else 1)
    from slurm_train import tf_config

    os.environ["TF_CONFIG"] = tf_config()
    work(sys.argv[1], int(sys.argv[2]))
