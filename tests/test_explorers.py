"""The explorers' Python side: the static tables, the data, what arguments may be, the
fragments.
"""

import base64
import json
import re
from fractions import Fraction
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest
from helpers.every_explorer import SOURCES, made
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_elimination import RECORDS, invented

from course_utils import clinic, formats, gradients
from course_utils.benchmark import records
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
from course_utils.formats import blocks, numerals
from course_utils.gradients import splits

ATTACK = "</script><img src=x onerror=alert(1)>"
ATTACKS = [
    ATTACK,
    "<!--<script>",
    "&lt;b&gt;",
    "\u2028",
    "'\"",
    "{}<svg/onload=alert(1)>",
]
KEPT_TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "code", "div"}
KEPT_TAGS |= {"details", "summary"}


class Reader(HTMLParser):
    """Tags with their attributes, the text of the cells, rows, and the scripts."""

    def __init__(self, html):
        super().__init__()
        self.tags = []
        self.rows = []
        self.scripts = []
        self.open = []
        self.caption = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1] += data
        elif "caption" in self.open:
            self.caption += data
        elif "summary" in self.open:
            pass  # the short form; the whole value follows
        elif "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def shown(explorer):
    return explorer._repr_mimebundle_()


def html(*args):
    return shown(FloatLab(*args))["text/html"]


def plain(*args):
    return shown(FloatLab(*args))["text/plain"]


def data(explorer):
    return json.loads(Reader(shown(explorer)["text/html"]).scripts[0])


CHANCE = np.random.default_rng(0)
# Gradients as they are late in training, log-normal, many of them zero; and wider ones.
LATE = 2.0 ** CHANCE.normal(-24, 5, 4000) * (CHANCE.random(4000) > 0.4)
WIDE = 2.0 ** CHANCE.normal(-3, 8, 4000)
EXPLORERS = {name: made(source) for name, source in SOURCES.items()}
each = pytest.mark.parametrize("name", EXPLORERS)


# FloatLab's table and entries


@pytest.mark.parametrize(
    "entry", ["0.1", "-4200000000", "65520", "2^-149", "-0", "inf", "1e-400"]
)
def test_the_static_table_shows_what_encode_gives(entry):
    table = Reader(html(entry))
    assert entry in table.caption
    assert table.rows[0] == floatlab.HEADS
    assert [row[0] for row in table.rows[1:]] == list(formats.FORMATS)
    for name, *fields, code, value, kind, error in table.rows[1:]:
        right = formats.encode(entry, name)
        assert (" ".join(fields), code, kind) == (right.bits, right.hex, right.kind)
        assert error == floatlab.told_error(numerals.parse(entry), right)
        if right.exact is None:
            names = {"nan": "NaN", "infinity": "infinity"}
            assert value.lstrip("−") == names[kind]
        else:
            assert Fraction(value.replace("−", "-")) == right.exact
        assert value.startswith("−") == (right.sign == "1" and kind != "nan")
    assert Reader(html("nan")).rows[-1] == ["float4_e2m1fn", "no NaN here"]


def test_a_code_is_one_of_the_first_format_and_keeps_its_bits():
    rows = Reader(html("0x7C01", ["float16", "bfloat16"])).rows
    assert rows[1][1:5] == ["0", "11111", "0000000001", "0x7C01"]
    assert rows[2][4] == formats.encode("nan", "bfloat16").hex
    rows = Reader(html(" 0b0011110000000000", ["float16"])).rows
    assert rows[1][5] == "1" and rows[1][-1] == "no error"
    assert "float16 has 16 bits" in plain("0x3C000", ["float16"])


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(), st.text("0123456789.eE+-−^*xXbB, ", max_size=12)))
@example("")
@example("1,000")
@example("1" * 10_000)
@example("-0x3C")
@example("\ud800")
@example(ATTACK)
def test_any_text_is_an_entry_and_a_bad_one_gives_a_table_with_the_message(entry):
    page = Reader(html(entry))
    assert [tag for tag, _ in page.tags if tag not in KEPT_TAGS] == ["script", "script"]
    assert json.loads(page.scripts[0])["entry"] == entry
    assert plain(entry).startswith("FloatLab: ")
    if len(page.rows) == 1:
        ((message,),) = page.rows
        assert message.endswith((".", ".'")) and len(message) < 300
        assert message in plain(entry)


# ScaleScope's table


@pytest.mark.parametrize("values", [LATE, WIDE, [0.0], [np.nan, 1, np.inf]])
def test_the_static_table_shows_what_survives(values):
    page = Reader(shown(ScaleScope(values))["text/html"])
    head, *rows = page.rows
    assert head == scalescope.HEADS
    histogram = gradients.OctaveHistogram.from_values(values)
    bad = histogram.nans + histogram.infinities
    told = f"of which {bad} NaN or infinite" if bad else "the nonzero"
    assert page.caption.endswith(told)
    for row, scale in zip(rows, (0, 3, 9, 15, 24, 32), strict=True):
        found = histogram.survival("float16", scale)
        counts = found.rounded_to_zero, found.subnormal, found.normal, found.overflow
        shares = [scalescope.percent(count / (sum(counts) or 1)) for count in counts]
        assert row[0] == f"2^{scale} = {2**scale}" and row[2:] == shares
        error = histogram.relative_error("float16", scale)
        assert row[1] == ("∞" if np.isinf(error) else f"{100 * error:.2g} %")


