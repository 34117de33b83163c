"""Exercise 9.6: what is said of a cause, after which readings."""

import itertools
import re

import pytest
from test_elimination import proofs

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
        "by luck: by their kinds, your readings fit 21 more" in lucky
        and ": 0 min paid, 21" in bill
    )
    case = clinic.CaseFile(NAMES.index(patient) + 1)
    paid, bill = tried(patient, case.instruments)
    price = 62 if "examine" in case.instruments else 61
    assert f"for {price} minutes, and {case.budget} are allowed" in paid
    assert ", 0 other causes" in bill
    few = case.enough
    answer, bill = tried(patient, few)
    assert answer is None and bill.endswith(f"would have done: {', '.join(few)}")


@pytest.mark.slow
def test_a_wrong_cause_is_answered_by_a_reading_that_differs_an_asked_one_first():
    for patient, guess in itertools.permutations(RECORD, 2):
        told, _ = tried(patient, nb09.case_of(patient).instruments, guess)
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


@pytest.mark.parametrize("number", range(1, 5))
def test_every_other_proof_that_the_minutes_allow_is_right_in_any_order(number):
    case = clinic.CaseFile(number)
    judge = nb09.Diagnosis(case.patient["key"])
    found = proofs(case, case.budget)
    assert len(found) > 1
    for proof in found:
        for order in itertools.permutations(proof):
            case.asked = [*order]
            assert judge(case.names(case.patient["key"])) is None


def test_nine_of_ten_other_ways_to_give_a_right_answer_are_taken():
    key = "batchnorm"

    def named(asked, word=key):
        case = clinic.CaseFile(3)
        for instrument in asked:
            case.ask(instrument)
        return case.names(word)

    ways = [
        named(["ranges", "scale"]),
        named(["scale", "scale", "ranges"]),
        named(["scale", "histogram"]),
        named(["files", "scale", "ranges"]),
        named(["scale", "ranges", "files"]),
        named(["scale", "ranges"], " batchnorm "),
        named(["scale", "ranges"], "BatchNorm"),
        named(("histogram", "files", "scale")),
        nb09.cases.Named(key, ("scale", "ranges"), key),
        named(["scale", "ranges"], RECORD[key]["diagnosis"]),  # in place of its word
    ]
    judge = nb09.Diagnosis(key)
    told = [judge(answer) for answer in ways]
    assert told[:9] == [None] * 9
    assert told[9].startswith("You gave") and "choose from" in told[9]
