"""Exercise 9.6: what is said of a cause, after which readings."""

import itertools
import re

import pytest

from course_utils import clinic, records
from course_utils.lessons.nb09 import exercises as nb09

RECORD = {patient["key"]: patient for patient in records.clinic()["patients"]}
NAMES = list(clinic.charts())


def tried(patient, asked, cause=None):
    """What exercise 9.6 says of a cause that is named after these instruments."""
    case = clinic.CaseFile(NAMES.index(patient) + 1)
    for instrument in asked:
        case.ask(instrument)
    return nb09.Diagnosis(patient)(case.names(cause or patient)), case.bill()


@pytest.mark.parametrize("patient", NAMES)
def test_who_never_asks_was_lucky_and_who_asks_everything_pays(patient):
    lucky, bill = tried(patient, ())
    assert (
        "by luck: by their kinds, your readings fit 16 more" in lucky
        and ": 0 min paid, 16" in bill
    )
    paid, bill = tried(patient, clinic.INSTRUMENTS)
    assert "for 58 minutes, and 10 are allowed" in paid and ", 0 other causes" in bill
    few = clinic.cheapest(records.clinic(), patient)
    answer, bill = tried(patient, few)
    assert answer is None and bill.endswith(f"would have done: {', '.join(few)}")


def test_a_wrong_cause_is_answered_by_a_reading_that_differs_an_asked_one_first():
    for patient, guess in itertools.permutations(RECORD, 2):
        told, _ = tried(patient, clinic.INSTRUMENTS, guess)
        then, here = re.findall("reads “(.*?)”", told)
        assert then != here and told.startswith(RECORD[guess]["diagnosis"])
        told, _ = tried(patient, (), guess)  # no reading is given away
        assert "nothing that you read" in told and "reads “" not in told
    assert "check_numerics" in tried("mask", ("numerics",), "ids")[0]
    core = clinic.CaseFile(1).names("mask")
    refused = "That is patient 1: take a case that this exercise asks for."
    for others in ((), tuple(RECORD)[4:]):
        assert nb09.Diagnosis("ids", others)(core) == refused


def test_a_cause_that_is_none_is_refused_with_those_that_are():
    answer = nb09.Diagnosis("ids")(clinic.CaseFile(2).names("flu"))
    assert answer.endswith(f"choose from {', '.join(sorted(NAMES))}.")
