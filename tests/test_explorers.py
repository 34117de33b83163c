"""The explorers' Python side: the static tables, the data, what arguments may be, the
fragments.
"""

import base64
import json
import re
from fractions import Fraction

import numpy as np
import pytest
from bs4 import BeautifulSoup
from helpers.every_explorer import SOURCES, made
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_elimination import RECORDS, invented

from course_utils import clinic, formats, gradients, records
from course_utils.explorers import (
    BitSplit,
    BlockLab,
    FloatLab,
    InstrumentPanel,
    ScaleScope,
    blocklab,
    floatlab,
    scalescope,
)
from course_utils.formats import blocks
from course_utils.gradients import splits

ATTACK = "</script><img src=x onerror=alert(1)>"
ATTACKS = [
    ATTACK, "<!--<script>", "&lt;b&gt;", "\u2028", "'\"", "{}<svg/onload=alert(1)>"
]  # fmt: skip
KEPT_TAGS = set("table caption thead tbody tr th td code div details summary".split())


class Shown:
    """What an explorer shows: its HTML as text and as tags, and its plain text."""

    def __init__(self, explorer):
        bundle = explorer._repr_mimebundle_()
        self.html, self.plain = bundle["text/html"], bundle["text/plain"]
        self.page = BeautifulSoup(self.html, "html.parser")
        for summary in self.page("summary"):
            summary.decompose()  # the short form; the whole value follows
        self.caption = self.page.caption.text
        self.head, *self.rows = (
            [cell.text for cell in row(["th", "td"])] for row in self.page("tr")
        )
        self.data = json.loads(self.page.script.text)

    def tags_not_kept(self):
        return [tag.name for tag in self.page(True) if tag.name not in KEPT_TAGS]


CHANCE = np.random.default_rng(0)
# Gradients as they are late in training, log-normal, many of them zero.
LATE = 2.0 ** CHANCE.normal(-24, 5, 4000) * (CHANCE.random(4000) > 0.4)
EXPLORERS = {name: Shown(made(source)) for name, source in SOURCES.items()}
each = pytest.mark.parametrize("shown", EXPLORERS.values(), ids=EXPLORERS)


# FloatLab's table and entries


@pytest.mark.parametrize("entry", ["0.1", "65520", "2^-149", "-0", "inf", "1e-400"])
def test_the_static_table_shows_what_encode_gives(entry):
    shown = Shown(FloatLab(entry))
    assert entry in shown.caption and shown.head == floatlab.HEADS
    assert [row[0] for row in shown.rows] == list(formats.FORMATS)
    for name, *fields, code, value, kind, _ in shown.rows:
        right = formats.encode(entry, name)
        assert (" ".join(fields), code, kind) == (right.bits, right.hex, right.kind)
        if right.exact is not None:
            assert Fraction(value.replace("−", "-")) == right.exact
        assert value.startswith("−") == (right.sign == "1")


def test_a_code_is_one_of_the_first_format_and_keeps_its_bits():
    rows = Shown(FloatLab("0x7C01", ["float16", "bfloat16"])).rows
    assert rows[0][1:5] == ["0", "11111", "0000000001", "0x7C01"]
    assert rows[1][4] == formats.encode("nan", "bfloat16").hex
    rows = Shown(FloatLab(" 0b0011110000000000", ["float16"])).rows
    assert rows[0][5] == "1" and rows[0][-1] == "no error"
    assert "float16 has 16 bits" in Shown(FloatLab("0x3C000", ["float16"])).plain
    assert Shown(FloatLab("nan")).rows[-1] == ["float4_e2m1fn", "no NaN here"]


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(), st.text("0123456789.eE+-−^*xXbB, ", max_size=12)))
@example("")
@example("1" * 10_000)
@example("\ud800")
@example(ATTACK)
def test_any_text_is_an_entry_and_a_bad_one_gives_a_table_with_the_message(entry):
    shown = Shown(FloatLab(entry))
    assert shown.tags_not_kept() == ["script", "script"]
    assert shown.data["entry"] == entry
    if not shown.rows:
        (message,) = shown.head
        assert message.endswith((".", ".'")) and len(message) < 300
        assert message in shown.plain


# The tables of the others, and what their pages hold


