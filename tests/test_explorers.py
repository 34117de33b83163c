"""FloatLab's Python side: the static table, the data, what an entry may do, and the fragment."""

import doctest
import json
import math
import os
import random
import re
import subprocess
import sys
from fractions import Fraction
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils import formats
from course_utils.explorers import FloatLab, decimals, floatlab, fragment, scalescope, static

ATTACK = "</script><img src=x onerror=alert(1)>"
KEPT_TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "code", "div"}
KEPT_TAGS |= {"details", "summary"}


class Reader(HTMLParser):
    """Tags with their attributes, the text of the cells, rows, and the scripts."""

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
        elif "summary" in self.open:
            pass  # the short form; the whole value follows
        elif "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def html(*args, **options):
    return FloatLab(*args, **options)._repr_mimebundle_()["text/html"]


def plain(*args, **options):
    return FloatLab(*args, **options)._repr_mimebundle_()["text/plain"]


def data(*args, **options):
    return json.loads(Reader(html(*args, **options)).scripts[0])


def static_part(text):
    return text[text.index("<table") : text.index("</table>") + len("</table>")]


@pytest.mark.parametrize("entry", ["0.1", "-4200000000", "65520", "2^-149", "-0", "inf", "1e-400"])
@pytest.mark.parametrize("options", [{}, {"rounding": "up", "saturate": True}])
def test_the_static_table_shows_what_encode_gives(entry, options):
    table = Reader(html(entry, **options))
    assert table.open == [] and entry in table.caption
    assert table.rows[0] == static.HEADS
    assert [row[0] for row in table.rows[1:]] == list(formats.FORMATS)
    for name, *fields, code, value, kind, _ in table.rows[1:]:
        right = formats.encode(entry, name, **options)
        assert (" ".join(fields), code, kind) == (right.bits, right.hex, right.kind)
        if right.exact is None:
            names = {"nan": "NaN", "infinity": "infinity"}
            assert value.lstrip("−") == names[kind]
        else:
            assert Fraction(value.replace("−", "-")) == right.exact
        assert value.startswith("−") == (right.sign == "1" and kind != "nan")


def test_errors_are_told_in_words():
    rows = {row[0]: row[-1] for row in Reader(html("65520")).rows}
    assert rows["float32"] == "no error"
    assert rows["tf32"] == "16 too high, 0.25 ULP"
    assert rows["float16"] == "too large for float16"
    assert rows["float4_e2m1fn"] == "65514 too low, 6 is the last value"
    rows = {row[0]: row[-1] for row in Reader(html("-1e5", saturate=True)).rows}
    assert rows["float16"] == "34496 too high, −65504 is the last value"
    assert rows["float32"] == "no error"
    rows = {row[0]: row[-1] for row in Reader(html("inf")).rows}
    assert rows["float16"] == ""
    assert rows["float8_e4m3fn"] == "no infinity in this format"
    assert rows["float4_e2m1fn"] == "largest number instead of infinity"
    assert Reader(html("nan")).rows[-1] == ["float4_e2m1fn", "no NaN here"]


def test_text_is_a_small_aligned_table():
    lines = plain("0.1", formats=["float16", "float4_e2m1fn"]).splitlines()
    assert lines == [
        'FloatLab: "0.1", rounding nearest_even',
        "format         bits                code    value            class   error",
        "float16        0 01011 1001100110  0x2E66  0.0999755859375  normal  "
        "2.44e-5 too low, 0.4 ULP",
        "float4_e2m1fn  0 00 0              0x0     0                zero    0.1 too low, 0.2 ULP",
    ]
    assert "no NaN here" in plain("nan")


def test_a_code_is_one_of_the_first_format_and_keeps_its_bits():
    rows = Reader(html("0x7C01", formats=["float16", "bfloat16"])).rows
    assert rows[1][1:5] == ["0", "11111", "0000000001", "0x7C01"]
    assert rows[2][4] == formats.encode("nan", "bfloat16").hex
    rows = Reader(html(" 0b0011110000000000", formats=["float16"])).rows
    assert rows[1][5] == "1" and rows[1][-1] == "no error"
    assert "float16 has 16 bits" in plain("0x3C000", formats=["float16"])


