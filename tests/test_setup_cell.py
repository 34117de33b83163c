"""The setup cell installs the release on Colab, and copies of notebooks for Colab bring
it.
"""

import hashlib
import io
import os
import signal
import subprocess
import symtable
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from helpers.unreliable import Server, serving
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import canonical_form, notebooks, publishing, release
from tools.publishing import COURSE

PUBLISHED = '\n[project.urls]\nRepository = "{}"\n'
# in data/, read for pages of docs, or by people, alone
UNPACKED = {
    "README.md",
    "bias_trainings.json",
    "bias_trainings_avx2.json",
    "casts.json",
    "engine_sums.json",
    "drills.json",
    "files.json",
    "migration.json",
    "scalers.json",
}
SESSION = """\
import mixed_precision_lint

def setup(**options):
    print({!r}, options, *mixed_precision_lint.ours)
    return "machine"
"""
PAGE = "/releases/download/v{}/{}"
LINTER = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "mixed-precision-lint"
version = "0.1.0"
[tool.hatch.build.targets.wheel]
dev-mode-dirs = ["."]
"""
RUN = """\
import sys
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance(colors="nocolor").run_cell(sys.stdin.read()).raise_error()
"""

# A kernel's end, as soon as pip has written a file
DIES = """\
import os, signal, threading, time

def die():
    while not os.path.exists({!r}):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=die, daemon=True).start()
"""


def make_course(root, version="0.2.0", says="ours", address=""):
    """Make a small course whose setup() prints what it is told to, and files that are
    no part.
    """
    settings = (COURSE / "pyproject.toml").read_text(encoding="utf-8")
    settings = settings.replace('version = "0.1.0"', f'version = "{version}"')
    files = {
        "pyproject.toml": settings + PUBLISHED.format(address) * bool(address),
        "requirements.txt": "gfloat\n-e .\n",
        "README.md": "# Course\n\nText.",
        ".gitignore": "data/mnist.npz\n",
        "linter/pyproject.toml": LINTER,
        "linter/mixed_precision_lint/__init__.py": "ours = ()\n",
        "course_utils/__init__.py": "# ü\n",
        "course_utils/session.py": SESSION.format(says),
        f"course_utils/of_{says}.py": "",
        "data/claims.json": "[]",
        "data/mnist.npz": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    title = new_markdown_cell("# A title\n\nText.", id="title")
    (root / "notebooks/solved").mkdir(parents=True)
    nb = new_notebook(cells=[title, new_code_cell("1", id="setup")])
    nbformat.write(nb, root / "notebooks/00_a.ipynb")
    solved = canonical_form.solution_form(nb, "00_a.ipynb")
    nbformat.write(solved, root / "notebooks/solved/00_a.ipynb")
    return root


@pytest.fixture
def course(tmp_path):
    return make_course(tmp_path / "course")


@pytest.fixture
def server(monkeypatch):
    with serving(monkeypatch) as address:
        yield address


@pytest.fixture
def kernel(own_python, tmp_path):
    """Run a cell's text as Colab would: a Python with pip and packages, and without the
    course.
    """
    python, env = own_python
    (tmp_path / "empty").mkdir()
    env |= {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    env |= {"PIP_RETRIES": "0", "PIP_TIMEOUT": "1", "PIP_CONFIG_FILE": os.devnull}

    def run(cell, on_colab=True, captured=True):
        variables = env | {"COLAB_RELEASE_TAG": "ci"} if on_colab else env
        options = {
            "cwd": tmp_path / "empty",
            "env": variables,
            "capture_output": captured,
        }
        options |= {"text": True, "timeout": 60}
        return subprocess.run([python, "-c", RUN], input=cell, **options)

    return run


def cells(course):
    """Return the two ways by which a notebook of this course brings it to Colab."""
    both = publishing.wheels(course)
    address, version = publishing.published(course)
    Server.files |= {PAGE.format(version, name): data for name, data in both.items()}
    carry = f"{release.files_cell(both).source}\n{publishing.SETUP.format('')}"
    return {"fetch": publishing.setup_cell(course), "carry": carry}


def linter(tmp_path):
    """Write the wheel of another release's linter, and return its path."""
    root = make_course(tmp_path / "other linter")
    init = root / "linter/mixed_precision_lint/__init__.py"
    init.write_text("ours = ('of another release',)\n")
    name, data = next(iter(publishing.wheels(root).items()))
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


