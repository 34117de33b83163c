"""FloatLab's codec in Chromium, against gfloat, ml_dtypes, NumPy and the course's own Python.

Values travel as [negative, numerator, denominator] in hexadecimal, codes as text.
"""

import math
import random
from fractions import Fraction

import gfloat
import ml_dtypes
import numpy as np
import pytest
from chromium import FLAGS
from gfloat import RoundMode
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils import entry, formats
from course_utils.explorers import decimals, floatlab
from course_utils.explorers.fragment import FOLDER

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("codec")]

NAMES = list(formats.FORMATS)
MODES = {
    "nearest_even": RoundMode.TiesToEven,
    "nearest_away": RoundMode.TiesToAway,
    "toward_zero": RoundMode.TowardZero,
    "up": RoundMode.TowardPositive,
    "down": RoundMode.TowardNegative,
}
ARRAYS = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
}
TINY = Fraction(1, 2**200)
HELPERS = """
const codec = makeCodec(ROWS);
const read = ([negative, num, den]) =>
  ({ kind: "finite", negative, num: BigInt(num), den: BigInt(den) });
const write = (v) => v.kind === "finite"
  ? [v.negative, "0x" + v.num.toString(16), "0x" + v.den.toString(16)] : [v.negative, v.kind];
const asNumber = (v) =>  // exact: the values of these formats are dyadic and fit a float64
  v.kind === "finite" ? Number(v.num) / Number(v.den) : v.kind === "nan" ? NaN : Infinity;
const asText = (v) => (v.negative ? "-" : "") + String(asNumber(v)).toLowerCase();
const attempt = (work) => {
  try { return work(); }
  catch (error) { return { entryError: error instanceof EntryError, message: error.message }; }
};
"""


@pytest.fixture(scope="module")
def page(chromium):
    """A blank page that has the codec, and a log of what went wrong."""
    playwright_api = pytest.importorskip("playwright.sync_api")
    rows = floatlab.FloatLab()._data()["formats"]
    scripts = floatlab.SCRIPTS[: floatlab.SCRIPTS.index("codec.js") + 1]
    code = "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in scripts)
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page()
        page.evaluate("rows => { globalThis.ROWS = rows; }", rows)
        page.add_script_tag(content=f'"use strict";\n{code}\n{HELPERS}')
        yield page
        browser.close()


def sent(value, negative=None):
    """A Fraction as it travels; zero takes its sign from `negative`."""
    negative = value < 0 if negative is None else negative
    return [negative, hex(abs(value.numerator)), hex(value.denominator)]


def received(value):
    negative, *rest = value
    if rest[0] in ("nan", "infinity"):
        return math.nan if rest[0] == "nan" else -math.inf if negative else math.inf
    size = Fraction(*(int(number, 16) for number in rest))
    return -0.0 if negative and size == 0 else -size if negative else size


def to_odd(value):
    """The float64 below a positive value, or above if only that is odd: rounds like the value."""
    if value == 0:
        return 0.0
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - 54
    scaled = value / Fraction(2) ** exponent
    whole = math.floor(scaled)
    while whole >= 2**53:
        scaled, exponent = scaled / 2, exponent + 1
        whole = math.floor(scaled)
    return math.ldexp(whole | (whole != scaled), exponent)


def random_values(count, seed=0):
    """Exact values, of both signs: representable, ties, next to ties, thresholds, arbitrary."""
    random.seed(seed)
    values = [Fraction(2) ** e for e in range(-160, 140)]
    for name in NAMES:
        facts = formats.facts(name)
        largest = formats.encode(facts["largest"], name)
        normal = Fraction(facts["smallest_normal"])
        smallest = Fraction(facts["smallest_subnormal"])
        edges = [largest.exact + largest.ulp * Fraction(k, 4) for k in range(-4, 9)]
        edges += [normal + smallest * Fraction(k, 4) for k in range(-8, 9)]
        edges += [smallest * Fraction(k, 4) for k in range(13)]
        values += [edge + near for edge in edges for near in (-TINY * edge, 0, TINY * edge)]
        for code in random.sample(range(largest.code), min(500, largest.code)):
            low = formats.decode(code, name)
            tie = low.exact + low.ulp / 2
            values += [low.exact, tie, tie * (1 - TINY), tie * (1 + TINY)]
    while len(values) < count:
        bits = random.choice([3, 12, 26, 60, 300])
        top = Fraction(random.getrandbits(bits) + 1, 1 if len(values) % 2 else 1 + 2 * bits)
        values.append(top / 2**bits * Fraction(2) ** random.randint(-165, 140))
    random.shuffle(values)
    return [value * random.choice([-1, 1]) for value in values[:count]]


def numbers(text):
    return np.array(text.split(","), np.uint64)


