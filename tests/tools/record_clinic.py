"""Runs the patients of the clinic, with all instruments and all cures, and keeps what they show.

python tests/tools/record_clinic.py [PATIENTS]    writes data/measurements/clinic.json

With names, only these are run again, and the rest stays as it is recorded.
"""

import datetime
import json
import math
import multiprocessing
import sys

import canonical

POINTS = 60  # of a curve
FAMILIES = {
    "nan": "Not a number",
    "still": "Does not learn",
    "worse": "Learns worse",
    "slow": "No speedup",
    "scale": "The scale collapses",
}


def curve(losses):
    """At most so many of the losses, None for what is not finite."""
    every = -(-len(losses) // POINTS)
    return [round(loss, 4) if math.isfinite(loss) else None for loss in losses[::every]]


def larger(model):
    """What articles tell to do about instability: a larger scale."""
    if hasattr(model.optimizer, "initial_scale"):
        model.optimizer.initial_scale *= 1024


def tried(patient):
    """{cure of another patient: what became of this one}, of all that change its script."""
    from course_utils import clinic

    found = {}
    for cure in clinic.charts():
        if cure != patient and clinic.script(patient, cure) != clinic.script(patient):
            try:
                found[cure] = "well" if clinic.run(patient, cure).well else "not cured"
            except Exception as error:
                found[cure] = type(error).__name__
    return found


def record(patient):
    """A patient's entry in the record."""
    import instruments

    from course_utils import clinic

    chart = clinic.charts()[patient]
    sick, cured = clinic.run(patient), clinic.run(patient, cure=patient)
    readings = {key: instruments.read(key, patient) for key in instruments.INSTRUMENTS}
    scaled = None if math.isnan(sick.scales[0]) else clinic.run(patient, change=larger).well
    told = {key: chart[key] for key in ("title", "symptom", "family", "diagnosis", "cure")}
    return {
        "key": patient,
        **told,
        "thread": clinic.script(patient).split()[1],
        "loss": curve(sick.losses),
        "healthy": curve(cured.losses),
        "well": [sick.well, cured.well],
        "larger_scale": scaled,
        "ms": [round(sorted(v.ms)[len(v.ms) // 2], 1) for v in (sick, cured)],
        "readings": readings,
        "tried": tried(patient),
    }


def main():
    canonical.load_sheet("08")  # finds the course
    import instruments

    from course_utils import clinic, hardware
    from course_utils.benchmark import records, start

    file = canonical.COURSE / "data/measurements/clinic.json"
    known = json.loads(file.read_text(encoding="utf-8"))["patients"] if file.exists() else []
    found = {entry["key"]: entry for entry in known}
    recording = {
        "kind": "clinic",  # so that `records.load` tells it from its own
        "cpu": str(hardware.detect()),
        "versions": start.versions(),
        "date": datetime.date.today().isoformat(),
        "families": FAMILIES,
        "instruments": {
            key: {"name": name, "minutes": minutes}
            for key, (name, minutes, _) in instruments.INSTRUMENTS.items()
        },
    }
    with multiprocessing.get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        for entry in pool.imap_unordered(record, sys.argv[1:] or clinic.charts(), chunksize=1):
            found[entry["key"]] = entry
            print(entry["key"], entry["well"], *(r["kind"] for r in entry["readings"].values()))
            recording["patients"] = [found[key] for key in clinic.charts() if key in found]
            records.save(recording, file)
    print(f"Written to {file}")


if __name__ == "__main__":
    main()