def large(course):
    """Give a course 200 files that take a while to install; return lines that import
    them.
    """
    names = [f"of_{n}" for n in range(200)]
    for name in names:
        (course / f"course_utils/{name}.py").write_text("x = 1\n" * 5000)
    return "\n".join(f"import course_utils.{name}" for name in names)


def printed(result):
    """Return the last line, which setup() prints."""
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines()[-1]


def test_what_does_not_arrive_whole_is_not_installed(
    server, tmp_path, kernel, monkeypatch
):
    monkeypatch.setattr(Server, "does", "corrupts")
    result = kernel(cells(make_course(tmp_path / "course", address=server))["fetch"])
    assert "DO NOT MATCH THE HASHES" in result.stdout + result.stderr
    assert result.returncode == 1 and "No module named 'course_utils'" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("way", ["fetch", "carry"])
def test_each_notebook_gets_the_release_that_it_is_of(way, server, tmp_path, kernel):
    older = cells(make_course(tmp_path / "old", "0.9.0", "old", server))[way]
    newer = cells(make_course(tmp_path / "new", "0.10.0", "new", server))[way]
    if way == "fetch":  # on Colab, and there alone
        missing = kernel(older, on_colab=False).stdout
        assert "No module named 'course_utils'" in missing and Server.asked == []
    assert [printed(kernel(cell)) for cell in (older, newer)] == ["old {}", "new {}"]
    (package,) = (tmp_path / "own").rglob("course_utils")
    assert not (package / "of_old.py").exists()
    # also of one version, and what is there is not installed once more
    if way == "carry":
        other = cells(make_course(tmp_path / "other", "0.10.0", "other", server))[way]
        assert printed(kernel(other)) == "other {}"
        (package / "session.py").write_text(SESSION.format("mine"))
        assert printed(kernel(other)) == "mine {}"
        # half of the pair is of another release
        kernel(f'%pip install --quiet --no-deps --no-index "{linter(tmp_path)}"')
        assert printed(kernel(newer)) == "new {}"


def test_a_checkout_that_is_installed_is_left_alone(course, tmp_path, kernel):
    checkout = make_course(tmp_path / "checkout", says="checkout")
    options = "--quiet --no-deps --no-build-isolation --no-index"
    kernel(f'%pip install {options} -e "{checkout}" -e "{checkout}/linter"')
    assert printed(kernel(publishing.SETUP.format("cpus=2"))) == "checkout {'cpus': 2}"
    assert printed(kernel(cells(course)["carry"])) == "checkout {}"


@pytest.mark.slow
def test_a_cell_that_was_killed_while_it_installed_installs_when_it_runs_again(
    course, tmp_path, kernel
):
    older = cells(make_course(tmp_path / "old", "0.9.0", "old"))["carry"]
    large(course)
    cell = cells(course)["carry"]
    assert printed(kernel(older)) == "old {}"
    (package,) = (tmp_path / "own").rglob("course_utils")
    killed = DIES.format(str(package / "of_1.py")) + cell
    assert kernel(killed, captured=False).returncode == -signal.SIGKILL
    assert printed(kernel(cell)) == "ours {}"


@pytest.mark.slow
def test_two_notebooks_that_start_together_import_a_whole_package(course, kernel):
    imports = large(course)
    cell = f"{cells(course)['carry']}\n{imports}"

    def start(n):
        time.sleep(0.3 * n)  # one imports while the next would install
        return kernel(cell)

    with ThreadPoolExecutor(5) as pool:
        results = list(pool.map(start, range(5)))
    assert [printed(result) for result in results] == ["ours {}"] * 5


