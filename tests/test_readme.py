"""The README: short, with numbers of a record, and code that prints what stands below
it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tools import pictures

COURSE = Path(__file__).resolve().parents[1]
README = (COURSE / "README.md").read_text(encoding="utf-8")


def test_it_is_read_in_minutes():
    assert sum(any(map(str.isalnum, word)) for word in README.split()) <= 900


def test_its_numbers_and_its_picture_are_those_of_the_record():
    assert f"({pictures.RECORD.relative_to(COURSE)})" in README
    alt = pictures.front().alt
    assert f"[![{alt}](docs/pictures/{pictures.FRONT.name})]" in README
    first = README.split("[![")[0]
    time, slower, memory = re.findall(r"\d\.\d\d", alt)[:3]
    assert re.findall(r"\d\.\d\d", first) == [time, memory, slower]


def test_its_code_prints_what_stands_below_it():
    fences = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
    ((code, output),) = fences.findall(README)
    assert code.count("\n") - code.count("\n\n") <= 8
    run = [sys.executable, "-c", code]
    env = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(run, capture_output=True, text=True, env=env, cwd=COURSE)
    assert done.stdout == output, done.stderr
