"""Where the course is published, and what the notebooks and the README say of it.

The address and the version stand in pyproject.toml. `tools.notebooks --fix` writes
badges and setup cells that follow from them, and from the wheels that a release holds.
"""

import functools
import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from string import Template

COURSE = Path(__file__).resolve().parents[1]
COLAB, GITHUB = "https://colab.research.google.com", "https://github.com/"
START = re.compile(r"```sh\n(git clone [^\n]*\n[^\n]*\n)?(?=python start\.py)")
BADGE = re.compile(r"\A(# [^\n]*)(\n\n\[!\[Open in Colab\][^\n]*)?")

SETUP = """\
from course_utils import session

machine = session.setup({})"""
# pip refuses what has another checksum.
INSTALL = """\
import os

if "COLAB_RELEASE_TAG" in os.environ:  # elsewhere `make lab` has installed the course
    release = "$address/releases/download/v$version"
    %pip install --quiet --no-deps $wheels

"""


@functools.cache
def wheels(course=COURSE):
    """Return {name: bytes} of the linter's wheel and the course's: the same files give
    the same bytes.
    """
    files = {}
    for project in (course / "linter", course):
        with tempfile.TemporaryDirectory() as folder:
            build = "-m hatchling build -t wheel -d".split()
            command = [sys.executable, *build, folder]
            subprocess.run(command, cwd=project, check=True, capture_output=True)
            (path,) = Path(folder).iterdir()
            files[path.name] = path.read_bytes()
    return files


@functools.cache
def published(course=COURSE):
    """Return the address of the course ("" while it has none) and its version."""
    table = tomllib.loads((course / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return table.get("urls", {}).get("Repository", "").rstrip("/"), table["version"]


def install_lines(course=COURSE):
    """Return what a notebook of a published course begins with: Colab installs the
    release.
    """
    address, version = published(course)
    if not address:
        return ""
    origins = (
        f"{{release}}/{name}#sha256={hashlib.sha256(data).hexdigest()}"
        for name, data in wheels(course).items()
    )
    return Template(INSTALL).substitute(
        address=address, version=version, wheels=" ".join(origins)
    )


def setup_cell(course=COURSE, cpus=None):
    """Return the first code cell of a notebook."""
    return install_lines(course) + SETUP.format(f"cpus={cpus}" if cpus else "")


def with_badge(text, notebook, address, version):
    """Return a text under a title with the badge that opens this notebook of the
    release, or none.

    Colab opens what lies on GitHub, and with a fragment as slides.
    """
    if not address.startswith(GITHUB):
        return BADGE.sub(lambda match: match[1], text)
    place = address.removeprefix(GITHUB)
    target = f"{COLAB}/github/{place}/blob/v{version}/notebooks/{notebook}"
    badge = f"\n\n[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({target})"
    badge += f" [as slides]({target}#slideshowMode=true)"
    return BADGE.sub(lambda match: match[1] + badge, text)


def with_clone(text, address):
    """Return the README with the lines before its start line that get the course, or
    none.
    """
    lines = ""
    if address:
        lines = f"git clone {address} mixed-precision\ncd mixed-precision\n"
    return START.sub("```sh\n" + lines, text)
