"""The explorers' modules in node, without a page: what they compute, against Python,
and their form. JavaScript runs in one process.
"""

import contextlib
import itertools
import json
import math
import random
import re
import shutil
import subprocess
import sysconfig
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import playwright
import pytest
from helpers.every_explorer import SOURCES
from helpers.memory import parts, share_saved
from test_blocks import hard_blocks
from test_elimination import invented
from test_formats import exact_values

from course_utils import clinic, formats, gradients
from course_utils.explorers import (
    FloatLab,
    ScaleScope,
    blocklab,
    doesitpay,
    floatlab,
    scalescope,
)
from course_utils.formats import blocks, numerals
from tools import explorers as bundles
from tools.canonical_form import COURSE

NAMES = list(formats.FORMATS)
MODULES = {
    path.name: path.read_text(encoding="utf-8")
    for path in bundles.SOURCES.glob("*.mjs")
}
# that of Playwright's package, whose version is known, else this machine's
NODE = shutil.which("node", path=Path(playwright.__file__).parent / "driver") or "node"
TESTED = {"percent"}  # exported for these tests
LOOP = """
import { createInterface } from "node:readline";
const all = Object.assign({}, ...await Promise.all(MODULES.map((file) => import(file))));
const write = (v) => Object.is(v, -0) ? "-0" : String(v);
const scope = { ...all, write };
for await (const line of createInterface({ input: process.stdin })) {
  const { body, given } = JSON.parse(line);
  let answer;
  try {
    answer = { value: new Function(...Object.keys(scope), "given", "store", body)(
      ...Object.values(scope), given, all) };
  } catch (error) { answer = { error: String(error.stack) }; }
  console.log(JSON.stringify(answer));
}
"""


# Form: what the linter says, and how the modules hang together.


def test_the_linter_finds_nothing():
    linter = shutil.which("oxlint", path=sysconfig.get_path("scripts"))
    folders = [bundles.SOURCES, *bundles.PAGES.glob("*.mjs")]
    subprocess.run([linter, "-c", COURSE / "tests/oxlint.json", *folders], check=True)


def names_in(module, top=r"\s*", what="const|let|function|class"):
    return re.findall(rf"^{top}(?:{what}) (\w+)", MODULES[module], re.M)


def imported(module, other):
    """The names that a module has from another one."""
    found = re.search(
        rf'^import \{{([^}}]*)\}} from "\./{other}";$', MODULES[module], re.M
    )
    return set(re.findall(r"\w+", found[1])) if found else set()


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_whole(name):
    """What it exports is imported somewhere."""
    source = MODULES[name]
    assert max(map(len, source.splitlines())) <= 100 and source.count("\n") <= 300
    exported = set(names_in(name, what="export const|export function|export class"))
    wanted = set().union(*(imported(other, name) for other in MODULES))
    assert wanted <= exported <= wanted | TESTED


def test_a_style_is_of_something_that_a_module_makes():
    """Names with a digit are put together from data, as float16."""
    styles = "".join(
        path.read_text(encoding="utf-8") for path in bundles.SOURCES.glob("*.css")
    )
    rules = re.findall(r"([^{}]+)\{", re.sub(r"/\*.*?\*/", "", styles, flags=re.S))
    classes = set(re.findall(r"\.([a-zA-Z-]+)(?![\w-])", " ".join(rules)))
    assert classes <= set(re.findall(r"[\w-]+", "\n".join(MODULES.values())))


def test_the_scripts_are_bundled_from_these_modules_and_styles():
    assert bundles.DIGEST.read_text().strip() == bundles.digest(), "make explorers"
    names = {path.stem for path in bundles.BUILT.glob("*.html")}
    assert names == set(SOURCES)


# Numbers and formats


