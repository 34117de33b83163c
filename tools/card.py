"""The decision card: formats, the loss scale, what stays in float32, and symptoms, on a
page.

`python -m tools.site --card` writes it into data/decision_card.html. Numbers and
pictures come from the course: `formats.facts`, what makers write of their units,
recorded gradients, `hardware.recommended_policy` and the picture of a step. A4,
landscape.
"""

import html
import json
import math
from pathlib import Path

from course_utils import formats, hardware
from course_utils.benchmark import records
from course_utils.figures.base import Drawing
from course_utils.figures.looks import COLORS
from course_utils.gradients import OctaveHistogram

COURSE = Path(__file__).resolve().parents[1]
PATH = COURSE / "data" / "decision_card.html"
SHOWN = ("float32", "bfloat16", "float16", "float8_e4m3fn")
MACHINES = {  # what `recommended_policy` is asked for
    "GPU of compute capability 8.0 or more": ("A100", 8.0),
    "GPU of 7.0 to 7.9, with tensor cores": ("T4", 7.5),
    "older GPU, or GTX 16": ("P100", 6.0),
    "TPU": ("v5e", None),
    "CPU with avx512_bf16 or amx_bf16": ("amx_bf16",),
    "any other CPU": (),
}
# What you see, what to test first, what mends it, and the notebook that shows it.
SYMPTOMS = [
    (
        "The loss scale is halved again and again",
        "Is a batch NaN? Is the softmax in 16 bits?",
        'Drop the batch; last layer `dtype="float32"`, logits to the loss',
        "03",
    ),
    (
        "One epoch's loss is NaN, the weights are finite",
        "Did a forward pass overflow?",
        "Nothing: `fit` shows a mean, and the step was skipped",
        "02",
    ),
    (
        "float16 does not learn, float32 does",
        "Is the optimizer a `LossScaleOptimizer`?",
        "Make the model under `mixed_float16`, or wrap the optimizer yourself",
        "03",
    ),
    (
        "Learning stops early, at small steps",
        "Are the weights in 16 bits?",
        "`mixed_float16` for `float16`, `mixed_bfloat16` for `bfloat16`",
        "01",
    ),
    (
        "Your loop trains worse than `fit`",
        "Clipped or logged before S was divided out?",
        "Scale, backward, unscale, clip, update; ask `probe`",
        "06",
    ),
    (
        "It is slower than float32",
        "Does the chip multiply this format? Is the step launch or input?",
        "Another format; larger batch; read a trace",
        "05",
    ),
    (
        "Memory does not halve",
        "Are there more parameters than activations?",
        "A larger batch, or remat: 16 bits halve activations alone",
        "04",
    ),
    (
        "float32 flows between 16-bit layers",
        "Does a layer of yours make weights or constants itself?",
        "`add_weight`, `self.compute_dtype`; ask `examine`",
        "03",
    ),
    (
        "After loading, the loss scale is gone",
        "Did `compile` wrap the optimizer?",
        "Wrap it yourself before you save",
        "03",
    ),
    (
        "On many devices the weights turn NaN",
        "Did one replica overflow alone?",
        "`ReplicaSafeLossScaleOptimizer`, or bfloat16",
        "07",
    ),
]
STYLE = """\
@page { size: A4 landscape; margin: 8mm }
:root { --ink: #1b1b1b; --soft: #5a5a5a; --line: #c4c4c4; --page: #fff; color-scheme: light dark }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #ececec; --soft: #b3b3b3; --line: #555; --page: #171717 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 281mm; padding: 4mm; color: var(--ink); background: var(--page);
  font: 8.4pt/1.32 "DejaVu Sans", Verdana, sans-serif; -webkit-print-color-adjust: exact }
main { display: grid; grid-template-columns: 62mm 1fr 62mm; gap: 3mm 6mm }
header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline;
  gap: 0 6mm }
h1 { font-size: 14pt; margin: 0 0 2mm } h2 { font-size: 10pt; margin: 0 0 1mm }
p, ul { margin: 1mm 0 } ul { padding-left: 4mm } header p, small { color: var(--soft) }
section { min-width: 0 } .wide { grid-column: span 2 } .tall { grid-row: span 2; grid-column: 3 }
.scroll { overflow-x: auto } .symptoms th { width: 31% } .tall table { margin-bottom: 3mm }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: middle; padding: 0.55mm 2.5mm 0.55mm 0;
  border-top: 0.2mm solid var(--line) }
thead th { border: 0; color: var(--soft); font-weight: normal } tbody th { font-weight: bold }
code { font: 7.6pt "DejaVu Sans Mono", monospace; white-space: nowrap }
svg { display: block; max-width: 100%; height: auto } svg text { fill: var(--ink) }
.step text { fill: var(--ink) !important }
@media print { body { padding: 0; max-width: none } }
@media screen and (max-width: 900px) {
  main { grid-template-columns: 1fr } .wide, .tall { grid-column: auto; grid-row: auto }
  .scroll table { min-width: 150mm }
  code { white-space: normal } }
"""