@given(st.floats(0, 1))
def test_little_is_never_nothing_and_much_never_all(share):
    text = scalescope.percent(share)
    assert (text == "0 %") == (share == 0) and (text == "100 %") == (share * 100 >= 100)
    assert (
        float(text.strip("<>% ")) == pytest.approx(100 * share, abs=0.0501)
        and len(text) <= 8
    )


# BitSplit's table


@pytest.mark.parametrize(
    "tensors", [{}, {"weights": [3.0, -0.1], "gradients, mine": LATE, "empty": []}]
)
def test_the_static_table_shows_every_split_and_scaled_gradients(tensors):
    head, *rows = Reader(shown(BitSplit(**tensors))["text/html"]).rows
    names = list(tensors) or list(BitSplit().tensors)
    scaled = [f"{name} × 2^10" for name in names if name.startswith("gradients")]
    assert head[1:] == names + scaled
    assert rows[3][0] == "5 + 10 float16" and rows[6][0] == "8 + 7 bfloat16"
    for at, (bits, row) in enumerate(zip(splits.EXPONENT_BITS, rows, strict=True)):
        assert row[0].startswith(f"{bits} ")
        for name, cell in zip(names + scaled, row[1:], strict=True) if tensors else ():
            scale = 10 if name in scaled else 0
            found = splits.survey(tensors[name.split(" ×")[0]], [scale])["kept"][0]
            error = found[at][0]
            assert cell == ("overflow" if error is None else scalescope.percent(error))


def test_only_gradients_are_scaled_and_own_tensors_stand_alone():
    found = data(
        BitSplit(weights=[1.0], **{"gradient of a": [1.0], "a gradient": [1.0]})
    )
    counts = {tensor["name"]: len(tensor["kept"]) for tensor in found["tensors"]}
    assert counts == {"weights": 1, "gradient of a": 25, "a gradient": 1}
    assert "Recorded" not in found["note"] and "Recorded" in data(BitSplit())["note"]


# BlockLab's table and blocks


def test_of_a_long_tensor_every_value_counts_and_some_blocks_are_in_the_page():
    values = np.float32(CHANCE.normal(size=(100, 999)) ** 5)
    values[3, 3] = 1e6
    rows = np.append(values, np.zeros(4, "float32")).reshape(-1, 32)
    explorer = BlockLab(values)
    assert len(shown(explorer)["text/html"].encode()) <= 80_000
    found = data(explorer)["tensors"][0]
    page = np.frombuffer(base64.b64decode(found["blocks"]), "<f4").reshape(64, 33)
    places = [int(name.split()[1].replace(",", "")) - 1 for name in found["names"]]
    assert found["names"][-1] == "block 3,122 of 3,122" and places == sorted(
        set(places)
    )
    assert np.array_equal(page[:, :32], rows[places])
    home = (3 * 999 + 3) // 32
    assert (page[:, 32] == 1e6).all() == (home not in places)
    texts = Reader(shown(explorer)["text/html"]).rows[1:]
    for name, (title, _, lost, wrong) in zip(blocklab.TITLES, texts, strict=True):
        kept = blocks.quantize(values, name).values
        assert title == blocklab.TITLES[name]
        assert lost == f"{100 * np.mean(kept[values != 0] == 0):.3g}"
        off = np.linalg.norm(kept - values) / np.linalg.norm(values.astype(float))
        assert wrong == f"{100 * off:.3g}"


def test_what_is_largest_elsewhere_is_told_with_each_block():
    found = data(BlockLab([[1.0] * 32, [-7.0] * 32, [np.nan] + [2.0] * 31]))["tensors"][
        0
    ]
    page = np.frombuffer(base64.b64decode(found["blocks"]), "<f4").reshape(3, 33)
    assert str(page[:, 32].tolist()) == "[nan, nan, 7.0]" and set(found["errors"]) == {
        None
    }


# InstrumentPanel's table


def test_the_static_table_says_what_tells_each_cause(record=RECORDS["recorded"]):
    page = Reader(shown(EXPLORERS["panel"])["text/html"])
    assert len(page.rows) == 1 + len(record["patients"])
    patients = sorted(record["patients"], key=lambda patient: patient["diagnosis"])
    for patient, row in zip(patients, page.rows[1:], strict=True):
        few = clinic.cheapest(record, patient["key"])
        assert row[0] == patient["diagnosis"]
        assert row[2] == f"{clinic.minutes(record, few)}"
        for tool in few:
            read = f"{record['instruments'][tool]['name']}: {patient['readings'][tool]['text']}"
            assert read in row[1]


