"""The lab report and the class board: what they show, and that no string of anybody's does harm."""

import json
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from course_utils import exercises
from course_utils.exercises import store
from course_utils.report import LabReport, data

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
    "𝔊😀字" * 2000,
]


def card(quantity="speedup", unit="×", guess=2.0, predicted=1.8, measured=1.5):
    return dict(quantity=quantity, unit=unit, guess=guess, predicted=predicted, measured=measured)


def report(text="", title="A report", measured=1.5, guess=2.0, words="Why?"):
    """A report that has `text` in every field that takes one."""
    finding = dict.fromkeys(("severity", "layer", "message", "fix"), f"finding {text}")
    table = pd.DataFrame({f"step_ms {text}": [3.0, 4.5]}, [f"row {text}", "float32"])
    return LabReport(
        f"{title}{text}",
        {f"policy {text}": f"mixed_bfloat16{text}", "batch": 64},
        [card(f"speedup{text}", f"×{text}", guess, f"1.8{text}", measured), card("loss")],
        {f"loss {text}": {f"line {text}": [2.0, np.float32(1), np.nan]}},
        table.rename_axis(f"policy {text}"),
        [SimpleNamespace(**finding)],
        f"{words}{text}",
    )


class Page(HTMLParser):
    """What a page is made of: its tags with the names of their attributes, and all it shows."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.said = [("",)], []
        self.feed(html)
        self.text = " ".join(" ".join(self.said).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, *(name for name, _ in attributes)))
        self.said += [value for name, value in attributes if name == "aria-label"]

    def handle_data(self, said):
        if self.tags[-1][0] not in ("style", "script"):
            self.said.append(said)


def harmless(html):
    """The page, after looking for anything that could run or fetch."""
    page = Page(html)
    assert html.count("<script") == 1 or "lab-report" not in html
    for tag, *names in page.tags:
        assert tag not in ("img", "iframe", "object", "embed", "link", "base", "form", "a"), tag
        assert not any(name.startswith("on") or name in ("src", "href") for name in names), names
        assert tag != "script" or names == ["type", "id"]
    assert "default-src 'none'" in html
    return page


def test_a_report_says_all_that_it_was_given(tmp_path):
    exercises.load("00").predict(2.5)
    sheet = exercises.load("00")
    store.save("00", solved=[sheet[1].exercise.id])
    made = report()
    path = made.save(tmp_path / "report.html")
    page = harmless(path.read_text(encoding="utf-8"))
    for said in (
        *("A report", "batch: 64", "policy : mixed_bfloat16", "speedup ×", "loss ×", "Why?"),
        *("2 1.8 1.5", "row 3", "float32 4.5", "finding finding finding", "TensorFlow 2."),
        "line from 2 to 1 in 3 points, 1 not finite.",
        f"00 · {sheet.title} you guessed 2.5 1 of {len(sheet.exercises)}",
        *(exercises.load(name).title for name in exercises.available()),
    ):
        assert said in page.text, said
    assert data.read(path) == made.data
    assert made.data["progress"]["00"]["solved"] == [sheet[1].exercise.id]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_string_does_harm_in_any_field_of_a_report(text, tmp_path):
    made = report(text)
    page = harmless(made.html())
    usual = Page(report("x").html())
    drawn = ("text", "tspan", "g", "use", "path", "defs")  # as many as there are letters to place
    assert [t for t in page.tags if t[0] not in drawn] == [
        t for t in usual.tags if t[0] not in drawn
    ]
    clean = "".join(c for c in text if c.isprintable())
    assert page.text.count(" ".join(clean.split())[:20]) >= 15  # it is shown, as text
    assert data.read(made.save(tmp_path / "report.html")) == made.data


def test_what_a_learner_left_out_and_numbers_of_any_kind(tmp_path):
    rows = [card(guess=..., predicted=None, measured=np.float32(2)), card(measured=np.inf)]
    made = LabReport("t", {"n": np.int64(3)}, rows, {}, pd.DataFrame(), [], ...)
    assert [made.data["card"][0][key] for key in ("guess", "measured")] == [None, 2.0]
    assert made.data["card"][1]["measured"] == "inf" and made.data["words"] == ""
    text = harmless(made.html()).text
    assert "– – 2" in text and "Findings repaired None." in text and "my words" not in text
    for wrong in ([{"quantity": "speed"}], [card(unit=3)], [card(quantity=None)]):
        with pytest.raises(ValueError, match="of an item of 'card' of the report is not text"):
            LabReport("t", {}, wrong, {}, pd.DataFrame(), [])


def test_only_a_report_is_overwritten(tmp_path):
    path = tmp_path / "report.html"
    report().save(path)
    assert report(title="Second").save(path) == path and "Second" in path.read_text("utf-8")
    other = tmp_path / "notes.html"
    other.write_text("<p>mine", encoding="utf-8")
    for place, why in ((other, "is no lab report"), (tmp_path, "cannot be written")):
        with pytest.raises(ValueError, match=f"{why}.*choose another name"):
            report().save(place)
    with pytest.raises(ValueError, match="at most 3 are read again"):
        report("x" * 300_000).save(path)
    assert other.read_text("utf-8") == "<p>mine" and "Second" in path.read_text("utf-8")
    json.dumps(data.read(path))
