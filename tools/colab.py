"""Write what a release carries: self-contained copies of the notebooks, and the course's files.

    python -m tools.colab DIR

Each copy begins with a cell that unpacks the course's files into the working folder, so that one
notebook, uploaded alone, runs like the whole checkout. The archive holds the same files, for the
setup cells of a published course. The same files give the same bytes.
"""

import base64
import hashlib
import sys
from pathlib import Path

import nbformat

from tools.canonical import canonical, code_cells, read
from tools.release import ARCHIVE, COURSE, STALE, bundle, filled, published

LARGE = "data/measurements/gradients.json"  # a fifth of all, for those alone that read it
CELL = f"""\
# @title Course files: run this cell first, it unpacks course_utils into this folder
import base64, hashlib, io, shutil, tarfile, tempfile
from pathlib import Path

packed = '''
$payload
'''
# Older files beside this notebook give way; newer ones, and what you changed in these, stay.
digest = "$digest"
{STALE}if older or not mark.parent.exists():
    try:
        data = base64.b85decode("".join(packed.split()))
    except ValueError:
        data = b""
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError("The course files in this notebook are damaged: download it again.")
    # In a folder of its own first, then into place in one step: of notebooks that start together
    # one wins, and neither imports half a package.
    with tempfile.TemporaryDirectory(dir=".") as new:
        tarfile.open(fileobj=io.BytesIO(data)).extractall(new, filter="data")
        Path(new, mark).write_text(" ".join([digest, *map(str, version)]))
        shutil.copytree(Path(new, "data"), "data", dirs_exist_ok=True)
        if mark.parent.exists() and not (mark.exists() and digest in mark.read_text()):
            mark.parent.rename(Path(new, "old"))
        try:
            Path(new, mark.parent).rename(mark.parent)
        except OSError:
            pass  # another notebook was first
"""


def files_cell(data, version):
    """Return the folded cell that carries the files of this version and unpacks them."""
    text = base64.b85encode(data).decode()
    payload = "\n".join(text[start : start + 120] for start in range(0, len(text), 120))
    source = filled(CELL.rstrip(), version, hashlib.sha256(data).hexdigest(), payload=payload)
    metadata = {"cellView": "form", "jupyter": {"source_hidden": True}}
    return nbformat.v4.new_code_cell(source, id="course-files", metadata=metadata)


def text_of(nb):
    """Return a notebook as a file's text; each cell in one string, which is shorter by a tenth."""
    return nbformat.v4.writes(nb, split_lines=False) + "\n"


def carrying(path, course=COURSE):
    """Return a notebook with the cell that carries its files before its first code cell."""
    nb = canonical(read(path), path.name)
    first, *_ = cells = code_cells(nb)
    needed = any("records.gradients" in cell.source for cell in cells)
    data = bundle(course, without=() if needed else (LARGE,))
    nb.cells.insert(nb.cells.index(first), files_cell(data, published(course)[1]))
    return nb


def main(out, course=COURSE):
    out = Path(out).resolve()
    if out.is_relative_to((course / "notebooks").resolve()):
        raise SystemExit(
            f"{out} is inside notebooks/, whose files it would overwrite: choose another."
        )
    out.mkdir(parents=True, exist_ok=True)
    (out / ARCHIVE).write_bytes(bundle(course))
    for path in sorted((course / "notebooks").glob("*.ipynb")):
        (out / path.name).write_text(text_of(carrying(path, course)), encoding="utf-8")
        print(out / path.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