def test_20_000_values_encode_like_gfloat_in_every_mode(page):
    values = random_values(20_000)
    assert len(values) == 20_000
    odd = np.array([math.copysign(to_odd(abs(value)), value) for value in values])
    codes = page.evaluate(
        """values => {
          const read_values = values.map(read), all = {};
          for (const name of codec.formats.keys()) for (const mode of codec.ROUNDINGS)
            for (const saturate of [false, true])
              all[`${name} ${mode} ${saturate}`] =
                read_values.map((v) => codec.encode(v, name, mode, saturate)).join(",");
          return all;
        }""",
        [sent(value) for value in values],
    )
    assert len(codes) == len(NAMES) * len(MODES) * 2
    for name, info in formats.FORMATS.items():
        for mode, known in MODES.items():
            for saturate in (False, True):
                # float4_e2m1fn has nothing beyond its largest number; gfloat raises there.
                bounded = saturate or info.num_nans == 0
                right = gfloat.round_ndarray(info, odd, known, bounded)
                ours = numbers(codes[f"{name} {mode} {str(saturate).lower()}"])
                wrong = ours != gfloat.encode_ndarray(info, right).astype(np.uint64)
                nan = np.isnan(right)
                if nan.any():  # gfloat has one NaN for both signs
                    codes_of_nan = [formats.encode(text, name).code for text in ("nan", "-nan")]
                    wrong[nan] = ours[nan] != np.take(codes_of_nan, np.signbit(odd[nan]))
                case = [(str(values[i]), hex(ours[i]), right[i]) for i in np.flatnonzero(wrong)[:3]]
                assert not wrong.any(), (name, mode, saturate, wrong.sum(), case)


def test_texts_encode_like_the_python_of_the_course(page):
    special = ["0", "inf", "nan", "1e999999999", "1e-999999999", "2^99999", "2^-99999", "pi"]
    special += ["464", "464.001", "65520", "65519.9"]
    special += ["-" + text for text in special]
    codes = page.evaluate(
        """texts => texts.map((text) => [...codec.formats.keys()].map((name) =>
          codec.ROUNDINGS.map((mode) => [false, true].map((saturate) => attempt(() =>
            "0x" + codec.encode(codec.parse(text), name, mode, saturate).toString(16))))))""",
        special,
    )
    for text, by_format in zip(special, codes, strict=True):
        for name, by_mode in zip(NAMES, by_format, strict=True):
            for mode, pair in zip(MODES, by_mode, strict=True):
                for saturate, code in enumerate(pair):
                    try:
                        right = hex(formats.encode(text, name, mode, bool(saturate)).code)
                    except ValueError:
                        assert code["entryError"] and name in code["message"]
                    else:
                        assert code == right, (text, name, mode, saturate)


def some_codes(name):
    """All codes up to 16 bits; of the longer formats random ones and those around every edge."""
    bits = formats.FORMATS[name].bits
    if bits <= 16:
        return list(range(2**bits))
    random.seed(1)
    largest = formats.encode(formats.facts(name)["largest"], name).code
    edges = [edge for at in (0, largest, 2 ** (bits - 1)) for edge in range(at - 4, at + 5)]
    top = 2 ** (bits - 1)
    edges += [(edge + top) % 2**bits for edge in edges]
    return [edge % 2**bits for edge in edges] + random.sample(range(2**bits), 20_000)


@pytest.mark.parametrize("name", NAMES)
def test_every_code_decodes_like_gfloat_and_ml_dtypes(page, name):
    codes = some_codes(name)
    texts = page.evaluate(
        "([name, codes]) => codes.map((code) => asText(codec.decode(BigInt(code), name).value))",
        [name, codes],
    )
    ours = np.array([float(text) for text in texts])
    rights = [gfloat.decode_ndarray(formats.FORMATS[name], np.array(codes))]
    if name in ARRAYS:
        unsigned = {32: np.uint32, 16: np.uint16, 8: np.uint8, 4: np.uint8}
        raw = np.array(codes, unsigned[formats.FORMATS[name].bits])
        with np.errstate(invalid="ignore"):  # signaling NaN
            rights.append(raw.view(ARRAYS[name]).astype(np.float64))
    for right in rights:
        finite = ~np.isnan(right)
        assert np.array_equal(ours, right, equal_nan=True)
        assert np.array_equal(np.signbit(ours[finite]), np.signbit(right[finite]))