def test_an_address_writes_badges_and_the_setup_cell_and_takes_them_back(monkeypatch):
    path = COURSE / "notebooks/00_start_here.ipynb"
    before = canonical_form.read(path)
    address = "https://github.com/ana/course"
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "published", lambda *_: (address, "0.2.0"))
        nb = canonical_form.canonical(before, path.name)
        _, _, readme = next(notebooks.timed(path.parent, []))
    place = "github/ana/course/blob/v0.2.0/notebooks/00_start_here.ipynb"
    target = f"https://colab.research.google.com/{place}"
    for text in (nb.cells[0].source, readme):
        for fragment in ("", "#slideshowMode=true"):
            assert text.count(f"]({target}{fragment})") == 1
    setup, *_ = canonical_form.code_cells(nb)
    assert f'"{address}/releases/download/v0.2.0"' in setup.source
    for name, data in publishing.wheels().items():
        digest = hashlib.sha256(data).hexdigest()
        assert f" {{release}}/{name}#sha256={digest}" in setup.source
    assert canonical_form.canonical(nb, path.name) == before


# The notebooks for Colab: alone in an empty folder, they bring the course with them


def test_a_notebook_alone_brings_the_course_with_it(course, tmp_path, kernel):
    release.main(tmp_path / "out", course)
    for name, data in publishing.wheels(course).items():
        assert (tmp_path / "out" / name).read_bytes() == data
    nb = nbformat.read(tmp_path / "out/00_a.ipynb", as_version=4)
    nbformat.validate(nb)
    _, carried, setup = nb.cells
    assert setup.source == publishing.SETUP.format("")
    assert max(map(len, carried.source.splitlines())) <= 120
    assert kernel(carried.source).returncode == 0
    (package,) = (tmp_path / "own").rglob("course_utils")
    assert {path.name for path in (package / "data").iterdir()} == {"claims.json"}
    assert (package / "__init__.py").read_text(encoding="utf-8") == "# ü\n"
    assert list((tmp_path / "empty").iterdir()) == []


def test_damaged_files_are_refused_with_one_sentence(course, kernel):
    source = release.files_cell(publishing.wheels(course)).source
    result = kernel(source.replace("('''\n", "('''\n0"))
    assert result.returncode == 1
    sentence = "ValueError: The files in this notebook are damaged: download it again."
    assert result.stdout.splitlines()[-1] == sentence


def test_a_notebook_keeps_its_names_where_the_files_are_installed_again(course):
    source = release.files_cell(publishing.wheels(course)).source
    names = symtable.symtable(source, "cell", "exec").get_symbols()
    own = {name.get_name() for name in names if name.is_assigned()}
    assert own == {"install_course_files"}


def test_the_same_files_give_the_same_wheel(course):
    first = publishing.wheels.__wrapped__(course)
    for path in course.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    assert publishing.wheels.__wrapped__(course) == first


def test_the_real_course_s_wheel_holds_what_is_needed_and_is_small():
    wheels = publishing.wheels()
    files = [zipfile.ZipFile(io.BytesIO(data)) for data in wheels.values()]
    names = {name for file in files for name in file.namelist()}
    places = {
        "course_utils": "course_utils",
        "data": "course_utils/data",
        "linter/mixed_precision_lint": "mixed_precision_lint",
    }
    for folder, place in places.items():
        for path in (COURSE / folder).rglob("*"):
            own = {"__pycache__", "own", "mnist.npz"} & set(path.parts)
            if path.parent == COURSE / "data":
                own |= {path.name} & UNPACKED
            own |= {path.suffix} & {".css", ".mjs"}  # their bundles are there
            inside = f"{place}/{path.relative_to(COURSE / folder)}"
            assert path.is_dir() or (inside in names) != bool(own), path
    files = release.files_cell(wheels)
    for path in (COURSE / "notebooks").glob("*.ipynb"):
        text = release.text_of(release.carrying(path, files))
        assert len(text.encode()) <= 600_000, path.name
