"""ScaleScope's Python side: the static table, the data, bad arguments, and the fragment."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_utils import formats, gradients
from course_utils.explorers import ScaleScope, floatlab, fragment, scalescope

ATTACK = "</script><img src=x onerror=alert(1)>"
KEPT_TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


class Reader(HTMLParser):
    """Tags with their attributes, the caption, the cells, and the scripts."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.rows, self.scripts, self.open = [], [], [], []
        self.caption = ""
        self.feed(html)
        self.close()

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
        elif "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def some(mean=-24, sd=5, count=4000, zeros=0.4, seed=0):
    """Gradients as they are late in training: log-normal, many of them zero."""
    generator = np.random.default_rng(seed)
    values = 2.0 ** generator.normal(mean, sd, count)
    values[generator.random(count) < zeros] = 0
    return (values * generator.choice([-1, 1], count)).astype(np.float32)


LATE = some()


def html(*args, **options):
    return ScaleScope(*args, **options)._repr_mimebundle_()["text/html"]


def plain(*args, **options):
    return ScaleScope(*args, **options)._repr_mimebundle_()["text/plain"]


def data(*args, **options):
    return json.loads(Reader(html(*args, **options)).scripts[0])


def unpacked(layer):
    """The histogram that a layer's texts in the data stand for."""

    def column(text):
        cells = [float(cell or 0) for cell in text.split(",")][:rows]
        return cells + [0] * (rows - len(cells))

    rows = len(layer["counts"].split(",")) if layer["counts"] else 0
    columns = {name: column(layer[name]) for name in ("counts", "squares", "powers")}
    above = np.array([column(text) for text in layer["above"]]).T
    given = {name: layer[name] for name in ("zeros", "nans", "infinities", "first")}
    return gradients.OctaveHistogram.from_data({**given, **columns, "above": above.tolist()})


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("values", [LATE, some(-3, 8, zeros=0), [0.0], [np.nan, 1, np.inf]])
def test_the_static_table_shows_what_survives(name, values):
    page = Reader(html(values, format=name, log2_scale=11))
    assert page.open == [] and name in page.caption
    head, *rows = page.rows
    assert head == scalescope.HEADS
    assert [row[0] for row in rows] == [f"2^{s} = {2**s}" for s in (0, 3, 7, 9, 10, 11, 15)]
    histogram = gradients.OctaveHistogram.from_values(values)
    lines = plain(values, format=name, log2_scale=11).splitlines()
    for row, line in zip(rows, lines[2:], strict=True):
        found = histogram.survival(name, int(row[0].split(" ")[0][2:]))
        counts = found.zero, found.rounded_to_zero, found.subnormal, found.normal, found.overflow
        for text, share in zip(
            row[1:], [*(count / found.total for count in counts), found.norm_lost], strict=True
        ):
            if text[0] in "<>":
                assert 0 < share < 0.0001 if text[0] == "<" else 0.9999 < share < 1
            else:
                assert float(text.split()[0]) == pytest.approx(100 * share, abs=0.0501)
        assert re.split(" {2,}", line) == row


def test_the_caption_counts_what_is_not_finite():
    assert Reader(html([np.nan, 1.0, np.inf])).caption == (
        "ScaleScope: 3 gradients in float16, of which 2 NaN or infinite"
    )
    assert plain(np.ones(1500)).splitlines()[0] == "ScaleScope: 1,500 gradients in float16"


@given(st.floats(0, 1))
def test_little_is_never_nothing_and_much_never_all(share):
    text = scalescope.percent(share)
    assert (text == "0 %") == (share == 0) and (text == "100 %") == (share * 100 >= 100)
    bare = float(text.strip("<>% "))
    assert bare == pytest.approx(100 * share, abs=0.0501) and len(text) <= 8