def strip(name):
    """Draw the bits of a format, a millimeter each: sign, exponent, fraction."""
    facts, color = formats.facts(name), COLORS.get(name, "#CC79A7")
    widths = {"S": 1, "E": facts["exponent_bits"], "F": facts["fraction_bits"]}
    parts, at = [], 0
    for letter, bits in widths.items():
        fill = {"S": "none", "E": color, "F": f"{color}55"}[letter]
        ink = "#fff" if letter == "E" else "currentColor"
        parts.append(
            f'<rect x="{5 * at + 0.5}" y="0.5" width="{5 * bits}" height="13" fill="{fill}" '
            f'stroke="{color}"/>'
        )
        if bits > 1:
            middle = 5 * (at + bits / 2) + 0.5
            label = f'<text x="{middle}" y="10.5" text-anchor="middle" font-size="9"'
            parts.append(f'{label} style="fill: {ink}">{bits}</text>')
        at += bits
    said = "1 sign bit, {E} exponent bits, {F} fraction bits".format(**widths)
    return svg(162, 14, said, "".join(parts))


def reach(name):
    """Draw what a format reaches on the axis of powers of two, subnormals hatched pale."""
    facts, color = formats.facts(name), COLORS.get(name, "#CC79A7")
    ends = ("smallest_subnormal", "smallest_normal", "largest")
    low, normal, high = (0.6 * (math.log2(facts[end]) + 150) for end in ends)
    drawn = (
        f'<path d="M0 7H168" stroke="var(--line)"/>'
        f'<rect x="{low:.1f}" y="3" width="{normal - low:.1f}" height="8" fill="{color}55"/>'
        f'<rect x="{normal:.1f}" y="3" width="{high - normal:.1f}" height="8" fill="{color}"/>'
        f'<path d="M90 0V14" stroke="currentColor" stroke-dasharray="2 2"/>'
    )
    said = " to ".join(f"{facts[end]:.2g}" for end in ("smallest_subnormal", "largest"))
    return svg(168, 14, f"from {said}; the dashed line is 1", drawn)


def bathtub():
    """Draw the error of recorded gradients in float16 against the loss scale."""
    recorded = records.gradients(of="weights")
    curves = []
    for epochs, dash in ((5, "5 3"), (85, "")):
        whole = sum(recorded[epochs].values(), OctaveHistogram.from_values([]))
        errors = [whole.relative_error("float16", s) for s in range(31)]
        floor = [e for e in errors if math.isfinite(e)]
        points = [
            f"{30 + 6 * s},{90 - 32 * (math.log10(e) + 4):.1f}"
            for s, e in enumerate(floor)
        ]
        end = 30 + 6 * (len(floor) - 1)
        curves.append(
            f'<path d="M{" L".join(points)} V14" fill="none" stroke="{COLORS["float16"]}" '
            f'stroke-width="2" stroke-dasharray="{dash}"/>'
            f'<text x="{end}" y="10" text-anchor="middle">{epochs} epochs</text>'
        )
    axes = (
        '<path d="M30 14V96H216" fill="none" stroke="var(--soft)"/>'
        + "".join(
            f'<text x="{30 + 6 * s}" y="107">2{power(s)}</text>'
            for s in (0, 10, 20, 30)
        )
        + '<text x="28" y="29" text-anchor="end">1 %</text><text y="10">error</text>'
        '<text x="28" y="93" text-anchor="end">.01 %</text>'
        '<text x="52" y="44">too small</text><text x="70" y="74">the floor</text>'
        '<text x="121" y="118" text-anchor="middle">loss scale S</text>'
    )
    said = "Error of float16 gradients: it falls with S to a floor, and is infinite past a cliff."
    return svg(232, 120, said, f'<g font-size="9">{axes}{"".join(curves)}</g>')


