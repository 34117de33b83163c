"""What notebook 05's tree names is what limits a step: eight recorded steps."""

import json

import pytest
from helpers import limits

from course_utils import profiling
from tools.canonical_form import COURSE

# Named on 2026-11-29, before the tree got its four answers, and left out of all tuning:
# a block of a Transformer; a GRU over 28 rows; three separable convolutions with batch
# normalization; a wide network whose pictures Python turns one by one.
HELD_OUT = ("transformer", "recurrent", "separable", "turned pictures")
# Written by `python tests/helpers/limits.py FILE` on the machine that it names.
RECORD = json.loads((COURSE / "tests/records/limits-2026-11-30.json").read_text())


def test_four_of_the_eight_were_held_out():
    assert limits.HELD_OUT == HELD_OUT
    assert {*RECORD["steps"]} == {*limits.KNOWN, *HELD_OUT}
    assert len(RECORD["steps"]) == 8


def helps(cure):
    """Whether the interval of how many times as fast it makes a step lies above 1."""
    return cure[1] > 1


@pytest.mark.parametrize("name", RECORD["steps"])
def test_a_cure_of_the_named_limit_helps_and_none_of_another_is_better(name):
    bars, cures = RECORD["steps"][name]["bars"], RECORD["steps"][name]["cures"]
    limit = profiling.explain(bars["float32"], bars[limits.SIXTEEN]).name
    best = max(ratio for cure, ratio in cures.items() if limit in limits.CURES[cure])
    assert helps(best), (limit, cures)
    for cure, ratio in cures.items():
        assert not helps(ratio) or ratio[1] <= best[2], (limit, cure, cures)


def test_the_eight_steps_have_every_limit_and_those_held_out_more_than_one():
    named = {
        name: profiling.explain(*step["bars"].values()).name
        for name, step in RECORD["steps"].items()
    }
    assert {*named.values()} == {"input", "launch", "compute", "memory"}
    held_out = ("memory", "memory", "memory", "compute")
    assert [named[name] for name in HELD_OUT] == [*held_out]