def test_the_data_hold_the_histograms():
    layers = {"a": LATE, "b": [np.float16([1, 2]), None, some(-60, 30)], "c": [], "d": [np.inf]}
    layers["e"] = gradients.OctaveHistogram.from_values([2.0**-1074, 1e308, 3.0])
    given = data(layers, format="bfloat16", log2_scale=np.int64(3), growth_steps=7)
    assert (given["format"], given["scale"], given["growth"]) == ("bfloat16", 3, 7)
    assert given["tab"] == "gradients"
    assert [layer["name"] for layer in given["layers"]] == list(layers)
    for packed, values in zip(given["layers"], layers.values(), strict=True):
        right = values
        if not isinstance(values, gradients.OctaveHistogram):
            right = gradients.OctaveHistogram.from_values(values)
        found = unpacked(packed)
        for name in ("zeros", "nans", "infinities", "total"):
            assert getattr(found, name) == getattr(right, name)
        if len(right.counts):
            assert found.first == right.first
        assert np.array_equal(found.counts, right.counts)
        assert np.array_equal(found.powers, right.powers)
        assert np.array_equal(found.above, right.above)
        assert np.allclose(found.squares, right.squares, rtol=1e-9)
    assert [row["name"] for row in given["formats"]] == list(formats.FORMATS)
    for row in given["formats"]:
        assert gradients.limits(row["name"]).items() <= row.items()
        assert row["precision"] == formats.facts(row["name"])["fraction_bits"] + 1
    ends = {row["name"]: row["overflow_is"] for row in given["formats"]}
    assert ends["float8_e4m3fn"] == "nan" and ends["float16"] == "infinity"
    assert ends["float4_e2m1fn"] == "normal"


def test_layers_add_up_to_the_static_table():
    parts = {"one": LATE[:1000], "two": [LATE[1000:1500], LATE[1500:]]}
    assert Reader(html(parts)).rows == Reader(html(LATE)).rows == Reader(html([LATE])).rows


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"format": "float12"}, '"float12": choose one of float32, tf32,'),
        ({"format": None}, "There is no format"),
        ({"tab": "lens"}, '"lens": choose one of gradients, controller'),
        ({"tab": 3}, "There is no tab"),
        ({"log2_scale": 25}, "from 0 to 24"),
        ({"log2_scale": -1}, "log2_scale"),
        ({"log2_scale": 3.0}, "3.0"),
        ({"log2_scale": True}, "True"),
        ({"log2_scale": "1024"}, '"1024"'),
        ({"growth_steps": 0}, "from 1 to 100"),
        ({"growth_steps": 2000}, "2000"),
        ({"gradients": {}}, "no layer"),
        ({"gradients": "abc"}, ""),
        ({"gradients": {"a": [1j]}}, "complex"),
        ({"gradients": [True]}, "bool"),
        ({"gradients": None}, ""),
        ({"gradients": {"a": {"b": [1.0]}}}, ""),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(options, part):
    with pytest.raises(ValueError) as caught:
        ScaleScope(**{"gradients": [1.0], **options})
    message = str(caught.value)
    assert part in message and message.endswith(".") and len(message) < 300
    assert ". " not in message and "\n" not in message


def test_names_are_data():
    names = [ATTACK, "<!--<script>", "\u2028", "\ud800", "{}<svg/onload=alert(1)>", 7, ""]
    text = html({name: [1.0] for name in names})
    page = Reader(text)
    assert [tag for tag, _ in page.tags if tag not in (*KEPT_TAGS, "div")] == ["script"] * 2
    assert "<img" not in text and text.count("</script>") == 2
    found = [layer["name"] for layer in json.loads(page.scripts[0])["layers"]]
    assert found == [str(name) for name in names]
    text.encode("utf-8")


def test_the_static_part_survives_the_sanitizer():
    text = html({ATTACK: LATE})
    part = text[text.index("<table") : text.index("</table>") + len("</table>")]
    tags = Reader(part).tags
    for tag, attributes in tags:
        assert tag in KEPT_TAGS and attributes.keys() <= {"style", "scope"}
        assert not re.search(r"var\(|position|url|display", attributes.get("style", ""))
    scopes = [attributes["scope"] for tag, attributes in tags if tag == "th"]
    assert scopes == ["col"] * len(scalescope.HEADS) + ["row"] * len(scalescope.TABLE_SCALES)


