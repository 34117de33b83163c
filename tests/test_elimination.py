"""What readings leave of the causes: against a slow search, on the record and on
invented ones.
"""

import itertools
import random

import pytest

from course_utils import clinic, records


def invented(seed=0, patients=3, instruments=3, kinds=2):
    """A record of patients who read anything."""
    chance = random.Random(seed)
    tools = {f"tool {n}": {"name": f"Tool {n}", "minutes": chance.randint(1, 9)}
             for n in range(instruments)}  # fmt: skip
    people = []
    for n in range(patients):
        read = {tool: f"kind {chance.randrange(kinds)}" for tool in tools}
        readings = {
            tool: {"kind": kind, "text": f"{kind}, as with {n}"}
            for tool, kind in read.items()
        }
        texts = {
            "symptom": f"It hurts {n}.",
            "diagnosis": f"cause {n}",
            "cure": f"Cure {n}.",
        }
        curves = {
            "loss": [2.0, *([None, None] if n % 2 else [1.9, 1.8])],
            "healthy": [2.0, 0.5],
        }
        people.append(
            {"key": f"p{n}", "family": "nan", **texts, **curves, "readings": readings}
        )
    return {
        "instruments": tools,
        "patients": people,
        "families": {"nan": "Not a number"},
    }


RECORDS = {
    "small": invented(),
    "equal": invented(1, 6, 2),
    "large": invented(2, 12, 6, 3),
}
RECORDS["recorded"] = records.clinic()
each = pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)


def fit(record, key, asked):
    """The causes that a patient's readings leave, one by one."""
    read = {patient["key"]: patient["readings"] for patient in record["patients"]}
    alike = lambda other, tool: read[other][tool]["kind"] == read[key][tool]["kind"]  # noqa: E731
    return {other for other in read if all(alike(other, tool) for tool in asked)}


@each
def test_a_reading_rules_out_those_who_read_another_kind(record):
    tools = list(record["instruments"])
    chance = random.Random(0)
    for patient in record["patients"]:
        key = patient["key"]
        for _ in range(20):
            asked = chance.sample(tools, chance.randint(0, len(tools)))
            out = clinic.ruled_out(record, key, asked)
            assert {p["key"] for p in record["patients"]} - set(out) == fit(
                record, key, asked
            )
            for other, tool in out.items():  # the first one that did
                before = asked[: asked.index(tool)]
                assert other in fit(record, key, before) - fit(record, key, [tool])


@each
def test_no_cheaper_instruments_leave_as_little(record):
    tools = list(record["instruments"])
    for patient in record["patients"]:
        key = patient["key"]
        few = clinic.cheapest(record, key)
        least = fit(record, key, tools)
        assert fit(record, key, few) == least == {key, *clinic.rivals(record, key, few)}
        for n in range(len(tools) + 1):
            for other in itertools.combinations(tools, n):
                if clinic.minutes(record, other) < clinic.minutes(record, few):
                    assert fit(record, key, other) != least


CORE = [clinic.CaseFile(number) for number in range(1, 5)]


def proofs(case, most):
    """The sets of a case's instruments for at most so many minutes that leave one
    cause.
    """
    key = case.patient["key"]
    groups = itertools.chain.from_iterable(
        itertools.combinations(case.instruments, n)
        for n in range(len(case.instruments) + 1)
    )
    return {
        frozenset(group)
        for group in groups
        if clinic.minutes(case.record, group) <= most
        and not clinic.rivals(case.record, key, group)
    }


def test_no_order_of_instruments_proves_more_than_one_case_of_the_core():
    """Nor does one that stops as soon as a cause is certain: text of 09's section 5."""
    enough = [proofs(case, case.budget) for case in CORE]
    tools = list(CORE[0].instruments)
    cheap = sorted(CORE[0].instruments.values(), key=lambda tool: tool["minutes"])
    # so that a longer order buys nothing that one of four does not
    assert sum(tool["minutes"] for tool in cheap[:4]) > max(c.budget for c in CORE)
    solved = [
        sum(
            any(frozenset(order[:n]) in proven for n in range(1, 5))
            for proven in enough
        )
        for order in itertools.permutations(tools, 4)
    ]
    assert max(solved) == 1 and len(solved) == 10 * 9 * 8 * 7


def test_the_cheapest_proofs_of_the_core_share_nothing_and_take_three_minutes():
    cheapest = []
    for case in CORE:
        price = clinic.minutes(case.record, case.enough)
        least = min(tool["minutes"] for tool in case.instruments.values())
        assert 3 <= price == case.budget - least
        assert not clinic.rivals(case.record, case.patient["key"], case.enough)
        cheapest.append(
            set().union(*proofs(case, price))
        )  # those that cost as much, too
    for one, other in itertools.combinations(cheapest, 2):
        assert not one & other


def test_each_instrument_is_in_somebodys_cheapest_proof():
    record = records.clinic()
    used = {
        tool
        for number in range(1, len(record["patients"]) + 1)
        for tool in clinic.CaseFile(number).enough
    }
    assert used == set(record["instruments"])
    for patient in record["patients"]:  # no two causes read alike everywhere
        assert not clinic.rivals(record, patient["key"], record["instruments"])


def test_instruments_stand_by_their_price():
    prices = [each["minutes"] for each in records.clinic()["instruments"].values()]
    assert prices == sorted(prices)


PLAN = {"steady": "probe", "falls": "ranges", "dips": "ranges", "none": "flow"}


def test_the_plan_in_09_leads_every_patient_to_its_cause():
    """What its section 8 says to ask: an instrument, by what the one before reads."""
    record = records.clinic()
    for patient in record["patients"]:
        kinds = {tool: reading["kind"] for tool, reading in patient["readings"].items()}
        asked = ["examine"]
        if kinds["examine"] == "nothing":
            asked.append("scale")
            asked += [PLAN[kinds["scale"]]] if kinds["scale"] in PLAN else []
            if asked[-1] == "flow" and kinds["flow"] == "mixed":
                asked.append("probe")
            if asked[-1] == "probe" and kinds["probe"] == "nothing":
                asked.append("profiler" if "flow" in asked else "twin")
        assert not clinic.rivals(record, patient["key"], asked)
