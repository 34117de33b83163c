"""The setup cell installs the release on Colab, and copies of notebooks for Colab bring
it.
"""

import os
import subprocess
import time
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from helpers.unreliable import Server, serving
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import course_utils
from tools import notebooks, publishing, release

PUBLISHED = '\n[project.urls]\nRepository = "{}"\n'
SESSION = """\
import course_utils

def setup(**options):
    print({!r}, options)
    return "machine"
"""
PAGE = "/releases/download/v{}/mixed_precision_measured-{}-py3-none-any.whl"
RUN = """\
import sys
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance(colors="nocolor").run_cell(sys.stdin.read()).raise_error()
"""


def make_course(root, version="0.2.0", says="ours", address=""):
    """Make a small course whose setup() prints what it is told to, and files that are
    no part.
    """
    settings = (publishing.COURSE / "pyproject.toml").read_text(encoding="utf-8")
    settings = settings.replace('version = "0.1.0"', f'version = "{version}"')
    files = {
        "pyproject.toml": settings + PUBLISHED.format(address) * bool(address),
        "requirements.txt": "gfloat\n-e .\n",
        "README.md": "# Course\n\nText.",
        ".gitignore": "data/mnist.npz\n",
    }
    files |= {
        "course_utils/session.py": SESSION.format(says),
        f"course_utils/of_{says}.py": "",
    }
    files |= {f"course_utils/{name}": "# ü\n" for name in ("__init__.py", "lab.html")}
    files |= {
        "course_utils/exercises/__init__.py": "",
        "course_utils/__pycache__/old.pyc": "",
    }
    files |= {"data/claims.json": "[]", "data/mnist.npz": ""}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    cells = [
        new_markdown_cell("# A title\n\nText.", id="title"),
        new_code_cell("1", id="setup"),
    ]
    for folder in ("notebooks", "notebooks/solved"):
        (root / folder).mkdir(exist_ok=True)
        nbformat.write(new_notebook(cells=cells), root / folder / "00_a.ipynb")
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

    def run(cell, on_colab=True, seconds=60):
        variables = env | {"COLAB_RELEASE_TAG": "ci"} if on_colab else env
        options = {"cwd": tmp_path / "empty", "env": variables, "capture_output": True}
        options["timeout"] = seconds
        return subprocess.run([python, "-c", RUN], input=cell, text=True, **options)

    return run


def cells(course):
    """Return the two ways by which a notebook of this course brings it to Colab."""
    name, data = publishing.wheel(course)
    address, version = publishing.published(course)
    Server.files[PAGE.format(version, version)] = data
    carry = f"{release.files_cell(name, data).source}\n{publishing.SETUP.format('')}"
    return {"fetch": publishing.setup_cell(course), "carry": carry}


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


def test_the_release_is_fetched_on_colab_and_there_alone(server, tmp_path, kernel):
    cell = cells(make_course(tmp_path / "course", address=server))["fetch"]
    missing = kernel(cell, on_colab=False)
    assert "No module named 'course_utils'" in missing.stdout and Server.asked == []
    for _ in range(2):
        assert printed(kernel(cell)) == "ours {}"
    assert set(Server.asked) == {PAGE.format("0.2.0", "0.2.0")}


def test_what_does_not_arrive_whole_is_not_installed(
    server, tmp_path, kernel, monkeypatch
):
    monkeypatch.setattr(Server, "does", "corrupts")
    result = kernel(cells(make_course(tmp_path / "course", address=server))["fetch"])
    assert "DO NOT MATCH THE HASHES" in result.stdout + result.stderr
    assert result.returncode == 1 and "No module named 'course_utils'" in result.stdout


@pytest.mark.parametrize("way", ["fetch", "carry"])
def test_each_notebook_gets_the_release_that_it_is_of(way, server, tmp_path, kernel):
    older = cells(make_course(tmp_path / "old", "0.9.0", "old", server))[way]
    newer = cells(make_course(tmp_path / "new", "0.10.0", "new", server))[way]
    assert [printed(kernel(cell)) for cell in (older, newer)] == ["old {}", "new {}"]
    (package,) = (tmp_path / "own").rglob("course_utils")
    assert not (package / "of_old.py").exists()
    # also of one version, and what is there is not installed once more
    if way == "carry":
        other = cells(make_course(tmp_path / "other", "0.10.0", "other", server))[way]
        assert printed(kernel(other)) == "other {}"
        (package / "session.py").write_text(SESSION.format("mine"))
        assert printed(kernel(other)) == "mine {}"


def test_a_checkout_that_is_installed_is_left_alone(course, tmp_path, kernel):
    checkout = make_course(tmp_path / "checkout", says="checkout")
    options = "--quiet --no-deps --no-build-isolation --no-index"
    kernel(f'%pip install {options} -e "{checkout}"')
    assert printed(kernel(publishing.SETUP.format("cpus=2"))) == "checkout {'cpus': 2}"
    assert printed(kernel(cells(course)["carry"])) == "checkout {}"


def test_a_cell_that_was_killed_while_it_installed_installs_when_it_runs_again(
    course, tmp_path, kernel
):
    older = cells(make_course(tmp_path / "old", "0.9.0", "old"))["carry"]
    large(course)
    cell = cells(course)["carry"]
    assert printed(kernel(older)) == "old {}"
    start = time.perf_counter()
    assert printed(kernel(cell)) == "ours {}"
    whole = time.perf_counter() - start
    kernel(older)
    with pytest.raises(subprocess.TimeoutExpired):  # which kills it
        kernel(cell, seconds=0.6 * whole)
    assert printed(kernel(cell)) == "ours {}"