def test_the_title_keeps_the_end_of_a_long_number():
    title = 'FloatLab: "1.4012984643248170709237295...203125E-45", rounding nearest_even'
    assert Reader(html(2.0**-149)).caption == plain(2.0**-149).splitlines()[0] == title


@pytest.mark.parametrize("entry", ["", "1,000", "twelve", ATTACK, "1" * 10_000, "-0x3C", "\ud800"])
def test_a_bad_entry_gives_a_table_with_the_message(entry):
    page = Reader(html(entry))
    (message,) = page.rows[0]
    assert len(page.rows) == 1 and message.endswith((".", ".'")) and len(message) < 300
    assert message in plain(entry)
    html(entry).encode("utf-8")


def test_an_entry_is_text_everywhere():
    text = html(ATTACK)
    page = Reader(text)
    assert [tag for tag, _ in page.tags if tag in ("script", "img")] == ["script"] * 2
    assert "<img" not in text and escape(ATTACK)[:30] in text
    assert json.loads(page.scripts[0])["entry"] == ATTACK
    assert text.count("</script>") == 2
    for attack in ("<!--<script>", "&lt;b&gt;", "\u2028", "'\"", "{}<svg/onload=alert(1)>"):
        assert data(attack)["entry"] == attack
        assert [tag for tag, _ in Reader(html(attack)).tags if tag == "script"] == ["script"] * 2


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(), st.text("0123456789.eE+-−^*xXbB, ", max_size=12)))
def test_no_entry_text_raises(entry):
    page = Reader(html(entry))
    assert page.open == []
    assert [tag for tag, _ in page.tags if tag not in KEPT_TAGS] == ["script", "script"]
    assert json.loads(page.scripts[0])["entry"] == entry
    assert plain(entry).startswith("FloatLab: ")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (3, "3"), (0.1, "0.1"), (-0.0, "-0.0"), (float("nan"), "nan"), (1e-300, "1e-300"),
        (Fraction(-1, 8), "-0.125"), (np.float64(0.1), "0.1"), (np.int64(7), "7"),
        (np.float32(0.1), "0.100000001490116119384765625"), (np.float16("inf"), "inf"),
        (1 + 2**-24, "1.000000059604644775390625"), (-(2.0**-24), "-5.9604644775390625E-8"),
        (65504.0, "65504"), (2.0**-1074, "5e-324"), (2.0**1000, "1.0715086071862673e+301"),
    ],
)  # fmt: skip
def test_numbers_become_entries_that_mean_them_exactly(number, text):
    lab = FloatLab(number)
    assert lab.entry == text
    rows = Reader(html(number)).rows
    if number == number:
        assert rows[1][4] == formats.encode(number, "float32").hex