@pytest.fixture(scope="module")
def run():
    """Runs function bodies that see the modules' exports, write, given and store.
    Numbers that may be no JSON come back as texts.
    """
    names = "codec digits entries bins survival words elimination memory scales".split()
    files = [(bundles.SOURCES / f"{name}.mjs").as_uri() for name in names]
    files.append((bundles.PAGES / "sigmoid.mjs").as_uri())
    command = [
        NODE,
        "--input-type=module",
        "-e",
        LOOP.replace("MODULES", json.dumps(files)),
    ]
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, **piped) as node:

        def run(body, given=None):
            print(
                json.dumps({"body": body, "given": given}), file=node.stdin, flush=True
            )
            answer = json.loads(node.stdout.readline())
            assert "error" not in answer, answer["error"]
            return answer.get("value")

        run(
            """store.formats = given.rows.map(makeFormat);
            store.limits = new Map(given.formats.map((row) => [row.name, row]));
            store.layers = given.layers;""",
            {"rows": FloatLab()._data()["formats"], **ScaleScope(HISTOGRAMS)._data()},
        )
        yield run


def hard_values(count, seed=0):
    """float64 values of both signs: what is hard to round to any of the formats, with
    their neighbors, and any others.
    """
    chance = random.Random(seed)
    values = [float(v) for name in NAMES for v in exact_values(name, 300, seed)
              if abs(v) < 2**200]  # fmt: skip
    values += [math.nextafter(v, chance.choice([-math.inf, math.inf])) for v in values]
    values += [
        math.ldexp(chance.uniform(-1, 1), chance.randint(-165, 140)) for _ in values
    ]
    return chance.sample(values, count)


def long_decimals():
    """Texts of numbers that no float64 is: far out, and beside values and ties of every
    format.
    """
    yield from "1e5000 1e-5000 1e400 1e-400 2^1100 2^-1100 1e-310 0e-99999".split()
    yield from ["1" * 400, "1" * 600 + "e-600", f"0.{'0' * 600}1e600", "1_000.000_1"]
    yield from ["65519.999999999999999999", "65519.999999999995"]
    beside = [Decimal(steps) for steps in ("1e-30", "-1e-30", "1e-400")]
    halves = Decimal(0), Decimal("0.5")
    with localcontext(prec=2_000):
        for name in NAMES:
            normal = formats.encode(formats.facts(name)["smallest_normal"], name).code
            last = formats.encode(formats.facts(name)["largest"], name).code
            codes = 0, normal - 1, normal, last
            for code, half, off in itertools.product(codes, halves, beside):
                at = formats.decode(code, name)
                ulp = Decimal(float(at.ulp))
                yield f"{abs(Decimal(at.value) + ulp * (half + off)):f}"


LONG = [
    sign + text
    for sign, text in zip(itertools.cycle(["", "-"]), long_decimals(), strict=False)
]
MODES = [(mode, saturate) for mode in formats.ROUNDINGS for saturate in (False, True)]


@pytest.mark.slow
def test_numbers_encode_like_pythons_in_every_mode(run):
    texts = "0 inf nan 1e999999999 1e-999999999 2^99999 2^-99999 pi 464 464.001 65520"
    texts = [sign + text for text in texts.split() for sign in ("", "-")]
    texts.remove("-nan")  # whose sign nobody sees
    texts += LONG
    values = hard_values(3_000)
    ours = run(
        """const values = [...given.texts.map((text) => read(text).value), ...given.values];
        return values.map((value) => store.formats.map((format) =>
          given.modes.map(
          ([rounding, saturate]) => format.encode(value, { rounding, saturate }))));""",
        {"texts": texts, "values": values, "modes": MODES},
    )
    assert run("return Object.keys(ROUNDINGS);") == list(formats.ROUNDINGS)
    for value, by_format in zip([*texts, *values], ours, strict=True):
        for name, codes in zip(NAMES, by_format, strict=True):
            for mode, code in zip(MODES, codes, strict=True):
                try:
                    right = formats.encode(value, name, *mode).code
                except ValueError:  # the format has no NaN
                    right = None
                assert code == right, (value, name, mode)