def test_two_notebooks_that_start_together_import_a_whole_package(course, kernel):
    imports = large(course)
    cell = f"{cells(course)['carry']}\n{imports}"

    def start(n):
        time.sleep(0.3 * n)  # one imports while the next would install
        return kernel(cell)

    with ThreadPoolExecutor(5) as pool:
        results = list(pool.map(start, range(5)))
    assert [printed(result) for result in results] == ["ours {}"] * 5


def test_an_address_writes_badges_and_setup_cells_and_takes_them_back(
    course, monkeypatch, capsys
):
    for name in ("published", "wheel"):  # each time anew
        read = getattr(publishing, name).__wrapped__
        monkeypatch.setattr(publishing, name, lambda *_, read=read: read(course))
    unpublished = (course / "pyproject.toml").read_text()
    files = [
        course / "README.md",
        *(course / f"notebooks/{d}00_a.ipynb" for d in ("", "solved/")),
    ]

    def fix():
        notebooks.main(["--fix"], course / "notebooks")
        return [path.read_text() for path in files]

    before = fix()
    assert not any("http" in text or "Open in Colab" in text for text in before)
    (course / "pyproject.toml").write_text(
        unpublished + PUBLISHED.format("https://github.com/ana/course/")
    )
    notebooks.main(["--check"], course / "notebooks")
    told = capsys.readouterr().out
    for cell in ("title", "setup"):
        assert f"00_a.ipynb: cell '{cell}' is not what --fix would write" in told
    fix()
    target = "https://colab.research.google.com/github/ana/course/blob/v0.2.0/notebooks/00_a.ipynb"
    for path in files:
        for fragment in ("", "#slideshowMode=true"):
            assert path.read_text().count(f"]({target}{fragment})") == 1, path
    for path in files[1:]:
        title, setup, _ = nbformat.read(path, 4).cells
        assert title.source.startswith("# A title\n\n[![") and title.source.endswith(
            "\n\nText."
        )
        assert "https://github.com/ana/course/releases" in setup.source
        digest = publishing.hashlib.sha256(publishing.wheel(course)[1]).hexdigest()
        assert f"#sha256={digest}\n" in setup.source
    (course / "pyproject.toml").write_text(unpublished)
    assert fix() == before


def test_the_version_stands_in_one_more_place_and_is_the_same():
    table = tomllib.loads((publishing.COURSE / "pyproject.toml").read_text())
    assert table["project"]["version"] == course_utils.__version__
    assert len(publishing.setup_cell().splitlines()) == 3


# The notebooks for Colab: alone in an empty folder, they bring the course with them


def test_a_notebook_alone_brings_the_course_with_it(course, tmp_path, kernel):
    release.main(tmp_path / "out", course)
    nb = nbformat.read(tmp_path / "out/00_a.ipynb", as_version=4)
    nbformat.validate(nb)
    assert [cell.id for cell in nb.cells] == ["title", "course-files", "setup"]
    assert nb.cells[2].source == publishing.SETUP.format("")
    assert nb.cells[1].metadata == {
        "cellView": "form",
        "jupyter": {"source_hidden": True},
    }
    name, data = publishing.wheel(course)
    assert (tmp_path / "out" / name).read_bytes() == data
    assert max(map(len, nb.cells[1].source.splitlines())) <= 120
    assert kernel(nb.cells[1].source).returncode == 0
    (package,) = (tmp_path / "own").rglob("course_utils")
    assert (package / "data/claims.json").exists()
    assert not (package / "data/mnist.npz").exists()
    assert (package / "lab.html").read_text(encoding="utf-8") == "# ü\n"
    assert list((tmp_path / "empty").iterdir()) == []


def test_damaged_files_are_refused_with_one_sentence(course, kernel):
    source = release.files_cell(*publishing.wheel(course)).source
    result = kernel(source.replace("packed = '''\n", "packed = '''\n0"))
    assert result.returncode == 1
    sentence = "ValueError: The files in this notebook are damaged: download it again."
    assert result.stdout.splitlines()[-1] == sentence


def test_the_same_files_give_the_same_wheel(course):
    first = publishing.wheel.__wrapped__(course)
    for path in course.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    assert publishing.wheel.__wrapped__(course) == first


def test_the_real_course_s_wheel_holds_what_is_needed_and_is_small(tmp_path):
    name, data = publishing.wheel()
    (tmp_path / name).write_bytes(data)
    names = set(zipfile.ZipFile(tmp_path / name).namelist())
    places = {"course_utils": "course_utils", "data": "course_utils/data"}
    wanted = {
        f"{place}/{path.relative_to(publishing.COURSE / folder).as_posix()}"
        for folder, place in places.items()
        for path in (publishing.COURSE / folder).rglob("*")
        if path.is_file() and not {"__pycache__", "own", "mnist.npz"} & set(path.parts)
    }
    assert {name for name in names if ".dist-info/" not in name} == wanted
    files = release.files_cell(name, data)
    for path in (publishing.COURSE / "notebooks").glob("*.ipynb"):
        size = len(release.text_of(release.carrying(path, files)).encode())
        assert size <= 600_000, (path.name, size)