@pytest.mark.parametrize("values", [LATE, [0.0], [np.nan, 1, np.inf]])
def test_the_static_table_shows_what_survives(values):
    shown = Shown(ScaleScope(values))
    assert shown.head == scalescope.HEADS
    histogram = gradients.OctaveHistogram.from_values(values)
    bad = histogram.nans + histogram.infinities
    ending = f"of which {bad} NaN or infinite" if bad else "the nonzero"
    assert shown.caption.endswith(ending)
    for row, scale in zip(shown.rows, scalescope.TABLE_SCALES, strict=True):
        right = histogram.survival("float16", scale)
        nonzero = right.total - right.zero - right.nonfinite_input
        shares = [row[2 + scalescope.RESULTS.index(name)]
                  for name in ("rounded_to_zero", "overflow")]  # fmt: skip
        assert shares == [
            scalescope.percent(count / (nonzero or 1))
            for count in (right.rounded_to_zero, right.overflow)
        ]
        error = histogram.relative_error("float16", scale)
        assert row[1] == ("∞" if np.isinf(error) else f"{100 * error:.2g} %")


@given(st.floats(0, 1))
def test_little_is_never_nothing_and_much_never_all(share):
    text = scalescope.percent(share)
    assert (text == "0 %") == (share == 0) and (text == "100 %") == (share * 100 >= 100)
    number = float(text.strip("<>% "))
    assert number == pytest.approx(100 * share, abs=0.0501) and len(text) <= 8


def test_the_static_table_shows_every_split_and_scaled_gradients():
    tensors = {"weights": [3.0, -0.1], "gradients, mine": LATE, "empty": []}
    shown = Shown(BitSplit(**tensors))
    assert shown.head[1:] == [*tensors, "gradients, mine × 2^10"]
    assert shown.rows[3][0] == "5 + 10 float16" and shown.rows[6][0] == "8 + 7 bfloat16"
    for name, column in zip(
        shown.head[1:], list(zip(*shown.rows, strict=True))[1:], strict=True
    ):
        survey = splits.survey(tensors[name.split(" ×")[0]], [10 * ("×" in name)])
        errors = [error for error, *_ in survey["kept"][0]]
        texts = ["overflow" if e is None else scalescope.percent(e) for e in errors]
        assert list(column) == texts
    counts = {one["name"]: len(one["kept"]) for one in shown.data["tensors"]}
    assert counts == {"weights": 1, "gradients, mine": 25, "empty": 1}
    notes = [page.data["note"] for page in (shown, EXPLORERS["bitsplit"])]
    assert ["Recorded" in note for note in notes] == [False, True]


def test_of_a_long_tensor_every_value_counts_and_some_blocks_are_in_the_page():
    values = np.float32(CHANCE.normal(size=(100, 999)) ** 5)
    values[3, 3] = 1e6
    rows = np.append(values, np.zeros(4, "float32")).reshape(-1, 32)
    shown = Shown(BlockLab(values))
    assert len(shown.html.encode()) <= 80_000
    tensor = shown.data["tensors"][0]
    page = np.frombuffer(base64.b64decode(tensor["blocks"]), "<f4").reshape(64, 33)
    places = [int(name.split()[1].replace(",", "")) - 1 for name in tensor["names"]]
    assert tensor["names"][-1] == "block 3,122 of 3,122"
    assert places == sorted(set(places))
    assert np.array_equal(page[:, :32], rows[places])
    home = (3 * 999 + 3) // 32
    assert (page[:, 32] == 1e6).all() == (home not in places)
    for name, row in zip(blocklab.TITLES, shown.rows, strict=True):
        kept = blocks.quantize(values, name).values
        off = np.linalg.norm(kept - values) / np.linalg.norm(values.astype(float))
        lost = np.mean(kept[values != 0] == 0)
        assert row[0] == blocklab.TITLES[name]
        assert row[2:] == [f"{100 * lost:.3g}", f"{100 * off:.3g}"]


def test_the_static_table_says_what_tells_each_cause():
    record = RECORDS["recorded"]
    rows = {row[0]: row[1:] for row in EXPLORERS["panel"].rows}
    assert list(rows) == sorted(one["diagnosis"] for one in record["patients"])
    for patient in record["patients"]:
        few = clinic.cheapest(record, patient["key"])
        texts, minutes = rows[patient["diagnosis"]]
        assert minutes == f"{clinic.minutes(record, few)}"
        for tool in few:
            assert patient["readings"][tool]["text"] in texts


