"""What a repository shows first: a README that is true, and files for those who host and
cite.
"""

import re
from pathlib import Path

import yaml

import course_utils
from course_utils import training
from tools import clock, pictures, publishing

COURSE = Path(__file__).resolve().parents[1]
README = (COURSE / "README.md").read_text(encoding="utf-8")


def test_its_numbers_and_its_picture_are_those_of_the_record():
    assert f"({pictures.RECORD.relative_to(COURSE)})" in README
    alt = pictures.front().alt
    assert f"[![{alt}](docs/pictures/{pictures.FRONT.name})]" in README
    words = [word for word in README.split() if re.search(r"\w", word)]
    assert len(words) <= 900
    first = README.split("[![")[0]
    time, slower, memory = re.findall(r"\d\.\d\d", alt)[:3]
    assert re.findall(r"\d\.\d\d", first) == [time, memory, slower]


def test_its_code_prints_what_stands_below_it(capsys):
    fences = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
    ((code, output),) = fences.findall(README)
    assert code.count("\n") - code.count("\n\n") <= 8
    with training.dtype_policy("float32"):  # and so back to it
        exec(code, {})
    assert capsys.readouterr().out == output


def test_the_version_is_the_same_wherever_it_stands():
    citation = yaml.safe_load((COURSE / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (COURSE / "CHANGELOG.md").read_text(encoding="utf-8")
    version = course_utils.__version__
    assert publishing.published()[1] == citation["version"] == version
    assert f"## {version}" in changes


def test_the_plans_of_a_teaching_day_hold_the_notebooks_clocks():
    """A slot is as long as the clock of the notebook, or of its part, and ends in order."""
    teach = (COURSE / "docs/teach.md").read_text(encoding="utf-8")
    slots = re.findall(
        r"^\| (\d+):(\d\d) \|.*?\| (?:(\d\d)(?:, to section (\d+))?)? ?\|$", teach, re.M
    )
    starts = [60 * int(hour) + int(minute) for hour, minute, _, _ in slots]
    planned = 0
    for start, end, (_, _, name, last) in zip(starts, starts[1:], slots, strict=False):
        if name:
            (path,) = COURSE.glob(f"notebooks/{name}_*.ipynb")
            part = f"{last}. " if last else ""
            needed = [
                so_far
                for heading, _, so_far in clock.account(path).minutes()
                if so_far is not None and heading.startswith(part)
            ]
            assert end - start >= needed[-1], (name, last, needed)
            planned += 1
    assert planned >= 13
