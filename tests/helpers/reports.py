"""Lab reports with any text in their fields, for the tests."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from course_utils.exercises import hand_ins as data
from course_utils.report import LabReport

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=https://example.org/x onerror=alert(1)>",
    "\"><svg onload='alert(1)'>",
    "' onmouseover='alert(1)",
    "--></style></title><!--]]>&lt;b&gt;",
    "{{ 7 * 7 }}{% raise %}",
    "$\\frac{$ \\ %s {0}",
    "a\x00\x1b[31m\ud800\u202eb",
    data.BEGIN + "{}" + data.END,
    "𝔊😀字" + "x" * 5000,
]


def card(quantity="speedup", unit="×", guess=2.0, predicted=1.8, measured=1.5):
    return dict(
        quantity=quantity,
        unit=unit,
        guess=guess,
        predicted=predicted,
        measured=measured,
    )


def report(text="", title="A report", measured=1.5, guess=2.0, words="Why?"):
    """A report that has `text` in every field that takes one."""
    finding = dict.fromkeys(("severity", "layer", "message", "fix"), f"finding {text}")
    table = pd.DataFrame({f"step_ms {text}": [3.0, 4.5]}, [f"row {text}", "float32"])
    return LabReport(
        f"{title}{text}",
        {f"policy {text}": f"mixed_bfloat16{text}", "batch": 64},
        [
            card(f"speedup{text}", f"×{text}", guess, f"1.8{text}", measured),
            card("loss"),
        ],
        {f"loss {text}": {f"line {text}": [2.0, np.float32(1), np.nan]}},
        table.rename_axis(f"policy {text}"),
        [SimpleNamespace(**finding)],
        f"{words}{text}",
    )
