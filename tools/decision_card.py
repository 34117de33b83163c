"""The decision card: formats, the loss scale, what stays in float32, and symptoms, on a
page.

`python -m tools.site --card` writes it into data/decision_card.html, A4 landscape. Its
words and drawings are tools/decision_card.html, a template of Jinja; its numbers come from the
course: `formats.facts`, what makers write of their units, recorded gradients,
`hardware.recommended_policy` and the picture of a step.
"""

import json
import math
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from course_utils import formats, hardware, records
from course_utils.figures.looks import COLORS
from course_utils.gradients import OctaveHistogram
from course_utils.hardware import Accelerator
from course_utils.lessons.nb02 import draw_step

COURSE = Path(__file__).resolve().parents[1]
PATH = COURSE / "data" / "decision_card.html"
SHOWN = (
    "float32",
    "bfloat16",
    "float16",
    "float8_e4m3fn",
    "float4_e2m1fn",
)


def machine(instruction_sets=(), *accelerators):
    """Return a machine to ask `recommended_policy` about."""
    return hardware.Hardware(
        "Linux x86_64", "CPU", 8, instruction_sets, accelerators=accelerators
    )


def gpu(name, capability):
    return machine((), Accelerator("GPU", name, True, compute_capability=capability))


MACHINES = {
    "GPU of compute capability 8.0 or more": gpu("A100", 8.0),
    "GPU of 7.0 to 7.9, with tensor cores": gpu("T4", 7.5),
    "older GPU, or GTX 16": gpu("P100", 6.0),
    "TPU": machine((), Accelerator("TPU", "v5e", True)),
    "CPU with amx_bf16, or AMD's with avx512_bf16": machine(("amx_bf16",)),
    "any other CPU": machine(),
}


def known(name, units):
    """Return what the card says of a format: its facts, its color, and where its smallest
    and largest numbers lie on the axis of powers of two.
    """
    facts = formats.facts(name)
    ends = ("smallest_subnormal", "smallest_normal", "largest")
    reach = [0.6 * (math.log2(facts[end]) + 150) for end in ends]
    color = COLORS.get(name, "#CC79A7")
    return {**facts, "color": color, "reach": reach, "units": units.replace(";", ",")}


def errors(epochs):
    """Return the logarithms of the errors of recorded gradients in float16, for each
    scale from 2**0 until they overflow.
    """
    layers = records.gradients(of="weights")[epochs].values()
    whole = sum(layers, OctaveHistogram.from_values([]))
    found = [whole.relative_error("float16", scale) for scale in range(31)]
    return [math.log10(error) for error in found if math.isfinite(error)]


def page():
    """Return the card as the text of an HTML file."""
    support = json.loads(
        (COURSE / "data" / "format_support.json").read_text(encoding="utf-8")
    )
    units = {row["format"]: row["since"] for row in support["rows"]}
    templates = Environment(
        loader=FileSystemLoader(COURSE / "tools"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return templates.get_template("decision_card.html").render(
        formats=[known(name, units[name]) for name in SHOWN],
        policies={
            name: hardware.recommended_policy(each) for name, each in MACHINES.items()
        },
        errors={epochs: errors(epochs) for epochs in (5, 85)},
        step=draw_step().svg,
    )


def write():
    PATH.write_text(page(), encoding="utf-8")