@pytest.mark.parametrize("name", NAMES)
def test_fields_kinds_ulps_and_neighbors_are_those_of_the_python(page, name):
    codes = some_codes(name)
    edges = codes[:60]
    codes = edges + random.Random(2).sample(codes, min(len(codes), 1500))
    rows = page.evaluate(
        """([name, codes]) => codes.map((given) => {
          const code = BigInt(given), d = codec.decode(code, name);
          const hex = (other) => other === null ? null : codec.decode(other, name).hex;
          const round = codec.decode(codec.encode(d.value, name), name).hex;
          return [d.format, d.hex, `${d.sign} ${d.exponent} ${d.fraction}`, d.kind,
            d.ulp && write(d.ulp), hex(codec.next(code, name)), hex(codec.previous(code, name)),
            d.kind === "nan" ? d.hex : round, String(d.code)];
        })""",
        [name, codes],
    )
    for code, row in zip(codes, rows, strict=True):
        right = formats.decode(code, name)
        around = [other and other.hex for other in (right.next, right.previous)]
        ulp = row[4] and received(row[4])
        assert [*row[:4], ulp, *row[5:]] == [
            name, right.hex, right.bits, right.kind, right.ulp, *around, right.hex, str(code)
        ]  # fmt: skip


PIECES = ["+", "-", "−", "0", "1", "9", "25", ".", "e", "E", "e5", "inf", "Infinity", "∞", "nan"]
PIECES += ["NaN", "pi", "Pi", "π", "Π", "2^", "2**", "^", "0x", "0B", "F", " ", "\t", "\u00a0", ","]
PIECES += ["_", "１", "٣", "\n", "\u2028", "\x1c", "𝟏", "ı", "İ", "ſ", "1" * 1998, "9" * 30]
ENTRIES = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)
NUMBERS = st.from_regex(
    r"\A ?[+−-]?(\d{1,9}\.?\d{0,9}|\.\d{1,9}|2(\^|\*\*)[+−-]?\d{1,6})(e[+−-]?\d{1,5})?\Z",
    alphabet=st.sampled_from("0123456789+-−.e^* "),
)


def outcome(read):
    """What reading gives, so that equal outcomes compare as equal."""
    try:
        value = read()
    except ValueError as error:
        return "error", str(error)
    return ("value", repr(value)) if isinstance(value, float) else ("value", value)


def parsed(page, texts):
    found = page.evaluate("texts => texts.map((t) => attempt(() => write(codec.parse(t))))", texts)
    for text, value in zip(texts, found, strict=True):
        if isinstance(value, dict):
            assert value["entryError"] and 0 < len(value["message"]) < 300, (text, value)
            yield "error", value["message"]
        else:
            yield outcome(lambda value=value: received(value))


def test_every_pair_of_pieces_means_the_same_as_in_python(page):
    texts = [first + second for first in ["", *PIECES] for second in PIECES]
    for text, ours in zip(texts, parsed(page, texts), strict=True):
        assert ours == outcome(lambda text=text: entry.parse(text)), repr(text)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.one_of(ENTRIES, NUMBERS), min_size=20, max_size=60))
def test_texts_mean_the_same_as_in_python(page, texts):
    for text, ours in zip(texts, parsed(page, texts), strict=True):
        assert ours == outcome(lambda text=text: entry.parse(text)), repr(text)


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.one_of(st.text(), ENTRIES, ENTRIES.map("0x{}".format)), min_size=20))
def test_no_text_raises_anything_but_the_documented_error(page, texts):
    for text, (kind, _) in zip(texts, parsed(page, texts), strict=True):
        assert kind == outcome(lambda text=text: entry.parse(text))[0], repr(text)
    codes = page.evaluate(
        """texts => texts.map((text) => [...codec.formats.keys()].map((name) => attempt(() =>
          "0x" + codec.parseCode(text, name).toString(16))))""",
        texts,
    )
    for text, by_format in zip(texts, codes, strict=True):
        for name, code in zip(NAMES, by_format, strict=True):
            right = outcome(lambda text=text, name=name: formats.decode(text, name).code)
            if isinstance(code, dict):
                assert right[0] == "error" and code["entryError"], (text, code)
                assert 0 < len(code["message"]) < 300
            else:
                assert right == ("value", int(code, 16)), (text, name)


def test_codes_that_do_not_fit_name_the_width(page):
    for name, info in formats.FORMATS.items():
        most = f"codec.parseCode('{2**info.bits - 1:#x}', '{name}').toString(16)"
        assert int(page.evaluate(most), 16) == 2**info.bits - 1
        more = f"attempt(() => codec.parseCode('{2**info.bits:#b}', '{name}')).message"
        assert f"{name} has {info.bits} bits" in page.evaluate(more)
    code = page.evaluate("String(codec.parseCode(' 0b0011110000000000 ', 'float16'))")
    assert int(code) == 0x3C00
    assert page.evaluate("['0x1', ' -0B1'].every(codec.isCode)")
    assert not page.evaluate("['1', 'x', ''].some(codec.isCode)")


