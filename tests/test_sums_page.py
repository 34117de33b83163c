"""docs/sums.md says of trainings what data/bias_trainings.json and that of another CPU
hold, and nothing else.
"""

import copy
import json
import re

from tools import reference
from tools.bias_page import late
from tools.canonical_form import COURSE

RECORD, OTHER = (
    json.loads((COURSE / "data" / name).read_text(encoding="utf-8"))
    for name in ("bias_trainings.json", "bias_trainings_avx2.json")
)
PAGE = (COURSE / "docs/sums.md").read_text(encoding="utf-8")
FIRST, LONGER = "regression, targets near 20", "the same, five times as long"
CENTERED = "regression, targets near 0"
OFFSETS = (FIRST, "one in a hundred", "a level near 5, recurrent")

# A sentence with such a word tells a result.
RESULT = re.compile(
    r"\b(late|lower|higher|better|worse|faster|slower|mends?|cures?|helps?|loses|ended|"
    r"skipped|changed|within|percent)\b"
)
# Or it is one of these, which say how it was measured.
METHOD = (
    "We call a training *late*",
    "For each row 10 pairs",
    "The last column says",
)
# What follows these is computed.
COMPUTED = (
    "With ",
    "mixed_bfloat16 was ",
    "Its loss scale skipped",
    "The switch",
    "The same trainings were late",
    "Of the layers, these have another error",
    "The training per pixel ended there",
)


def losses(record, training, optimizer="SGD", policy="mixed_bfloat16"):
    asked = {"training": training, "optimizer": optimizer, "policy": policy}
    (found,) = [row for row in record["trainings"] if asked.items() <= row.items()]
    return found["losses"]


def was_late(record, training, *how):
    optimizer = how[0] if how else "SGD"
    right = losses(record, training, optimizer, "float32")
    return late(losses(record, training, *how), right)


def excess(record, training):
    """How far the mean loss in bfloat16 is above float32's, as a part of it."""
    right = losses(record, training, "SGD", "float32")
    return sum(losses(record, training)) / sum(right) - 1


def error(record, layer, positions):
    """Of a bias gradient in float16, with terms of one sign."""
    asked = {"layer": layer, "positions": positions, "policy": "mixed_float16"}
    asked["terms"] = "one sign"
    (found,) = [row for row in record["layers"] if asked.items() <= row.items()]
    return found["error"]


def late_with_an_offset(record):
    offsets = all(was_late(record, name) for name in OFFSETS)
    return offsets and not was_late(record, CENTERED)


def mended(record):
    return excess(record, LONGER) < excess(record, FIRST) / 2


def never_late_with_adam(record):
    return not any(was_late(record, n, "Adam") for n in (*OFFSETS, LONGER, CENTERED))


def lower_with_adam(record):
    right = losses(record, LONGER, "Adam", "float32")
    pairs = zip(losses(record, LONGER, "Adam"), right, strict=True)
    return all(other < one for other, one in pairs)


def late_in_float16(record):
    dense = error(record, "Dense", 4096)
    return was_late(record, FIRST, "SGD", "mixed_float16") and dense < 0.001


def own_bias_loses(record):
    return error(record, "x + b", 4096) < 0.01 < 0.1 < error(record, "x + b", 32768)


CLAIMS = {  # how a sentence begins that somebody wrote: whether a record holds it
    "Under mixed_bfloat16 SGD is late where biases have to learn": late_with_an_offset,
    "Five times as many steps mend most of it": mended,
    "Adam divides by the size of the gradient and was never": never_late_with_adam,
    "After five times as many steps Adam even ended lower in bfl": lower_with_adam,
    "Under mixed_float16 the first training with SGD is a little": late_in_float16,
    "In float16 it is the other way round: there `x + b`": own_bias_loses,
}


def sentences(page):
    """Those of the sections on trainings, without their tables."""
    text = page.partition("## Which trainings")[2].partition("## Reports")[0]
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#"))]
    return [s for line in lines for s in re.split(r'(?<=[."]) +(?=[A-Z]|mixed)', line)]


def test_the_page_is_made_of_the_record():
    assert reference.sums_page() == PAGE


def test_the_page_claims_of_trainings_only_what_the_record_holds():
    told = sentences(PAGE)
    for claim, holds in CLAIMS.items():
        assert any(sentence.startswith(claim) for sentence in told), claim
        assert holds(RECORD) and holds(OTHER), claim
    known = (*CLAIMS, *METHOD, *COMPUTED)
    results = [sentence for sentence in told if RESULT.search(sentence)]
    assert len(results) > len(CLAIMS)
    assert [s for s in results if not s.startswith(known)] == []


def test_another_record_makes_other_sentences():
    """Each number is set, so that the test holds for the next record, too."""
    other = copy.deepcopy(RECORD)
    right = {r["batch"]: r["losses"] for r in other["batches"]}  # the last one's
    for row in other["batches"]:
        times = 2 if row["policy"] != "float32" and row["batch"] == 32 else 1
        row["losses"] = [times * loss for loss in right[row["batch"]]]
    for row in other["pixels"]:
        worse = not row["onednn"] and row["bias"] != "x + b"
        times = 2 if worse and row["policy"] != "float32" else 1
        row["losses"] = [times * 0.1] * 3
    intervals = {"as it is": (0.9, 1.1), "XLA": (1.2, 1.4), "x + b": (1, 1.2)}
    other["cures"] = [row for row in other["cures"] if row["cure"] in intervals]
    for row in other["cures"]:
        low, high = intervals[row["cure"]]
        row["times_as_long"] = {"median": 1.1, "low": low, "high": high}
    page = reference.sums_of(other, OTHER)
    assert "Other trainings were late there." in page
    assert "No layer has another error there." in reference.sums_of(RECORD, RECORD)
    assert "The same trainings were late there" in reference.sums_of(RECORD, RECORD)
    assert "With 32 rows in a step, mixed_bfloat16 was late." in page
    assert "With 128, 512, 1,024 and 4,096 rows in a step, it was not late." in page
    assert "mixed_bfloat16 was late with oneDNN off. With biases of our own" in page
    assert "it was not late." in page and "changed no digit" not in page
    assert "| 1.10 (0.90 to 1.10), no difference shown |" in page
    assert "| 1.10 (1.20 to 1.40) |" in page
    assert "| 1.10 (1.00 to 1.20), no difference shown |" in page
    for row in other["pixels"]:
        row["losses"], row["overlaps"] = [0.1] * 3, [0.7] * 3
    page = reference.sums_of(other, OTHER)
    assert "mixed_bfloat16 was not late. With biases" in page
    assert "changed no digit" in page


def test_a_device_whose_sums_in_parts_end_elsewhere_has_no_table_of_its_own():
    tables = PAGE.split("\n## From how many positions")[0].count("\n## ")
    assert tables == 3
    (others,) = re.findall(r"The table is the same with (.*), but for numbers", PAGE)
    assert "Xeon" in others and "TF_ENABLE_ONEDNN_OPTS=0" in others