def test_floats_round_like_themselves_next_to_every_threshold():
    """Values of the formats, the ties between them, and the floats next to these."""
    random.seed(0)
    found = [1 + 2**-24, -(2.0**-150), 2.0**-149, 5e-324, 1.7976931348623157e308, 0.1]
    for name in formats.FORMATS:
        largest = formats.encode(formats.facts(name)["largest"], name)
        places = [0, 1, largest.code - 1, largest.code]
        for code in places + random.choices(range(largest.code), k=6):
            bits = formats.decode(code, name)
            for edge in (bits.value, float(bits.exact + bits.ulp / 2)):
                sign = random.choice([-1, 1])
                found += [sign * math.nextafter(edge, to) for to in (0, edge, math.inf)]
    assert len({FloatLab(number).entry for number in found}) > 250
    for number in found:
        for rounding in formats.ROUNDINGS:
            _, rows, _ = FloatLab(number, rounding=rounding)._rows()
            for name, bits in rows.items():
                assert bits == formats.encode(number, name, rounding), (number, rounding)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"formats": ["float12"]}, '"float12": choose one of float32, tf32,'),
        ({"formats": ["float16", 3]}, "There is no format"),
        ({"formats": []}, "No format is given"),
        ({"rounding": "nearest"}, '"nearest": choose one of nearest_even,'),
        ({"rounding": "stochastic"}, "There is no rounding"),
        ({"rounding": None}, "There is no rounding"),
        ({"tab": "bins"}, '"bins": choose one of lens, arithmetic'),
        ({"entry": None}, "is not a number"),
        ({"entry": True}, "is not a number"),
        ({"entry": Fraction(1, 3)}, "never ends"),
        ({"entry": 10**9_000}, "too many digits"),
        ({"entry": Fraction(1, 2**9_000)}, "too many digits"),
    ],
)
def test_other_arguments_are_refused_in_one_sentence(options, part):
    with pytest.raises(ValueError) as caught:
        FloatLab(**options)
    message = str(caught.value)
    assert part in message and message.endswith(".") and len(message) < 300
    assert ". " not in message and "\n" not in message


def test_the_data_are_the_arguments_and_the_formats():
    given = data("65520", formats=("bfloat16", "float16", "bfloat16"), tab="arithmetic")
    assert given["shown"] == ["bfloat16", "float16"]
    assert given["entry"] == "65520"
    assert (given["tab"], given["rounding"]) == ("arithmetic", "nearest_even")
    assert given["saturate"] is False and data(saturate=1)["saturate"] is True
    assert data(formats="float16")["shown"] == ["float16"]
    assert [row["name"] for row in given["formats"]] == list(formats.FORMATS)
    by_name = {row["name"]: row for row in given["formats"]}
    assert (by_name["float8_e4m3fn"]["largest_code"], by_name["float8_e4m3fn"]["nan_code"]) == (
        "0x7E", "0x7F"
    )  # fmt: skip
    assert by_name["float4_e2m1fn"]["nan_code"] is None
    for name, row in by_name.items():
        facts = formats.facts(name)
        assert facts.items() <= row.items()
        assert formats.decode(row["largest_code"], name).value == facts["largest"]


def test_the_same_arguments_give_the_same_bytes():
    code = "from course_utils.explorers import FloatLab as F; print(F('pi')._repr_mimebundle_())"
    command = [sys.executable, "-c", code]
    root = fragment.FOLDER.parents[1]
    texts = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        texts.add(subprocess.check_output(command, cwd=root, env=environment, encoding="utf-8"))
    assert len(texts) == 1 and " at 0x" not in texts.pop()
    lab = FloatLab("pi")
    assert lab._repr_mimebundle_() == lab._repr_mimebundle_()


def test_the_static_part_survives_the_sanitizer():
    """JupyterLab keeps these tags, scope, colspan and literal styles of an untrusted output."""
    for entry in ("0.1", "nan", ATTACK):
        for tag, attributes in Reader(static_part(html(entry))).tags:
            assert tag in KEPT_TAGS
            assert attributes.keys() <= {"style", "scope", "colspan"}
            assert not re.search(r"var\(|position|url|display", attributes.get("style", ""))
    tags = [tag for tag, _ in Reader(static_part(html())).tags]
    assert tags.count("caption") == 1 and tags.count("th") == len(static.HEADS) + 7
    scopes = [a["scope"] for tag, a in Reader(static_part(html())).tags if tag == "th"]
    assert scopes == ["col"] * len(static.HEADS) + ["row"] * 7


