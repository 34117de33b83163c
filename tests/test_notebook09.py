"""What notebook 09 shows, from its own cells: what is left, what stops, what is cured."""

import re

import numpy as np
import pytest
import tensorflow as tf

from course_utils import exercises, precision
from tools.cells import Cells

pytestmark = pytest.mark.slow

NOTEBOOK = Cells("09_clinic")


@pytest.fixture(scope="module")
def names():
    """What the cells up to the first patient leave behind."""
    found = {"__name__": "__main__", "q": exercises.load("09")}
    NOTEBOOK.run("gallery", "one", "ask", names=found)
    return found


def left(line):
    """The minutes and the causes in what `ask` prints last."""
    minutes, causes = re.fullmatch(r"(\d+) minutes so far, left: (.*)", line).groups()
    return int(minutes), causes.split(", ")


def test_each_instrument_leaves_fewer_causes_and_the_last_leaves_one(names):
    *_, end = NOTEBOOK.printed("one-scale", names=names)
    minutes, causes = left(end)
    assert minutes == 2 and "mask" in causes and 1 < len(causes) < 8
    stopped, _, end = NOTEBOOK.printed("check-numerics", names=names)
    assert re.search(r"stopped at \S*attention\S*/mul/", stopped) and left(end) == (
        10,
        ["mask"],
    )
    NOTEBOOK.run("two", names=names)
    twin, *_, end = NOTEBOOK.printed("two-twin", names=names)
    assert "loss in 48 steps" in twin and len(left(end)[1]) > 1
    *table, _, end = NOTEBOOK.printed("two-flow", names=names)
    assert table[1].split() == ["Embedding", "bfloat16", "bfloat16"]
    assert table[2].split() == ["Embedding", "int32", "bfloat16"] and left(end)[1] == [
        "ids"
    ]


def test_a_larger_scale_cures_nobody(names):
    first, second, guess = NOTEBOOK.printed(
        "larger", names=names | {"q": exercises.load("09")}
    )
    start, end, loss = re.fullmatch(
        r"scale (\S+) to (\S+), last loss (\S+)", first
    ).groups()
    assert float(start) > 2**24.9 > 1 > float(end) and loss == "nan"
    assert second == "of 9 patients with a loss scale, 0 get well with a larger one"
    assert guess == "you guessed None"
    task = NOTEBOOK.sources["predict-text"]
    assert "9 of this" in task and "# 0 to 9" in NOTEBOOK.sources["prediction"]


def test_the_learners_own_step_cures_the_third_and_changes_no_loss_of_the_training(
    names,
):
    NOTEBOOK.run("three", names=names)
    lines = NOTEBOOK.printed("three-scale", "three-ranges", names=names)
    assert [line.split(":")[0] for line in lines if line.startswith("step")] == [
        "step 10",
        "step 34",
    ]
    rows = [
        re.sub(r"_\d+", "", line).split() for line in lines if "/" in line.split()[0]
    ]
    ranges = {row[0]: row[1::2] for row in rows}
    bad = {
        name
        for name, ends in ranges.items()
        if not np.isfinite(list(map(float, ends))).all()
    }
    assert bad == {
        f"batch_normalization/moving_{kind}" for kind in ("mean", "variance")
    }
    exec(names["q"][5].exercise.solution, names)
    NOTEBOOK.printed("three-cure", names=names)
    assert names["cured"].losses == pytest.approx(names["three"].losses, nan_ok=True)
    assert names["cured"].well and not names["three"].well


def test_the_fourth_waits_under_each_policy_and_after_the_cure_no_more(names):
    one = [('("float32", "mixed_bfloat16")', '("float32",)')]
    NOTEBOOK.printed("four", names=names, replaced=one)
    *_, end = NOTEBOOK.printed("four-profiler", names=names)
    assert np.median(names["four"]["float32"].waits) > 45 and left(end)[1] == ["slow"]
    NOTEBOOK.printed("four-cure", names=names)
    assert np.median(names["cured"].waits) < 8 and "+" in names["clinic"].difference(4)


def test_at_work_the_two_instruments_find_a_limit_on_scaled_gradients(names):
    lines = NOTEBOOK.printed("work", names=names | {"precision": precision})
    assert any(line.startswith("MP017 error") for line in lines)


def test_check_numerics_stops_what_is_healthy_and_is_off_afterwards(names):
    given = names | {
        "watched": lambda model: tf.debugging.enable_check_numerics(),
        "re": re,
    }
    lines = NOTEBOOK.printed("numerics-healthy", "numerics-run", names=given)
    said = dict(line.split(": ", 1) for line in lines)
    assert re.fullmatch(r"trains, scale 1.09951e\+12 to \d+", said["large scale"])
    assert said["watched"] == "trains, scale 32768 to 32768"
    assert re.search(
        "InvalidArgumentError, node gradient_tape/", said["large scale, watched"]
    )
    assert said["XLA, watched"] == "InvalidArgumentError, unsupported operations"
    assert said["patient 7 cured, watched"].startswith("InvalidArgumentError, ")
    assert np.isinf(tf.function(tf.math.log)(tf.zeros(())))


def test_each_answer_and_each_word_leads_to_a_cell():
    """Which is there, says the check of the template."""
    texts = (NOTEBOOK.sources[cell] for cell in ("faq", "glossary"))
    entries = [
        line for text in texts for line in text.splitlines() if line.startswith("- ")
    ]
    assert len(entries) >= 36
    for entry in entries:
        assert len(re.findall(r"\]\(\d\d_\w+\.ipynb#cell-id=[\w-]+\)", entry)) == 1, (
            entry
        )
