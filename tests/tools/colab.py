"""Write self-contained copies of the notebooks for Colab, which carry course_utils inside.

    python tests/tools/colab.py --out DIR

Each copy begins with a cell that unpacks the course's files into the working folder, so that one
notebook, uploaded alone, runs like the whole checkout. The same files give the same bytes.
"""

import argparse
import base64
import hashlib
import io
import sys
import tarfile
from pathlib import Path

import nbformat
from canonical import COURSE, code_cells, read, text_of

COURSE_FILES = ("course_utils/**/*", "data/*.json", "data/measurements/**/*.json")
LAST = "course_utils/__init__.py"  # unpacked last: where it is, everything is
CELL = """\
# @title Course files: run this cell first, it unpacks course_utils into this folder
import base64, hashlib, io, tarfile
from pathlib import Path

packed = '''
{payload}
'''
# Beside the files stands which they are: those of another notebook, older or newer, give way.
digest, mark = "{digest}", Path("course_utils/bundle.sha256")
if not Path("{last}").exists() or mark.exists() and mark.read_text() != digest:
    try:
        data = base64.b85decode("".join(packed.split()))
    except ValueError:
        data = b""
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError("The course files in this notebook are damaged: download it again.")
    with tarfile.open(fileobj=io.BytesIO(data)) as files:
        files.extractall(filter="data")
    mark.write_text(digest)"""


def course_files(course=COURSE):
    """Return the files that a notebook needs, as paths relative to the course folder."""
    found = {path for pattern in COURSE_FILES for path in course.glob(pattern) if path.is_file()}
    names = [path.relative_to(course) for path in sorted(found) if path.suffix != ".pyc"]
    names = [n for n in names if not any(p.startswith((".", "__pycache__")) for p in n.parts)]
    return sorted(names, key=lambda name: name.as_posix() == LAST)


def bundle(course=COURSE):
    """Return the course's files as the bytes of an archive that depend on nothing but the files."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:xz", preset=9) as files:
        for name in course_files(course):
            content = (course / name).read_bytes()
            entry = tarfile.TarInfo(name.as_posix())  # of no time and nobody
            entry.size = len(content)
            files.addfile(entry, io.BytesIO(content))
    return memory.getvalue()


def files_cell(data):
    """Return the folded cell that carries these bytes and unpacks them."""
    text = base64.b85encode(data).decode()
    payload = "\n".join(text[start : start + 120] for start in range(0, len(text), 120))
    source = CELL.format(payload=payload, last=LAST, digest=hashlib.sha256(data).hexdigest())
    metadata = {"cellView": "form", "jupyter": {"source_hidden": True}}
    return nbformat.v4.new_code_cell(source, id="course-files", metadata=metadata)


def carrying(nb, data):
    """Put the cell with the course's files before the notebook's first code cell; return it."""
    nb.cells.insert(nb.cells.index(code_cells(nb)[0]), files_cell(data))
    return nb


def main(arguments=None, course=COURSE):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    out = parser.parse_args(arguments).out
    if out.resolve().is_relative_to((course / "notebooks").resolve()):
        parser.error(
            f"{out} is inside notebooks/, whose files would be overwritten: choose another."
        )
    out.mkdir(parents=True, exist_ok=True)
    data = bundle(course)
    for path in sorted((course / "notebooks").glob("*.ipynb")):
        (out / path.name).write_text(text_of(carrying(read(path), data)), encoding="utf-8")
        print(out / path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