# Arguments


def test_the_name_of_a_format_is_that_one_format():
    assert FloatLab("0.1", formats="float16").formats == ["float16"]
    with pytest.raises(ValueError, match='^There is no format "float12": choose one'):
        FloatLab("0.1", formats="float12")


@pytest.mark.parametrize(
    ("make", "options", "part"),
    [
        (FloatLab, {"formats": ["float12"]}, '"float12": choose one of float32, tf32,'),
        (ScaleScope, {"gradients": {}}, "no layer"),
        (BitSplit, {"weights": ["a"]}, "has no octaves"),
        (BlockLab, {"values": [[1.0], [1.0, 2.0]]}, "one at least"),
        (InstrumentPanel, {"record": invented(patients=0)}, "one patient at least"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(make, options, part):
    with pytest.raises((ValueError, TypeError)) as caught:
        make(**options)
    message = str(caught.value)
    assert part in message and message.endswith(".") and len(message) < 300
    assert ". " not in message and "\n" not in message


# The fragments


def test_texts_are_data_everywhere():
    layers = {name: [1.0] for name in [*ATTACKS, "", 7]}
    split = BitSplit(**{str(name): values for name, values in layers.items()})
    record = invented()
    for patient in record["patients"]:
        patient["diagnosis"] += ATTACK
        patient["readings"] = {
            tool: reading | {"text": ATTACK}
            for tool, reading in patient["readings"].items()
        }
    made = *map(FloatLab, ATTACKS), InstrumentPanel(record), ScaleScope(layers), split
    pages = [Shown(each) for each in made]
    for shown in pages:
        assert shown.tags_not_kept() == ["script"] * shown.html.count("</script>")
        assert shown.html.count("</script>") == 2
    names = list(map(str, layers))
    assert [layer["name"] for layer in pages[-2].data["layers"][1:]] == names
    assert [tensor["name"] for tensor in pages[-1].data["tensors"]] == names


@each
def test_a_fragment_is_one_host_one_json_and_one_small_classic_script(shown):
    (name,) = (name for name, one in EXPLORERS.items() if one is shown)
    if name != "floatlab":  # which writes its values out in one of them
        lines = [line.split() for line in shown.plain.splitlines()[1:]]
        assert lines == [" ".join(row).split() for row in (shown.head, *shown.rows)]
    assert list(shown.page.find().attrs) == [f"data-{name}"]
    attributes = [script.attrs for script in shown.page("script")]
    assert attributes == [{"type": "application/json"}, {}]
    assert not shown.page(id=True)
    assert len(shown.html.encode()) <= 80_000  # it is stored in the notebook


def test_the_recorded_gradients_fit_into_a_notebook_layer_by_layer():
    for layers in records.gradients().values():
        assert len(Shown(ScaleScope(layers)).html.encode()) <= 80_000


@each
def test_a_fragment_asks_nothing_of_the_network(shown):
    code = shown.html.replace("http://www.w3.org/2000/svg", "")
    # Nor does it keep anything, speak to the console, or read text as markup or code.
    words = r"""https?: \bsrc\b \bhref\b \burl\( @import \bimport\b \bfetch\b XMLHttpRequest
        WebSocket EventSource sendBeacon Worker \bImage\( localStorage sessionStorage indexedDB
        cookie \bconsole\b \beval\b innerHTML outerHTML insertAdjacentHTML document\.write
        Function Math\.random \bDate\b \bid:"""
    assert not re.findall("|".join(words.split()), code)


@pytest.mark.parametrize(
    "shown", [*EXPLORERS.values(), Shown(FloatLab("nan")), Shown(FloatLab(ATTACK))]
)
def test_the_static_part_survives_the_sanitizer(shown):
    """JupyterLab keeps these tags, scope, colspan and literal styles of an untrusted
    output.
    """
    for tag in shown.page.table(True):
        assert tag.name in KEPT_TAGS and set(tag.attrs) <= {"style", "scope", "colspan"}
        assert not re.search(r"var\(|position|url|display", tag.get("style", ""))
