"""The rules of the notebook template: a good notebook passes all, each broken one is named."""

import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

sys.path.insert(0, str(Path(__file__).parent / "tools"))
import template

TITLE = """\
# Measure a thing

*At a glance*: **15 minutes** · next: [another](01_other.ipynb#top)

What you’ll do · What you'll learn · What you'll need: [data](../data/README.md), `a!`"""
SECTIONS = """\
## 1. First

*≈5 min · 5 min so far*

We adjust $n!$, and ![A falling line](../data/line.png) shows it; see [this](https://a.org/!x).

```python
# just code, simply!
```

## 2. Second

*≈10 min · 15 min so far*

## Common mistakes

## Recap

## Further reading"""


@pytest.fixture
def folder(tmp_path):
    for name in ("data/README.md", "data/line.png", "notebooks/01_other.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path / "notebooks"


def notebook(title=TITLE, sections=SECTIONS, code="1", outputs=(), tags=()):
    metadata = {"tags": list(tags)}
    return new_notebook(
        cells=[
            new_markdown_cell(title, id="title"),
            new_code_cell(code, id="code", outputs=list(outputs), metadata=metadata),
            new_markdown_cell(sections, id="sections"),
        ]
    )


RULES = [
    template.title,
    template.parts,
    template.clock,
    template.wording,
    template.alternative_text,
    template.machine_paths,
    template.stored_errors,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_notebook_breaks_no_rule(rule):
    assert rule(notebook()) == []


def test_the_links_of_a_good_notebook_resolve(folder):
    assert template.links(notebook(), folder) == []


# rule, what is replaced in the text, by what, what the fault says
BROKEN = [
    ("title", "# Measure", "Measure", "level-1"),
    ("title", "## Recap", "# Recap", "level-1"),
    ("parts", "What you’ll do", "Do", "do"),
    ("parts", "What you'll learn", "Learn", "learn"),
    ("parts", "What you'll need", "Need", "need"),
    ("parts", "## Common mistakes", "", "'Common mistakes'"),
    ("parts", "## Recap", "", "'Recap'"),
    ("parts", "## Further reading", "Further reading", "'Further reading'"),
    ("clock", "## 2. Second", "## 3. Second", "number 2"),
    ("clock", "15 min so far", "20 min so far", "included 15"),
    ("clock", "*≈10 min · 15 min so far*", "", "no clock"),
    ("clock", "**15 minutes**", "**20 minutes**", "add up to 15"),
    ("clock", "**15 minutes**", "15 minutes", "no minutes"),
    ("wording", "We adjust", "We simply adjust", "'simply'"),
    ("wording", "We adjust", "Just adjust", "'just'"),
    ("wording", "We adjust", "We obviously adjust", "'obviously'"),
    ("wording", "## Recap", "## Recap!", "exclamation"),
    ("wording", "We adjust", "C01 says: we adjust", "claim"),
    ("wording", "We adjust", "MP001: we adjust", "finding"),
    ("alternative_text", "![A falling line]", "![]", "alternative text"),
    ("alternative_text", "We adjust", '<img src="../data/line.png">', "alternative text"),
    ("alternative_text", "We adjust", '<img alt="" src="../data/line.png">', "alternative text"),
    ("machine_paths", "We adjust", "We adjust /root/x", "/root"),
    ("machine_paths", "We adjust", "We adjust (/home/me/x)", "/home"),
]


def change(old, new):
    assert (old in TITLE) != (old in SECTIONS), old
    return notebook(TITLE.replace(old, new), SECTIONS.replace(old, new, 1))


@pytest.mark.parametrize(("rule", "old", "new", "fragment"), BROKEN)
def test_a_broken_rule_is_named(rule, old, new, fragment):
    found = getattr(template, rule)(change(old, new))
    assert any(fragment in fault for fault in found), found
    others = [r for r in RULES if r.__name__ != rule]
    assert [fault for other in others for fault in other(change(old, new))] == []


def test_a_notebook_without_at_a_glance_is_named():
    nb = change("At a glance", "Overview")
    assert template.parts(nb) == ["There is no 'At a glance'."]
    assert "no minutes" in template.clock(nb)[0]


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ("../data/line.png", "../data/none.png", "none.png does not exist"),
        ("01_other.ipynb#top", "02_other.ipynb#top", "02_other.ipynb#top does not exist"),
        ("https://a.org", "http://a.org", "https"),
        ("We adjust", '<a href="none.html">x</a>', "none.html does not exist"),
    ],
)
def test_a_broken_link_is_named(folder, old, new, fragment):
    (fault,) = template.links(change(old, new), folder)
    assert fragment in fault


def test_machine_paths_in_code_and_outputs_are_named():
    stream = new_output("stream", text="saved to /tmp/x.png")
    table = new_output("display_data", {"text/html": "<a href='/work/x'>", "image/png": "+/tmp/A"})
    fine = new_output("stream", text="bytes/step, input/work, https://a.org/home, ../tmp")
    nb = notebook(code="open('/home/me/x')", outputs=[stream, table, fine])
    named = [fault.split()[-1] for fault in template.machine_paths(nb)]
    assert named == ["/home.", "/tmp.", "/work."]


def test_a_stored_error_needs_its_tag_and_the_tag_an_error():
    error = new_output("error", ename="E", evalue="e", traceback=[])
    tag = "nbval-raises-exception"
    assert template.stored_errors(notebook(outputs=[error], tags=[tag])) == []
    assert "a stored error" in template.stored_errors(notebook(outputs=[error]))[0]
    assert "no stored error" in template.stored_errors(notebook(tags=[tag]))[0]
