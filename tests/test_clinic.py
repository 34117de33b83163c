"""The patients of the clinic: each fails as described, is cured by its cure and by no
other's.
"""

import re

import numpy as np
import pytest

from course_utils import clinic, diagnosis
from course_utils.benchmark import records
from tools import instruments

RECORD = {patient["key"]: patient for patient in records.clinic()["patients"]}
NAMES = list(clinic.charts())


def lost(visit):
    return np.isnan(visit.losses).all() and np.isnan(visit.report.get("loss", np.nan))


def flat(visit):
    return np.ptp(visit.losses) < 0.4 and visit.report["accuracy"] < 0.25


def later(visit):
    """How much higher the loss is after three quarters of the run than before them."""
    at = len(visit.losses) * 3 // 4
    return np.mean(visit.losses[at : at + 12]) / np.mean(visit.losses[at - 12 : at])


SEES = {  # what the learner of each sees, {patient: condition(visit)}
    "mask": lost,
    "ids": lambda v: np.isfinite(v.losses).all() and v.report["accuracy"] < 0.7,
    "batchnorm": lambda v: np.isnan(v.losses).sum() == 2 and np.isnan(v.report["loss"]),
    "slow": lambda v: np.median(v.waits) > 45 and v.report["accuracy"] > 0.7,
    "scale_loss": flat,
    "dice": lost,
    "remat": lambda v: np.isfinite(v.losses).all() and v.losses[-1] > 1.5,
    "penalty": lambda v: min(v.losses) > 0.9 and v.scales[-1] < 1,
    "accumulate": lambda v: v.well and v.scales[0] == v.scales[-1],
    "epsilon": lost,
    "resume": lambda v: later(v) > 1.5,
    "clip": flat,
    "counter": lambda v: v.model.layers[0].step.numpy() == 256,
    "missing": lambda v: v.scales[-1] == 0 and np.isnan(v.losses[-50:]).all(),
    "bfloat16": lambda v: np.isfinite(v.losses).all() and v.losses[-1] > 1.7,
}
# patients of every `make test`; `make full` takes all
QUICK = ("mask", "scale_loss", "counter")
EACH = [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in NAMES]


def read_anew(patient):
    """All instruments but those that run a patient once more, which read each kind anew
    once.

    On a patient whom they tell from others they read anew, too.
    """
    few = diagnosis.fewest(records.clinic(), patient)
    kinds = {
        p: {i: reading["kind"] for i, reading in RECORD[p]["readings"].items()}
        for p in NAMES
    }
    first = lambda i: next(p for p in NAMES if kinds[p][i] == kinds[patient][i])  # noqa: E731
    again = ("numerics", "twin", "layer")
    return [
        i for i in kinds[patient] if i not in again or i in few or first(i) == patient
    ]


@pytest.mark.parametrize("patient", EACH)
def test_a_patient_fails_as_described_and_a_fresh_record_reads_as_the_stored_one(
    patient,
):
    assert SEES[patient](instruments._visit(patient))
    found = instruments.record(patient, read_anew(patient))
    stored = RECORD[patient]
    for instrument, reading in found["readings"].items():
        assert reading["kind"] == stored["readings"][instrument]["kind"], instrument
    for key in (
        "well",
        "larger_scale",
        "tried",
        "family",
        "diagnosis",
        "cure",
        "thread",
    ):
        assert found[key] == stored[key], key
    # the beginning; later, other kernels round to other losses
    for curve in ("loss", "healthy"):
        start = [
            [np.nan if v is None else v for v in each[curve][:3]]
            for each in (found, stored)
        ]
        assert start[0] == pytest.approx(start[1], rel=0.1, nan_ok=True)


@pytest.mark.parametrize("patient", NAMES)
def test_a_patient_is_cured_by_its_cure_and_not_by_another(patient):
    """As the record has it, which is compared with a fresh one above."""
    well = RECORD[patient]["well"]
    tried = RECORD[patient]["tried"]
    assert well == [patient == "accumulate", True]
    others = [name for name in NAMES if name != patient]
    assert list(tried) == [
        n for n in others if clinic.script(patient, n) != clinic.script(patient)
    ]
    assert len(tried) >= 3 and (well[0] or "well" not in tried.values())


def test_the_healthy_one_moves_its_weights_every_fourth_time():
    names = clinic.admit("accumulate")
    moved = []
    model = names["build"]()
    for batch in clinic.batches(names)[:8]:
        before = model.get_weights()
        model.train_on_batch(*batch)
        moved.append(not all(map(np.array_equal, before, model.get_weights())))
    assert moved == [False, False, False, True] * 2


def test_each_script_is_short_and_names_its_thread():
    families = records.clinic()["families"]
    for name, chart in clinic.charts().items():
        head, *_ = lines = clinic.script(name).splitlines()
        assert (
            re.fullmatch(r"# https://\S+", head)
            and len([x for x in lines if x.strip()]) <= 25
        )
        told = {
            key: chart[key]
            for key in ("title", "symptom", "diagnosis", "cure", "family")
        }
        assert told.items() <= RECORD[name].items() and chart["family"] in families
        assert clinic.difference(name) or name == "accumulate"
    assert (
        list(RECORD) == NAMES
        and len(set(p["diagnosis"] for p in RECORD.values())) == 15
    )
    assert all(
        len(p[curve]) <= 60 for p in RECORD.values() for curve in ("loss", "healthy")
    )
    minutes = {key: minutes for key, (_, minutes, _) in instruments.INSTRUMENTS.items()}
    tools = records.clinic()["instruments"]
    assert {key: tool["minutes"] for key, tool in tools.items()} == minutes and len(
        tools
    ) == 11


def test_patients_have_names_and_numbers_and_nothing_else():
    assert clinic.script(2) == clinic.script("ids") != clinic.script(2, cure=2)
    for wrong in (0, 16, "flu", 1.5, None):
        with pytest.raises(ValueError, match="give a number from 1 to 15"):
            clinic.run(wrong)


def test_a_run_leaves_the_policy_and_ends_after_the_steps_that_are_asked_for():
    import keras

    policy = keras.config.dtype_policy().name
    visit = clinic.run("scale_loss", steps=2, policy="float32")
    assert (
        len(visit.losses) == 2 and np.isnan(visit.scales).all() and visit.report == {}
    )
    assert keras.config.dtype_policy().name == policy and "loss in 2 steps" in repr(
        visit
    )
    unwritten = clinic.run("scale_loss", steps=2, step=lambda model, x, y: None)
    assert np.isnan(unwritten.losses).all() and len(unwritten.losses) == 2


def test_what_speaks_against_a_wrong_cause_is_a_reading_that_differs():
    from course_utils.exercises import nb09

    for patient in RECORD:
        for guess, message in nb09.causes(patient).wrong.items():
            then, here = re.findall("reads “(.*?)”", message)
            assert then != here and message.startswith(RECORD[guess]["diagnosis"])
