"""Certificates of the overflow drill, collected: data/drills.json, and docs/drills.md of it.

    python -m tools.drills FILE...    take certificates in, in place of older ones of the
                                      same engine, file and device

A certificate is what `python -m course_utils drill` writes with `--certificate`. It is
judged anew by its notes, and refused where they say something else than its answers.
"""

import json
import math
import re
import sys
from pathlib import Path

from course_utils import paths
from course_utils.distributed import drill
from course_utils.exercises import hand_ins

PATH = paths.data("drills.json")
LIMIT = re.compile(r"nobody waits for more than (\S+) s$")
OPTIMIZERS = {
    "LossScaleOptimizer": "Keras's own",
    "ReplicaSafeLossScaleOptimizer": "the course's",
}
WORDS = {"True": True, "False": False}


def runs_of(certificate) -> dict:
    """{name of a run: its notes}, as `drill.judge` takes them."""
    columns = certificate["table"]["columns"]
    runs = {}
    for row in certificate["table"]["rows"]:
        note = dict(zip(columns, row, strict=True))
        for key in ("overflow", "taken", "finite"):
            note[key] = WORDS[note[key]]
        for key in ("weights", "scale"):  # NaN and infinity are texts there
            nan = note[key] == "nan"  # two that are the same object count as equal
            note[key] = math.nan if nan else float(note[key])
        runs.setdefault(note.pop("run"), []).append(note)
    return runs


def answers_of(certificate) -> dict:
    """{(run, sentence): whether it holds}, judged by the notes; ValueError where the
    certificate's own answers are others.
    """
    told = {**certificate["settings"]}
    told.pop("engine")
    limits = {match[1] for key in told if (match := LIMIT.search(key))}
    (seconds,) = map(float, limits)
    runs = runs_of(certificate)
    if tuple(runs) != drill.RUNS:
        raise ValueError("its notes are not of all three runs")
    answers = {}
    for culprit, name in enumerate(drill.RUNS, -1):
        for sentence, holds in drill.judge(runs[name], culprit, seconds).items():
            answers[name, sentence] = holds
    found = {f"{name}: {s}": "yes" if h else "NO" for (name, s), h in answers.items()}
    if found != told:
        raise ValueError("its answers are not those of its notes")
    return answers


def key_of(certificate):
    """What a newer certificate replaces: engine, file, device."""
    file = re.split(" (passes|fails) the overflow", certificate["title"])[0]
    return certificate["settings"]["engine"], file, certificate["device"]


def take(files) -> int:
    """Takes certificates into the record: 0, or 1 if one of them is none."""
    kept = {}
    if PATH.exists():
        kept = {key_of(each): each for each in paths.read(PATH)}
    status = 0
    for file in files:
        try:
            certificate = hand_ins.read(Path(file))
            answers_of(certificate)
        except (ValueError, KeyError) as error:
            print(f"Left out {file}, no certificate of the drill: {error}.")
            status = 1
        else:
            kept[key_of(certificate)] = certificate
    lines = ",\n".join(
        json.dumps(kept[key], ensure_ascii=False) for key in sorted(kept)
    )
    PATH.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(
        f"{PATH.name} has {len(kept)} certificates. Now: python -m tools.notebooks --fix"
    )
    return status


def told(record) -> dict:
    """What the template `drills.md` asks for of a record."""
    rows = []
    for certificate in record:
        engine, file, device = key_of(certificate)
        failing = {}
        for (run, sentence), holds in answers_of(certificate).items():
            if not holds:
                failing.setdefault(sentence, []).append(run)
        notes = [note for notes in runs_of(certificate).values() for note in notes]
        (optimizer,) = {note["optimizer"] for note in notes}
        words = [
            f"{sentence} ({', '.join(runs)})" for sentence, runs in failing.items()
        ]
        verdict = "**NO** to: " + "; ".join(words) if words else "passes"
        versions = ", ".join(map(" ".join, certificate["versions"].items()))
        rows.append(
            {
                "engine": engine,
                "file": file,
                "optimizer": OPTIMIZERS.get(optimizer, optimizer),
                "verdict": verdict,
                "about": f"{device}; {versions}; {certificate['date']}",
            }
        )
    rows.sort(key=lambda row: (row["verdict"] != "passes", row["engine"], row["file"]))
    abouts = dict.fromkeys(row["about"] for row in rows)
    return {
        "rows": rows,
        "abouts": [(a, [r for r in rows if r["about"] == a]) for a in abouts],
    }


if __name__ == "__main__":
    sys.exit(take(sys.argv[1:]))