def test_the_fragment_asks_nothing_of_the_network():
    text = html()
    code = text.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    for word in (
        "https?:", r"\bsrc\b", r"\bhref\b", r"\burl\(", "@import", r"\bimport\b", r"\bfetch\b",
        "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "Worker", r"\bImage\(",
    ):  # fmt: skip
        assert not re.search(word, code.replace("!important", "")), word
    # Nor does it keep anything, speak to the console, or read text as markup or code.
    for word in (
        "localStorage", "sessionStorage", "indexedDB", "cookie", r"\bconsole\b", r"\beval\b",
        "innerHTML", "outerHTML", "insertAdjacentHTML", r"document\.write", "new Function",
    ):  # fmt: skip
        assert not re.search(word, code), word


def test_the_fragment_is_one_host_one_json_and_one_classic_script():
    text = html()
    page = Reader(text)
    assert page.tags[0] == ("div", {"data-floatlab": None})
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert scripts == [{"type": "application/json"}, {}]
    code = page.scripts[1].strip()
    assert code.startswith("(() => {") and code.endswith("})();")
    assert not any("id" in attributes for _, attributes in page.tags)
    assert len(text.encode()) < 110_000  # it is stored in the notebook: some 100 kB


def test_scripts_lose_only_indentation_and_lines_of_comment():
    inserted = r"\$\{(?:[^{}`]|\{[^{}`]*\})*\}"
    innermost = re.compile(rf"`(?:[^`$\\]|\\.|\$(?!\{{)|{inserted})*`")  # of template literals
    kept = Reader(html()).scripts[1]
    for name in floatlab.SCRIPTS:
        source = (fragment.FOLDER / name).read_text(encoding="utf-8")
        lines = [line.strip() for line in source.splitlines()]
        comments = [line for line in lines if line.startswith("//")]
        assert "\n".join(line for line in lines if line not in comments) in kept
        # So no text may go on in a next line, and no such comment may end a longer one.
        assert not any("*/" in line for line in comments)
        for line in lines:
            rest, count = line, 1
            while count:
                rest, count = innermost.subn("0", rest)
            assert "`" not in rest and not line.endswith("\\"), (name, line)


def test_styles_lose_only_blanks_and_comments():
    kept = json.loads(re.search("const CSS = (.*);\n", html())[1])
    assert "/*" not in kept and "  " not in kept and "\n" not in kept
    sources = [(fragment.FOLDER / name).read_text(encoding="utf-8") for name in floatlab.STYLES]
    bare = re.sub(r"/\*.*?\*/", "", "".join(sources), flags=re.DOTALL)
    assert "".join(bare.split()) == "".join(kept.split())
    assert re.findall('".*?"', bare) == re.findall('".*?"', kept)
    loose = """a  /* it's { */ b ,\n c:hover { content: " ;  /* { } */" ; d: calc(1px +  2px) }\n
        e::after{content:'";  ,'; /*/ one */ f : g /**/ , h }/***/"""
    tight = """a b,c:hover{content: " ;  /* { } */";d: calc(1px + 2px)}""" + (
        """e::after{content:'";  ,';f : g,h}"""
    )
    assert fragment.LOOSE.sub(fragment._tight, loose) == tight


def test_every_file_is_in_an_explorer_and_can_stand_in_a_script():
    files = {path.name for path in fragment.FOLDER.iterdir() if path.suffix in (".js", ".css")}
    scripts = {*floatlab.SCRIPTS, *scalescope.SCRIPTS}
    assert files == scripts | {*floatlab.STYLES, *scalescope.STYLES}
    assert floatlab.SCRIPTS[-1] == "floatlab.js" and scalescope.SCRIPTS[-1] == "scalescope.js"
    for name in scripts:
        source = (fragment.FOLDER / name).read_text(encoding="utf-8")
        assert "</script" not in source.lower() and "<!--" not in source
        assert source.endswith("\n")


@pytest.mark.parametrize("module", [decimals, fragment, static], ids=lambda m: m.__name__)
def test_examples_in_the_docstrings_hold(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


@given(st.fractions(), st.integers(1, 20))
def test_short_decimals_are_near_and_full_ones_exact(value, digits):
    text = decimals.short(value, digits).replace("−", "-")
    assert abs(Fraction(text) - value) <= abs(value) * Fraction(10) ** (1 - digits) / 2
    full = decimals.full(value)
    assert full is None or Fraction(full.replace("−", "-")) == value