@pytest.mark.parametrize(
    "text",
    ["1" * 10_000, "1" * 2_000, "1e999999999", "1e-999999999", "2^-999999999", "1e" + "9" * 1_900]
    + ["9" * 1_990 + "e-9999", " " * 100_000 + "1", "1" + " " * 100_000 + "1", "−" * 100_000],
    ids=lambda text: f"{text[:12]}-{len(text)}",
)
def test_long_and_huge_entries_answer_within_50_ms(page, text):
    """Reading, encoding and writing; the fastest of five, as other processes may be running."""
    times = page.evaluate(
        """text => [1, 2, 3, 4, 5].map(() => {
          const start = performance.now();
          attempt(() => {
            const value = codec.parse(text);
            for (const name of codec.formats.keys()) codec.encode(value, name);
            return codec.short(value) + codec.exact(value);
          });
          return performance.now() - start;
        })""",
        text,
    )
    assert min(times) < 50


def test_digits_are_those_of_the_python(page):
    values = random_values(1_500, seed=3)
    values += [Fraction(n, d) for n in range(1, 50) for d in range(1, 50)]
    values += [Fraction(n, 10) for n in (-9_999_999_999_999_996, 9_999_999_999_999_995)]
    values += [Fraction(10) ** e * (1 + k * TINY) for e in range(-7, 18) for k in (-1, 0, 1)]
    digits = [1, 3, 9, 17]
    ours = page.evaluate(
        """([values, digits]) => values.map(read).map((v) =>
          [codec.exact(v), codec.number(v), ...digits.map((n) => codec.short(v, n))])""",
        [[sent(value) for value in values], digits],
    )
    for value, (exact, number, *shorts) in zip(values, ours, strict=True):
        assert exact == (decimals.full(value) or decimals.short(value, 17) + "…")
        assert shorts == [decimals.short(value, n) for n in digits], value
        assert number == pytest.approx(float(value), rel=1e-15)
    assert page.evaluate(
        """["-0", "inf", "-inf", "nan"].map((text) => codec.parse(text)).map((v) =>
          [codec.short(v), codec.exact(v), String(codec.number(v))])"""
    ) == [
        ["−0", "−0", "0"],
        ["infinity", "infinity", "Infinity"],
        ["−infinity", "−infinity", "-Infinity"],
        ["NaN", "NaN", "NaN"],
    ]


def test_arithmetic_is_exact_and_follows_ieee_754(page):
    special = ["0", "-0", "1", "-1", "2.5", "-0.125", "inf", "-inf", "nan"]
    values = [entry.parse(text) for text in special]
    results = page.evaluate(
        """texts => texts.map(codec.parse).map((a, i, all) => all.map((b) =>
          [...["add", "sub", "mul", "div"].map((name) => write(codec[name](a, b))),
           String(codec.compare(a, b)), write(codec.add(a, b, "down"))]))""",
        special,
    )
    with np.errstate(all="ignore"):
        for a, row in zip(values, results, strict=True):
            for b, (*ours, order, down) in zip(values, row, strict=True):
                x, y = np.float64(a), np.float64(b)
                for result, right in zip(ours, (x + y, x - y, x * y, x / y), strict=True):
                    value = received(result)
                    assert np.array_equal(float(value), right, equal_nan=True), (a, b)
                    assert math.isnan(right) or result[0] == np.signbit(right), (a, b)
                expected = "NaN" if np.isnan(x + 0 * y) and np.isnan([x, y]).any() else None
                assert order == (expected or str(int(x > y) - int(x < y))), (a, b)
                if x + y == 0:
                    assert down[0] == (np.signbit(x) or np.signbit(y))


def test_exact_results_of_random_operands(page):
    values = random_values(4_000, seed=4)[:600]
    pairs = list(zip(values[::2], values[1::2], strict=True))
    results = page.evaluate(
        """pairs => pairs.map((pair) => pair.map(read)).map(([a, b]) =>
          [...["add", "sub", "mul", "div"].map((name) => write(codec[name](a, b))),
           codec.compare(a, b)])""",
        [[sent(a), sent(b)] for a, b in pairs],
    )
    for (a, b), (*ours, order) in zip(pairs, results, strict=True):
        assert [received(value) for value in ours[:3]] == [a + b, a - b, a * b]
        assert order == (a > b) - (a < b)
        if b:
            assert received(ours[3]) == a / b


def test_names_that_do_not_exist_are_refused(page):
    assert page.evaluate("codec.ROUNDINGS") == list(formats.ROUNDINGS)
    assert page.evaluate("[...codec.formats.keys()]") == NAMES
    for call in ("codec.encode(codec.parse('1'), 'float12')", "codec.decode(1n, '')"):
        assert "no format" in page.evaluate(f"attempt(() => {call})")["message"]
    call = "codec.encode(codec.parse('1'), 'float16', 'nearest')"
    assert "no rounding" in page.evaluate(f"attempt(() => {call})")["message"]
