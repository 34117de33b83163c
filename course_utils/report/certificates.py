"""What the overflow drill came to, in words, as a picture, and as a file to hand in."""

import datetime
from collections.abc import Iterable
from pathlib import Path

from course_utils import figures, records
from course_utils.distributed import drill
from course_utils.exercises import hand_ins


def issue(
    runs: Iterable[tuple[str, list[dict]]],
    script: str,
    engine: str,
    seconds: float,
    output: Path | None = None,
    certificate: Path | None = None,
) -> int:
    """Judge the runs of `drill.RUNS` as they come, pairs (name, notes), and print what
    holds: 0 if the loop passes, 1 if it fails, 2 if a run has no notes.

    `script` is what was drilled, `engine` what started its replicas. A path gets the
    lanes as a picture, another one the certificate as JSON: a hand-in whose settings are
    the verdict, and whose table has the notes.
    """
    kept = {}
    answers = {"engine": engine}
    rows = []
    for culprit, (name, notes) in enumerate(runs, -1):
        if not notes:
            return 2
        kept[name] = notes
        rows += [[name, *note.values()] for note in notes]
        for sentence, holds in drill.judge(notes, culprit, seconds).items():
            answer = answers[f"{name}: {sentence}"] = "yes" if holds else "NO"
            print(f"{answer:>5} {sentence}")
    verdict = "fails" if "NO" in answers.values() else "passes"
    title = f"{script} {verdict} the overflow drill, {datetime.date.today()}"
    picture = figures.lanes(kept, title)
    print(picture.alt, title, sep="\n")
    if output:
        output.write_bytes(picture.png())
    if certificate:
        table = {"columns": ["run", *notes[0]], "rows": rows}
        card = {"quantity": "overflow drill", "unit": "", "measured": verdict}
        card |= {"guess": "", "predicted": ""}
        content = hand_ins.gather(title, [], [card], settings=answers, table=table)
        records.save({"kind": hand_ins.KIND, **content}, certificate)
    return int(verdict == "fails")