def some_codes(name):
    """Codes around every edge, and random ones: of a short format all."""
    bits = formats.FORMATS[name].bits
    half = 2 ** (bits - 1)
    largest = formats.encode(formats.facts(name)["largest"], name).code
    ends = (0, largest, half, half + largest)
    edges = [(end + k) % 2**bits for end in ends for k in range(-4, 5)]
    return edges + random.Random(1).sample(range(2**bits), min(2**bits, 5_000))


def neighbor(value, name, rounding, way):
    """The code of the next number of a format on the way up or down, None at the end."""
    found = formats.encode(math.nextafter(value, way), name, rounding)
    return None if found.kind == "nan" or found.value == value else found.hex


@pytest.mark.parametrize("name", NAMES)
def test_codes_mean_what_the_python_says(run, name):
    codes = some_codes(name)
    rows = run(
        """const format = store.formats.find(({ name }) => name === given.name);
        return given.codes.map((code) => {
          const d = format.decode(code);
          const hex = (other) => other === null ? null : format.decode(other).hex;
          return [d.format, d.hex, `${d.sign} ${d.exponent} ${d.fraction}`, d.kind,
            write(d.value), d.ulp, hex(format.step(d.code, 1)),
            hex(format.step(d.code, -1)),
            d.kind === "nan" ? d.hex : format.round(d.value, NEAREST).hex];
        });""",
        {"name": name, "codes": codes},
    )
    for code, (*words, value, ulp, up, down, again) in zip(codes, rows, strict=True):
        right = formats.decode(code, name)
        assert words == [name, right.hex, right.bits, right.kind]
        assert repr(float(value)) == repr(right.value)
        assert right.ulp in (float(ulp), None) and again == right.hex
        assert up == neighbor(right.value, name, "up", math.inf)
        assert down == neighbor(right.value, name, "down", -math.inf)


NUMBER = re.compile(r"\d[\d.]*(?:e([+-]\d+))?")


def within_float64(match):
    """A number as FloatLab has it: it says of tiny and huge ones only that they are."""
    if int(match[1] or 0) in range(-250, 250):
        return match[0]
    return "<1e-250" if int(match[1]) < 0 else ">1e250"


def test_errors_are_those_of_the_static_table(run):
    texts = [*LONG, "0.1", "-4.0009765625", "65520", "1e-46", "3.5e38"]
    modes = [("nearest_even", True), ("toward_zero", False), ("up", False)]
    ours = run(
        """return given.texts.map((text) => store.formats.map((format) =>
          given.modes.map(([rounding, saturate]) => {
            const typed = read(text);
            const stored = format.round(typed.value, { rounding, saturate });
            return describeError(typed.value, stored, typed).parts;
          })));""",
        {"texts": texts, "modes": modes},
    )
    for text, by_format in zip(texts, ours, strict=True):
        entered = numerals.parse(text)
        for name, by_mode in zip(NAMES, by_format, strict=True):
            for mode, found in zip(modes, by_mode, strict=True):
                told = ", ".join(part for part in found if "relative" not in part)
                right = floatlab.error_text(entered, formats.encode(text, name, *mode))
                right = NUMBER.sub(within_float64, right)
                if told != right:  # half a unit of the last digit, to another side
                    assert NUMBER.sub("", told) == NUMBER.sub("", right)
                    sizes, wanted = (
                        [float(size[0]) for size in NUMBER.finditer(words)]
                        for words in (told, right)
                    )
                    assert sizes == pytest.approx(wanted, rel=0.01), (text, name, mode)


PIECES = (
    "|+|-|−|0|1|9|25|.|e|E|e5|e-7|inf|Infinity|∞|nan|pi|Pi|π|2^|2**|^|0x|0B|F| |\t|"
    "\u00a0|,|_|１|٣|𝟏|00012|.000123"
).split("|")


