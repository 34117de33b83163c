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
        assert not clinic.rivals(record, patient["key"], asked)