# Arguments and data


@pytest.mark.parametrize(
    ("make", "options", "part"),
    [
        (FloatLab, {"formats": ["float12"]}, '"float12": choose one of float32, tf32,'),
        (ScaleScope, {"tab": "lens"}, '"lens": choose one of gradients, controller'),
        (ScaleScope, {"growth_steps": 0}, "from 1 to 100"),
        (ScaleScope, {"growth_steps": 2.5}, "whole number"),
        (ScaleScope, {"gradients": {}}, "no layer"),
        (BitSplit, {"weights": ["a"]}, "has no octaves"),
        (BlockLab, {"values": np.zeros((0, 32))}, "one at least"),
        (BlockLab, {"values": [[1.0], [1.0, 2.0]]}, "one at least"),
        (InstrumentPanel, {"record": invented(patients=0)}, "one patient at least"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(make, options, part):
    with pytest.raises((ValueError, TypeError)) as caught:
        make(**({"gradients": [1.0]} if make is ScaleScope else {}) | options)
    message = str(caught.value)
    assert part in message and message.endswith(".") and len(message) < 300
    assert ". " not in message and "\n" not in message


def test_numbers_mean_what_they_print_and_formats_count_once():
    given = data(FloatLab(0.1, ("bfloat16", "float16", "bfloat16")))
    assert (given["entry"], given["shown"]) == ("0.1", ["bfloat16", "float16"])


# The fragments


def test_texts_are_data_everywhere():
    layers = {name: [1.0] for name in [*ATTACKS, "\ud800", "", 7]}
    split = BitSplit(**{str(name): values for name, values in layers.items()})
    for explorer in [*map(FloatLab, ATTACKS), ScaleScope(layers), split]:
        text = shown(explorer)["text/html"]
        tags = [tag for tag, _ in Reader(text).tags if tag not in KEPT_TAGS]
        assert tags == ["script"] * 2 == ["script"] * text.count("</script>")
        text.encode("utf-8")
    names = list(map(str, layers))
    assert [layer["name"] for layer in data(ScaleScope(layers))["layers"][1:]] == names
    names = [name.replace("\ud800", "\\ud800") for name in names]
    assert [tensor["name"] for tensor in data(split)["tensors"]] == names
    assert escape(ATTACK)[:30] in html(ATTACK)


@each
def test_a_fragment_is_one_host_one_json_and_one_small_classic_script(name):
    text, plain = (shown(EXPLORERS[name])[f"text/{kind}"] for kind in ("html", "plain"))
    page = Reader(text)
    if name != "floatlab":  # which writes its values out in one of them
        lines = [line.split() for line in plain.splitlines()[1:]]
        assert lines == [" ".join(row).split() for row in page.rows]
    assert page.tags[0] == ("div", {f"data-{name}": None})
    assert [attributes for tag, attributes in page.tags if tag == "script"] == [
        {"type": "application/json"}, {}]  # fmt: skip
    assert not any("id" in attributes for _, attributes in page.tags)
    assert len(text.encode()) <= 80_000  # it is stored in the notebook


def test_the_recorded_gradients_fit_into_a_notebook_layer_by_layer():
    for layers in records.gradients().values():
        assert len(shown(ScaleScope(layers))["text/html"].encode()) <= 80_000


@each
def test_a_fragment_asks_nothing_of_the_network(name):
    code = shown(EXPLORERS[name])["text/html"].replace("http://www.w3.org/2000/svg", "")
    # Nor does it keep anything, speak to the console, or read text as markup or code.
    for word in (
        "https?:", r"\bsrc\b", r"\bhref\b", r"\burl\(", "@import", r"\bimport\b", r"\bfetch\b",
        "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "Worker", r"\bImage\(",
        "localStorage", "sessionStorage", "indexedDB", "cookie", r"\bconsole\b", r"\beval\b",
        "innerHTML", "outerHTML", "insertAdjacentHTML", r"document\.write", "new Function",
        "Math.random", r"\bDate\b", r"\bid:",
    ):  # fmt: skip
        assert not re.search(word, code.replace("!important", "")), word


@each
def test_the_static_part_survives_the_sanitizer(name):
    """JupyterLab keeps these tags, scope, colspan and literal styles of an untrusted
    output.
    """
    explorers = [EXPLORERS[name]]
    explorers += [FloatLab("nan"), FloatLab(ATTACK)] if name == "floatlab" else []
    for explorer in explorers:
        text = shown(explorer)["text/html"]
        tags = Reader(text[text.index("<table") : text.index("</table>") + 8]).tags
        for tag, attributes in tags:
            assert tag in KEPT_TAGS and attributes.keys() <= {
                "style",
                "scope",
                "colspan",
            }
            assert not re.search(
                r"var\(|position|url|display", attributes.get("style", "")
            )
        scopes = [attributes["scope"] for tag, attributes in tags if tag == "th"]
        assert scopes == sorted(scopes)  # columns before rows
