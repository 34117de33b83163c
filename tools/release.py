"""Write what a release carries: the wheels of the course and of its linter, and
self-contained copies of the notebooks.

    python -m tools.release DIR

Each copy begins with a cell that carries both wheels and installs them, so that one
notebook, uploaded alone, runs like the whole checkout, without a network too. They are
those of the course: at one that holds anything else, nothing is written.
"""

import base64
import hashlib
import io
import lzma
import sys
import zipfile
from pathlib import Path
from string import Template

import nbformat

from tools import origin
from tools.canonical_form import canonical, code_cells, read
from tools.publishing import COURSE, install_lines, wheels

CELL = """\
# @title Course files: run this cell first, it installs the course_utils that this notebook carries
import base64, hashlib, io, lzma, os, subprocess, sys, tempfile, zipfile
from importlib import metadata
from pathlib import Path


# One name more in the notebook, so that none of its own is written over.
def install_course_files(packed, digest, projects):
    # Notebooks that start together install one after the other. Pip keeps the lock, too: if
    # this kernel is killed, the next one waits until pip has ended.
    lock = None
    if os.name == "posix":
        import fcntl

        lock = os.open(sys.prefix, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        # pip notes down where each came from: a folder with the digest of both in its name.
        here = 0
        for project in projects:
            found = metadata.distributions(name=project)
            origins = [each.read_text("direct_url.json") or "" for each in found]
            here += any(digest in text or "editable" in text for text in origins)
        # The same files are not installed twice, and a checkout that is installed is left alone.
        if here == len(projects):
            return
        try:
            pair = lzma.decompress(base64.b85decode("".join(packed.split())))
        except (ValueError, lzma.LZMAError):
            pair = b""
        if hashlib.sha256(pair).hexdigest() != digest:
            raise ValueError("The files in this notebook are damaged: download it again.")
        with tempfile.TemporaryDirectory(prefix=digest) as folder:
            zipfile.ZipFile(io.BytesIO(pair)).extractall(folder)
            files = sorted(map(str, Path(folder).iterdir()))
            options = "-m pip install --quiet --no-deps --no-index --force-reinstall".split()
            kept = () if lock is None else (lock,)
            subprocess.run([sys.executable, *options, *files], check=True, pass_fds=kept)
    finally:
        if lock is not None:
            os.close(lock)

install_course_files('''
$payload
''',
    "$digest",
    $projects)
"""


def files_cell(wheels):
    """Return the folded cell that carries wheels, {name: bytes}, and installs them."""
    both = pair(wheels)
    text = base64.b85encode(
        lzma.compress(both, preset=9 | lzma.PRESET_EXTREME)
    ).decode()
    projects = tuple(name.split("-")[0].replace("_", "-") for name in wheels)
    values = {"projects": projects, "digest": hashlib.sha256(both).hexdigest()}
    values["payload"] = "\n".join(
        text[at : at + 120] for at in range(0, len(text), 120)
    )
    metadata = {"cellView": "form", "jupyter": {"source_hidden": True}}
    source = Template(CELL.rstrip()).substitute(values)
    return nbformat.v4.new_code_cell(source, id="course-files", metadata=metadata)


def pair(wheels):
    """Return a zip file of wheels, in which nothing is compressed."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        for name, data in wheels.items():
            file.writestr(zipfile.ZipInfo(name), stored(data))
    return memory.getvalue()


def stored(data):
    """Return a wheel that compresses no file by itself: as one piece it becomes
    smaller.
    """
    memory = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(memory, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            entry.compress_type = zipfile.ZIP_STORED
            new.writestr(entry, content)
    return memory.getvalue()


def text_of(nb):
    """Return a notebook as a file's text; each cell in one string, which is shorter by
    a tenth.
    """
    return nbformat.v4.writes(nb, split_lines=False) + "\n"


def carrying(path, files, course=COURSE):
    """Return a notebook with the cell that carries its files, and fetches nothing."""
    nb = canonical(read(path), path.name)
    first, *_ = code_cells(nb)
    for cell in code_cells(nb):
        cell.source = cell.source.removeprefix(install_lines(course))
    nb.cells.insert(nb.cells.index(first), files.copy())
    return nb


def main(out=None, course=COURSE):
    if out is None:
        raise SystemExit(__doc__)
    out = Path(out).resolve()
    if out.is_relative_to((course / "notebooks").resolve()):
        raise SystemExit(
            f"{out} is inside notebooks/, whose files it would overwrite: choose another."
        )
    paths = sorted((course / "notebooks").glob("*.ipynb"))
    origin.stop_at(paths, origin.strange, origin.way_back(course))
    out.mkdir(parents=True, exist_ok=True)
    both = wheels(course)
    for name, data in both.items():
        (out / name).write_bytes(data)
    files = files_cell(both)
    for path in paths:
        (out / path.name).write_text(
            text_of(carrying(path, files, course)), encoding="utf-8"
        )
        print(out / path.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