def meaning(text, name):
    """The number or the code that Python reads, None where it complains."""
    for read in (numerals.parse, lambda text: formats.decode(text, name).code):
        with contextlib.suppress(ValueError):
            return float(read(text))
    return None


def test_texts_mean_the_same_as_in_python(run):
    chance = random.Random(0)
    texts = ["".join(pair) for pair in itertools.product(PIECES, repeat=2)]
    texts += [start + text for start in ("0x", "0b") for text in texts]
    texts += (
        "0b0_01111_0000000000 0x3_C00 0x_3C00 0b1__1 0x1_ 1_000.5e1_0 2^-2_4".split()
    )
    texts += "1__0 1_e5 1e_5 1._5 1_.5 _1 1_ -_1".split()
    texts += [zero * n + "7" for zero in ("0", "0x0") for n in (666, 1999, 2000)]
    texts += [
        "".join(chance.choices(PIECES, k=k)) for k in range(3, 8) for _ in range(900)
    ]
    answers = run(
        """return given.map((text) => store.formats.map((format) => {
          const { near, code = near, message = null } = understand(text, format);
          return [write(code), message];
        }));""",
        texts,
    )
    for text, by_format in zip(texts, answers, strict=True):
        for name, (number, message) in zip(NAMES, by_format, strict=True):
            right = meaning(text, name)
            if right is None:
                assert 0 < len(message) < 300, text
            else:
                assert message is None and repr(float(number)) == repr(right), text


def test_digits_are_those_of_the_python(run):
    values = [v for v in hard_values(3_000, seed=3) if abs(v) > 1e-300]
    values += [n / d for n in range(1, 50) for d in range(1, 50)]
    values += [10.0**e * (1 + k * 2**-52) for e in range(-7, 18) for k in (-1, 0, 1)]
    digits = [1, 3, 9, 15]
    ours = run(
        """return given.values.map((v) =>
          [exact(v), readable(v), ...given.digits.map((n) => short(v, n))]);""",
        {"values": values, "digits": digits},
    )
    for value, (exactly, entry, *shorts) in zip(values, ours, strict=True):
        assert exactly == f"{Decimal(value):f}".replace("-", "−")
        assert shorts == [floatlab.short(Fraction(value), n) for n in digits], value
        if not entry.startswith("≈"):
            assert float(entry.replace("−", "-")) == value
    words = run(
        "return ['-0', 'inf', '-inf', 'nan'].map((text) => exact(read(text).value));"
    )
    assert words == ["−0", "infinity", "−infinity", "NaN"]
    assert run("return [0.5, 2 ** -24, 1 / 3].map((v) => readable(v, 18, 9))") == [
        "0.5", "≈ 5.96046448e-8", "≈ 0.333333333"]  # fmt: skip


# The number line