def power(number):
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(number))


def svg(width, height, said, drawn):
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg {box} role="img" aria-label="{html.escape(said)}">{drawn}</svg>'


def policy(machine):
    """Return what the course recommends for one of MACHINES."""
    accelerators, sets = (), ()
    if "GPU" in machine or machine == "TPU":
        name, capability = MACHINES[machine]
        kind = "TPU" if machine == "TPU" else "GPU"
        accelerators = (hardware.Accelerator(kind, name, True, "", capability),)
    else:
        sets = MACHINES[machine]
    found = hardware.Hardware("Linux x86_64", "CPU", 8, sets, accelerators=accelerators)
    return hardware.recommended_policy(found)


def table(header, rows):
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    lines = (
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    body = "\n".join(lines)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def marked(text):
    """Return text as HTML, with what stands between backticks as code."""
    pieces = html.escape(text, quote=False).split("`")
    return "".join(f"<code>{p}</code>" if n % 2 else p for n, p in enumerate(pieces))


def page():
    """Return the card as the text of an HTML file."""
    support = json.loads(
        (COURSE / "data" / "format_support.json").read_text(encoding="utf-8")
    )
    units = {row["format"]: row["since"] for row in support["rows"]}
    rows = []
    for name in SHOWN:
        facts = formats.facts(name)
        large = (
            f"{facts['largest']:,.0f}"
            if facts["largest"] < 1e6
            else f"{facts['largest']:.1e}"
        )
        numbers = (
            f"1/{1 / facts['epsilon']:,.0f}",
            f"{facts['smallest_subnormal']:.1e}",
            large,
        )
        rows.append(
            [name, strip(name), *numbers, reach(name), units[name].replace(";", ",")]
        )
    header = ("", "sign, exponent, fraction", "gap at 1", "smallest", "largest")
    first = table((*header, "reach (dashed: 1)", "units for it, makers say"), rows)
    tries = table(
        ("your chip", "try first"), [(m, marked(f"`{policy(m)}`")) for m in MACHINES]
    )
    cells = [map(marked, symptom) for symptom in SYMPTOMS]
    symptoms = table(("you see", "ask first", "what mends it", "notebook"), cells)
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mixed precision: the decision card</title>
<style>
{STYLE}</style>
</head>
<body>
<header><h1>Mixed precision: the decision card</h1>
<p>Mixed Precision, Measured · print it on one page, A4, landscape</p></header>
<main>
<section class="wide scroll"><h2>1. Format: range or precision?</h2>
{first}
</section>
<section class="tall"><h2>Which policy to try first?</h2>
{tries}
{Drawing.stored("step").svg}
</section>
<section><h2>2. Scale: float16 alone needs one</h2>
{bathtub()}
<ul>
<li>A power of two on the floor: all are as good.</li>
<li>Keras begins at 2¹⁵, doubles after 2,000 good steps, halves at each overflow, and has no lower \
limit.</li>
<li>It sees overflow, never underflow.</li>
<li>bfloat16 has float32's range: no scale.</li>
</ul>
<h2>3. Output: float32</h2>
<ul>
<li>So are the weights, the loss, and long sums.</li>
<li>{marked('The last layer too: `dtype="float32"`.')}</li>
<li>{marked("Or logits, and `from_logits=True`; best both.")}</li>
<li>Scale, backward, unscale, clip, update.</li>
</ul>
</section>
<section><h2>4. Symptoms</h2>
<div class="scroll symptoms">{symptoms}</div>
</section>
</main>
</body>
</html>
"""


def write():
    PATH.write_text(page(), encoding="utf-8")