def test_the_fragment_asks_nothing_of_the_network():
    code = html(LATE).replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    for word in (
        "https?:", r"\bsrc\b", r"\bhref\b", r"\burl\(", "@import", r"\bimport\b", r"\bfetch\b",
        "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "Worker", r"\bImage\(",
        "localStorage", "sessionStorage", "indexedDB", "cookie", r"\bconsole\b", r"\beval\b",
        "innerHTML", "outerHTML", "insertAdjacentHTML", r"document\.write", "new Function",
        "Math.random", r"\bDate\b", r"\bid:",
    ):  # fmt: skip
        assert not re.search(word, code.replace("!important", "")), word


def test_the_fragment_is_one_host_one_json_and_one_classic_script():
    page = Reader(html(LATE))
    assert page.tags[0] == ("div", {"data-scalescope": None})
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert scripts == [{"type": "application/json"}, {}]
    code = page.scripts[1].strip()
    assert code.startswith("(() => {") and code.endswith("})();")
    assert not any("id" in attributes for _, attributes in page.tags)


def test_the_fragment_stays_small():
    layers = {f"block_{k}/dense/kernel": some(-20 + k, 4, 20_000, seed=k) for k in range(10)}
    assert len(html(layers).encode()) < 80_000
    assert len(html(layers).encode()) - len(html(LATE).encode()) < 12_000


def test_the_same_arguments_give_the_same_bytes():
    code = "from course_utils.explorers import ScaleScope as S; print(S({'a': [1, 2**-26]})"
    command = [sys.executable, "-c", f"{code}._repr_mimebundle_())"]
    texts = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        root = fragment.FOLDER.parents[1]
        texts.add(subprocess.check_output(command, cwd=root, env=environment, encoding="utf-8"))
    assert len(texts) == 1 and " at 0x" not in texts.pop()


def test_every_file_of_the_explorers_is_in_one_and_can_stand_in_a_script():
    files = {path.name for path in fragment.FOLDER.iterdir() if path.suffix in (".js", ".css")}
    mine = {*scalescope.SCRIPTS, *scalescope.STYLES}
    assert files == mine | {*floatlab.SCRIPTS, *floatlab.STYLES}
    assert scalescope.SCRIPTS[-1] == "scalescope.js"
    for name in mine:
        source = (fragment.FOLDER / name).read_text(encoding="utf-8")
        assert "</script" not in source.lower() and "<!--" not in source
        assert source.endswith("\n") and max(map(len, source.splitlines())) <= 100
        assert source.count("\n") < 250, name


def test_scripts_lose_only_indentation_and_lines_of_comment():
    kept = Reader(html(LATE)).scripts[1]
    inserted = r"\$\{(?:[^{}`]|\{[^{}`]*\})*\}"
    innermost = re.compile(rf"`(?:[^`$\\]|\\.|\$(?!\{{)|{inserted})*`")  # of template literals
    for name in scalescope.SCRIPTS:
        source = (fragment.FOLDER / name).read_text(encoding="utf-8")
        lines = [line.strip() for line in source.splitlines()]
        comments = [line for line in lines if line.startswith("//")]
        assert "\n".join(line for line in lines if line not in comments) in kept
        for line in lines:  # so no text may go on in a next line
            rest, count = line, 1
            while count:
                rest, count = innermost.subn("0", rest)
            assert "`" not in rest and not line.endswith("\\"), (name, line)


def test_examples_in_the_docstrings_hold():
    assert scalescope.percent(0.5) == "50 %" and scalescope.percent(1e-9) == "<0.01 %"
    assert scalescope.percent(0.9999999) == ">99.99 %"
    assert scalescope.percent(0.123456) == "12.3 %"
