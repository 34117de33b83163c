"""What a release holds, where it lies, and what the notebooks and the README say of it.

The address and the version stand in pyproject.toml. `notebooks.py --fix` writes badges and setup
cells that follow from them; `colab.py` writes the files that a release carries.
"""

import functools
import hashlib
import io
import re
import tarfile
import tomllib
from pathlib import Path
from string import Template

COURSE = Path(__file__).resolve().parents[1]
COURSE_FILES = ("course_utils/**/*", "data/*.json", "data/clinic/*.py", "data/measurements/*.json")
RANGES = "requirements.txt"  # which `course_utils check` reads
ARCHIVE = "course.tar.bz2"  # bzip2 gives the same bytes everywhere; xz and gzip need not
MARK = "course_utils/bundle.sha256"  # says which files were unpacked; a checkout has none
COLAB, GITHUB = "https://colab.research.google.com", "https://github.com/"
BADGE = re.compile(r"\A(# [^\n]*)(\n\n\[!\[Open in Colab\][^\n]*)?")

# Which files lie beside a notebook: an older release has a lower version, or none; one of the same
# version and another digest gives way too; an empty mark is what an interrupted unpacking leaves.
STALE = f"""\
mark, version = Path("{MARK}"), [$numbers]
kept = mark.read_text().split() if mark.exists() else [digest]
older = digest not in kept and [int(n) for n in kept[1:]] <= version
"""
UNPACK = """\
    shutil.rmtree(mark.parent, ignore_errors=True)
    tarfile.open(fileobj=io.BytesIO(data)).extractall(filter="data")
    mark.write_text(" ".join([digest, *map(str, version)]))
"""
SETUP = """\
import sys
from pathlib import Path

here = Path.cwd()
sys.path[:0] = [str(here), *(str(f) for f in here.parents if (f / "course_utils").is_dir())]
try:
    from course_utils import session
except Exception as error:
    way = "open this notebook in the course's folder, or delete course_utils and get it again"
    raise ImportError(f"course_utils is missing or damaged ({error}): {way}.") from None

root = Path(session.__file__).parents[1]
machine = session.setup($arguments)"""
# curl's deadline is one for all that it does; whatever went wrong, the digest is another then.
FETCH = f"""\
if "COLAB_RELEASE_TAG" in os.environ and (older or not importlib.util.find_spec("course_utils")):
    page = "$address/releases"
    get = ["curl", "-sSfL", "--max-time", "20", f"{{page}}/download/v$version/{ARCHIVE}"]
    got = subprocess.run(get, capture_output=True)
    if hashlib.sha256(data := got.stdout).hexdigest() != digest:
        way = f"run this cell again, or upload a self-contained notebook from {{page}}"
        raise OSError(f"No course files ({{got.stderr.decode().strip() or 'damaged'}}): {{way}}.")
{UNPACK}"""
PUBLISHED = (
    SETUP.replace("sys\n", "hashlib, importlib.util, io, os, shutil, subprocess, sys, tarfile\n", 1)
    .replace("here = Path.cwd()", 'here, digest = Path.cwd(), "$digest"')
    .replace("try:\n", STALE + FETCH + "try:\n")
)


def course_files(course=COURSE):
    """Return the files that a notebook needs, as paths relative to the course folder."""
    found = {path for pattern in COURSE_FILES for path in course.glob(pattern) if path.is_file()}
    names = [path.relative_to(course) for path in sorted(found)]
    return [n for n in names if not any(p.startswith((".", "__pycache__")) for p in n.parts)]


def bundle(course=COURSE, without=()):
    """Return the course's files as the bytes of an archive that depend on nothing but the files."""
    contents = {MARK: b""}  # unpacked first: it is empty until everything is there
    names = (name for name in course_files(course) if name.as_posix() not in without)
    contents |= {name.as_posix(): (course / name).read_bytes() for name in names}
    for ranges in course.glob(RANGES):  # in the package: beside a notebook others may have one
        contents[f"course_utils/{RANGES}"] = ranges.read_bytes()
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:bz2") as files:
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)  # of no time and nobody
            entry.size = len(content)
            files.addfile(entry, io.BytesIO(content))
    return memory.getvalue()


@functools.cache
def published(course=COURSE):
    """Return the course's address and version, and its files' digest ("" without an address)."""
    table = tomllib.loads((course / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = table.get("urls", {}).get("Repository", "").rstrip("/")
    return address, table["version"], hashlib.sha256(bundle(course)).hexdigest() if address else ""


def filled(text, version, digest, **values):
    """Return a cell's text for this release."""
    numbers = ", ".join(version.split("."))
    return Template(text).substitute(values, version=version, numbers=numbers, digest=digest)


def setup_cell(address, version, digest, cpus=None):
    """Return the first code cell of a notebook: with an address it can fetch the release."""
    text, arguments = PUBLISHED if address else SETUP, f"cpus={cpus}" if cpus else ""
    return filled(text, version, digest, address=address, arguments=arguments)


def with_badge(text, notebook, address, version):
    """Return a text under a title with the badge that opens this notebook of the release, or none.

    Colab opens what lies on GitHub, and with a fragment as slides.
    """
    place = address.removeprefix(GITHUB)
    target = f"{COLAB}/github/{place}/blob/v{version}/notebooks/{notebook}"
    badge = f"\n\n[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({target})"
    badge += f" [as slides]({target}#slideshowMode=true)"
    return BADGE.sub(lambda match: match[1] + badge * address.startswith(GITHUB), text)