FORMAT = """const format = store.formats.find(({ name }) => name === given.name);
const mode = { rounding: given.rounding, saturate: given.saturate };
const typed = read(given.entry);
const x = typed.value;
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rounding", formats.ROUNDINGS)
def test_the_bins_are_where_rounding_changes(run, name, rounding):
    body = f"""{FORMAT} const {{ low, high }} = windowAround(format, x);
      return binsBetween(format, mode, low, high).map(({{ from, to, value }}) =>
        [from, to, value].map(write));"""
    for entry in ("1.01", "-1.01", "0.001", "3", "-5.5"):
        given = {"entry": entry, "name": name, "rounding": rounding, "saturate": False}
        bins = [[*map(float, bin)] for bin in run(body, given)]
        assert 5 <= len(bins) <= 36
        for (_, last, _), (low, high, value) in itertools.pairwise(bins[:-1]):
            assert last == low
            for part in (0.02, 0.98):
                middle = low + (high - low) * part
                assert formats.encode(middle, name, rounding).value == value


TELL = {
    "error": f"{FORMAT} return describeError(x, format.round(x, mode), typed).text;",
    "sentence": f"""{FORMAT}
      return binSentence(format, mode, x, digitsBetween(format, windowAround(format, x)));""",
}
SAID = [  # what, entry, format, rounding, what is told
    ("error", "65520", "tf32", "nearest_even", "16 too high · relative 0.000244 · 0.25 ULP"),
    ("error", "inf", "float16", "down", ""),
    ("error", "inf", "float4_e2m1fn", "down", "largest number instead of infinity"),
    ("sentence", "65519", "float16", "nearest_even",
     "Above 65488 to below 65520, every number becomes 65504 in float16 (nearest, ties to even)."),
    ("sentence", "-65520", "float16", "nearest_even",
     "Up to and including −65520, every number becomes −∞"),
]  # fmt: skip


def test_what_is_told_of_errors_and_bins(run):
    for what, entry, name, rounding, story in SAID:
        given = {"entry": entry, "name": name, "rounding": rounding, "saturate": False}
        told = run(TELL[what], given)
        assert story in told and bool(story) == bool(told), (what, entry, name)


# Gradients


CHANCE = np.random.default_rng(0)
OCTAVES = 2.0 ** np.arange(-160, 130)
HISTOGRAMS = {
    "late": 2.0 ** CHANCE.normal(-24, 5, 3000) * (CHANCE.random(3000) < 0.6),
    "wide": 2.0 ** CHANCE.normal(-10, 40, 3000),
    "borders": np.outer(2 - 2.0 ** -np.arange(1, 16), OCTAVES),
    "zeros": np.zeros(7),
    "bad": [np.nan, np.inf, 0.0],
    "ties": [2.0**-25, 2.0**-25, 3 * 2.0**-26, 2.0**-11, 3 * 2.0**-12],
}
LAYERS = [
    gradients.OctaveHistogram.from_values(values) for values in HISTOGRAMS.values()
]
LAYERS = [sum(LAYERS[1:], start=LAYERS[0]), *LAYERS]  # all of them come first


@pytest.mark.parametrize("name", scalescope.SCOPE_FORMATS)
def test_counts_and_errors_are_pythons_at_every_scale(run, name):
    found = run(
        """const limits = store.limits.get(given);
        return store.layers.map((layer) => [...Array(73).keys()].map((index) => {
          const scale = index - 24;
          const found = survive(layer, limits, scale);
          const error = errorAt(layer, limits, scale);
          return [[found.alreadyZero, found.zero, found.subnormal, found.normal, found.overflow,
            found.nonfinite], found.nonzero, scale >= overflowFrom(layer, limits),
            scale < 0 && error !== Infinity ? null : errorText(error)];
        }));""",
        name,
    )
    for layer, rows in zip(LAYERS, found, strict=True):
        for scale, (counts, nonzero, over, told) in enumerate(rows, -24):
            right = layer.survival(name, scale)
            error = layer.relative_error(name, scale)
            assert counts == [
                right.zero, right.rounded_to_zero, right.subnormal, right.normal, right.overflow,
                right.nonfinite_input,
            ], (name, scale)  # fmt: skip
            assert nonzero == right.total - right.zero - right.nonfinite_input
            assert over == math.isinf(error)
            shown = scale >= 0 or math.isinf(error)
            text = scalescope.error_text(scalescope.in_percent(error))
            assert told == (text if shown else None), (name, scale)


def test_percents_are_those_of_the_static_table(run):
    chance = random.Random(0)
    shares = [0, 1, 1e-300, 1e-4, 0.9999, 1 - 1e-16, 0.00125, 0.125, 0.99, 0.01]
    for _ in range(2000):
        small = chance.random() ** 30
        shares += [chance.random(), small, 1 - small]
    assert run("return given.map(percent);", shares) == list(
        map(scalescope.percent, shares)
    )


def hostile_blocks():
    """2,000 blocks, each with the largest size of the rest of its tensor behind it."""
    chance = np.random.default_rng(2)
    rest = np.abs(hard_blocks(2_000, 3)[:, 0])
    rows = np.column_stack([hard_blocks(2_000, 1), rest])
    rows[::3, 32] = 0
    bad = chance.choice([np.nan, np.inf, -np.inf], 100)
    rows[range(0, 2_000, 20), chance.integers(0, 32, 100)] = bad
    return rows


@pytest.mark.parametrize("name", blocklab.TITLES)
def test_a_block_becomes_what_it_does_in_python(run, name):
    rows = hostile_blocks()
    texts = np.char.replace(rows.astype(str), "inf", "Infinity")
    ours = run(
        """return given.rows.map((row) => {
          const numbers = row.map((text) => (text === "nan" ? NaN : Number(text)));
          const block = numbers.slice(0, 32);
          const found = quantize(block, given.format, numbers[32]);
          return [found.values, found.scales, [found.tensorScale,
            errorOf(found.values, block)]].map((some) => some.map(write));
        });""",
        {"rows": texts.tolist(), "format": blocklab.parameters(name)},
    )
    for row, found in zip(rows, ours, strict=True):
        values, scales, (whole, error) = ([*map(float, some)] for some in found)
        right = blocks.quantize(row, name)
        kept = right.values[:32]
        wanted = kept.tolist(), right.scales[: len(scales)].tolist()
        assert str((values, scales)) == str(wanted), row.tolist()
        assert repr(whole) == repr(right.tensor_scale)
        with np.errstate(invalid="ignore"):
            length = np.linalg.norm(row[:32]) or 1
            off = np.linalg.norm(kept - row[:32]) / length
        assert error == pytest.approx(off, rel=1e-12, nan_ok=True)


def test_readings_rule_out_what_they_do_in_python(run):
    for seed in range(20):
        record = invented(seed, 12, 6, 3)
        tools = list(record["instruments"])
        chance = random.Random(seed)
        asked = [chance.sample(tools, chance.randint(0, 6)) for _ in record["patients"]]
        found = run(
            """return given.patients.map((patient, at) =>
              given.patients.flatMap((other) => against(patient, other, given.asked[at])
                .slice(0, 1).map((instrument) => [other.key, instrument])));""",
            {**record, "asked": asked},
        )
        for patient, those, pairs in zip(record["patients"], asked, found, strict=True):
            assert dict(pairs) == clinic.ruled_out(record, patient["key"], those)


# What a step keeps


def test_a_step_keeps_what_it_does_in_python(run):
    chance = random.Random(0)
    cases = []
    for _ in range(500):
        network = chance.choice(doesitpay.NETWORKS)
        counts = network.count(*map(chance.choice, network.choices))
        cases.append([counts, chance.randint(1, 5000), chance.choice([16, 32])])
    ours = run("return given.map((one) => [partsOf(...one), savingOf(...one)]);", cases)
    for case, (found, saving) in zip(cases, ours, strict=True):
        assert found == parts(*case)
        share = share_saved(*case[:2])
        assert saving["saved"] / saving["whole"] == pytest.approx(share, abs=1e-12)


def test_memory_is_told_in_the_unit_that_fits_and_why_it_is_saved(run):
    assert run("return [999999, 0.2].map(bytesText);") == ["1 MB", "0.2 bytes"]
    network = next(one for one in doesitpay.NETWORKS if one.name == "GPT-2")
    counts = network.count(network.places, network.width)
    reason = run("return reasonOf(given, 768, 1024, 'tokens');", counts)
    assert "equal at 450 tokens in a batch, and the width is 768." in reason


# A sigmoid's gradients, on the cliff's page


GAPS = np.arange(201, dtype="float32") * np.float32(0.1)
SHARES = [2.0**power for power in range(-8, 25)]
TYPES = {"bfloat16": (8, -126), "float16": (11, -14)}  # digits, the lowest octave


def rounded(values, digits, lowest, largest):
    """Values, each rounded once to so many binary digits; nothing of codec.mjs."""
    octaves = np.maximum(np.frexp(values)[1] - 1, lowest)
    units = np.ldexp(1.0, octaves - digits + 1)
    near = np.rint(values / units) * units
    return np.where(np.abs(near) > largest, np.copysign(np.inf, near), near)


def sigmoid_gradients(dtype, label, share):
    """What the loss hands back to the logit, operation by operation."""
    largest = formats.facts(dtype)["largest"]

    def fl(values):
        return rounded(np.asarray(values, dtype=float), *TYPES[dtype], largest)

    logit = fl(-GAPS.astype(float) if label else GAPS)
    p = fl(1 / fl(1 + fl(np.exp(-logit))))
    single = p.astype("float32")
    least = np.float32(1e-7)
    with np.errstate(divide="ignore"):
        of_loss = 1 / single if label else 1 / (1 - single)
    scaled = fl(np.float32(share) * of_loss)
    with np.errstate(invalid="ignore"):
        found = fl(fl(scaled * p) * fl(1 - p)) / share
    return np.where((single < least) | (single > 1 - least), 0, found)


@pytest.mark.parametrize("label", [0, 1])
def test_a_sigmoid_is_rounded_once_in_each_operation(run, label):
    none = {"values": [0] * 201, "broken": [None] * 33}
    data = {"step": 0.1, "first": -8, "curves": {"float32": none}}
    known = [scalescope.parameters(dtype) for dtype in TYPES]
    body = "return sigmoidCurves(given.data, given.known, given.label)"
    curves = run(body, {"data": data, "known": known, "label": label})
    exact = np.round(1 / (1 + np.exp(-GAPS.astype(float))), 3)
    assert np.allclose(curves["float32"]["values"], exact, atol=1e-9)
    for dtype in TYPES:
        first = sigmoid_gradients(dtype, label, SHARES[0])
        assert np.allclose(curves[dtype]["values"], first, atol=5.01e-4)
        zeros = [value == 0 for value in curves[dtype]["values"]]
        assert zeros == list(first == 0)
        for share, ends in zip(SHARES, curves[dtype]["broken"], strict=True):
            bad = ~np.isfinite(sigmoid_gradients(dtype, label, share))
            assert ends == (
                [bad.argmax(), 201 - bad[::-1].argmax()] if bad.any() else None
            )


def test_a_sigmoids_curves_are_those_that_keras_measures():
    """Routines of devices differ in where false alarms go silent: here each operation
    is rounded, and elsewhere it may be the result alone.
    """
    silent = {
        dtype: GAPS[sigmoid_gradients(dtype, 0, 1.0) == 0].min() for dtype in TYPES
    }
    assert silent == pytest.approx({"bfloat16": 5.6, "float16": 7.7})
    results = {
        dtype: math.log(2 ** (digits + 1)) for dtype, (digits, _) in TYPES.items()
    }
    import keras
    import tensorflow as tf

    for dtype in TYPES:
        for label in (0, 1):
            logit = tf.Variable((-GAPS if label else GAPS)[:, None])
            with tf.GradientTape() as tape:
                p = keras.layers.Activation("sigmoid", dtype=dtype)(logit)
                loss_of = keras.losses.BinaryCrossentropy(reduction="sum")
                loss = loss_of(np.full((201, 1), label, "float32"), p)
            found = np.abs(tape.gradient(loss, logit).numpy()[:, 0])
            mine = sigmoid_gradients(dtype, label, 1.0)
            if label == 0:
                from_gap = GAPS[found == 0].min()
                assert silent[dtype] - 0.11 <= from_gap <= results[dtype] + 0.11
            both = (found > 0) & (mine > 0) & np.isfinite(found) & np.isfinite(mine)
            assert both.sum() > 50
            digits = TYPES[dtype][0]
            assert np.allclose(found[both], mine[both], rtol=8 * 2.0**-digits)
