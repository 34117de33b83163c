"""The setup cell finds the course, fetches it, or says what to do; copies for Colab bring it."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from helpers.unreliable import Server, serving
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import course_utils
from tools import colab, notebooks, release

PUBLISHED = '\n[project.urls]\nRepository = "https://github.com/ana/course/"\n'
SESSION = (
    "import course_utils\ndef setup(**options):\n    print({!r}, options)\n    return 'machine'\n"
)
PAGE = "/releases/download/v{}/course.tar.bz2"


def make_course(root, version="0.2.0", says="ours"):
    """Make a small course whose setup() prints what it is told to, and files that are no part."""
    files = {
        "pyproject.toml": f'[project]\nversion = "{version}"\n',
        "README.md": "# Course\n\nText.",
    }
    files |= {"course_utils/session.py": SESSION.format(says), f"course_utils/of_{says}.py": ""}
    files |= {f"course_utils/{name}": "# ü\n" for name in ("__init__.py", "lab.html")}
    files |= {"course_utils/exercises/__init__.py": "", "course_utils/__pycache__/old.pyc": ""}
    files |= {"data/claims.json": "[]", "data/mnist.npz": "", "data/README.md": ""}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    cells = [new_markdown_cell("# A title\n\nText.", id="title"), new_code_cell("1", id="setup")]
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


def cells(course, address):
    """Return the two ways by which a notebook of this course brings it to Colab."""
    data, version = release.bundle(course), release.published(course)[1]
    Server.files[PAGE.format(version)] = data
    fetch = release.setup_cell(address, version, release.hashlib.sha256(data).hexdigest())
    carry = f"{colab.files_cell(data, version).source}\n{release.setup_cell('', version, '')}"
    return {"fetch": fetch, "carry": carry}


def run(cell, folder, tmp_path, on_colab=True, **variables):
    """Run a cell's text as Colab would in this folder: nothing but curl can be called there."""
    folder.mkdir(exist_ok=True)
    (tmp_path / "bin").mkdir(exist_ok=True)
    if not (tmp_path / "bin/curl").exists():
        (tmp_path / "bin/curl").symlink_to(shutil.which("curl"))
    env = {"PATH": str(tmp_path / "bin"), **variables}
    env |= {"COLAB_RELEASE_TAG": "ci"} if on_colab else {}
    options = {"cwd": folder, "env": env, "capture_output": True, "text": True, "timeout": 30}
    return subprocess.run([sys.executable, "-"], input=cell, **options)


def printed(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_release_is_fetched_once_without_git_and_then_used(course, server, tmp_path):
    cell = cells(course, server)["fetch"]
    for _ in range(2):
        assert printed(run(cell, tmp_path / "empty", tmp_path)) == "ours {}\n"
    assert Server.asked == [PAGE.format("0.2.0")]
    assert (tmp_path / "empty/data/claims.json").exists()
    assert "missing" in run(cell, tmp_path / "b", tmp_path, on_colab=False).stderr


WRONG = {"stalls": "(28)", "trickles": "(28)", "truncates": "(18)", "corrupts": "damaged"}
WRONG |= {"refuses": "404", "is not there": "(7)"}


@pytest.mark.parametrize(("does", "why"), WRONG.items())
def test_what_does_not_arrive_whole_and_in_time_is_one_sentence(
    does, why, course, server, tmp_path, monkeypatch
):
    monkeypatch.setattr(Server, "does", does)
    cell = cells(course, server)["fetch"]
    assert '"--max-time", "20"' in cell
    if does == "is not there":
        cell = cell.replace(server, "http://127.0.0.1:9")
    result = run(cell.replace('"20"', '"1"'), tmp_path / "empty", tmp_path)
    last = result.stderr.splitlines()[-1]
    assert result.returncode == 1 and result.stderr.count("Traceback") == 1
    assert last.startswith("OSError: No course files (") and why in last
    assert "/releases." in last and "upload a self-contained notebook" in last
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize("way", ["fetch", "carry"])
def test_the_newer_of_two_copies_wins_and_a_checkout_is_left_alone(way, server, tmp_path):
    old, new, empty = (tmp_path / name for name in ("old", "new", "empty"))
    older = cells(make_course(old, "0.9.0", "old"), server)[way]
    newer = cells(make_course(new, "0.10.0", "new"), server)[way]
    says = [run(cell, empty, tmp_path) for cell in (older, newer, older)]
    assert [printed(result) for result in says] == ["old {}\n", "new {}\n", "new {}\n"]
    assert not (empty / "course_utils/of_old.py").exists()

    (empty / "course_utils/session.py").write_text(SESSION.format("mine"))
    assert printed(run(newer, empty, tmp_path)) == "mine {}\n"  # what the learner changed is kept
    other = cells(make_course(new, "0.10.0", "other"), server)[way]
    assert printed(run(other, empty, tmp_path)) == "other {}\n"  # of one version, the notebook's
    for mark in ("", "0" * 64):  # an interrupted unpacking, and a copy from before versions
        (empty / release.MARK).write_text(mark)
        (empty / "course_utils/session.py").unlink()
        assert printed(run(other, empty, tmp_path)) == "other {}\n"
    (empty / release.MARK).unlink()
    assert printed(run(newer, empty, tmp_path)) == "other {}\n"  # a checkout has no mark


def test_two_notebooks_that_start_together_import_a_whole_package(course, server, tmp_path):
    for n in range(200):  # what takes a while to unpack
        (course / f"course_utils/of_{n}.py").write_text("x = 1\n" * 5000)
    imports = "\n".join(f"import course_utils.of_{n}" for n in range(200))
    cell = f"{cells(course, server)['carry']}\n{imports}"
    run("", tmp_path / "first", tmp_path)
    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(lambda _: run(cell, tmp_path / "empty", tmp_path), range(3)))
    assert [printed(result) for result in runs] == ["ours {}\n"] * 3
    assert not [path.name for path in (tmp_path / "empty").iterdir() if path.name[:3] == "tmp"]


@pytest.mark.parametrize("way", ["fetch", "carry"])
@pytest.mark.parametrize("damage", ["x = (", "import course_utils.none", "\0", "1 / 0", None])
def test_a_damaged_copy_is_one_sentence_and_mended_by_deleting_it(
    way, damage, course, server, tmp_path
):
    cell, empty = cells(course, server)[way], tmp_path / "empty"
    run(cell, empty, tmp_path)
    session = empty / "course_utils/session.py"
    session.write_text(damage) if damage else session.unlink()
    result = run(cell, empty, tmp_path)
    last = result.stderr.splitlines()[-1]
    assert last.startswith("ImportError: course_utils is missing or damaged (")
    assert "delete course_utils" in last and result.stderr.count("Traceback") == 1
    shutil.rmtree(session.parent)
    assert printed(run(cell, empty, tmp_path)) == "ours {}\n"


@pytest.mark.parametrize("address", ["", "http://127.0.0.1:9"])
def test_the_course_is_found_beside_above_and_installed(address, course, tmp_path):
    cell = release.setup_cell(address, "0.2.0", "0" * 64, cpus=2)
    where = "\nprint(root)"
    for folder in (course, course / "notebooks"):
        for on_colab in (True, False):
            result = run(cell + where, folder, tmp_path, on_colab)
            assert printed(result) == f"ours {{'cpus': 2}}\n{course}\n"
    installed = run(cell + where, tmp_path / "empty", tmp_path, PYTHONPATH=str(course))
    assert printed(installed) == f"ours {{'cpus': 2}}\n{course}\n"


def test_an_address_writes_badges_and_setup_cells_and_takes_them_back(
    course, tmp_path, monkeypatch, capsys
):
    read = release.published.__wrapped__  # each time anew
    monkeypatch.setattr(release, "published", lambda: read(course))
    unpublished = (course / "pyproject.toml").read_text()
    files = [course / "README.md", *(course / f"notebooks/{d}00_a.ipynb" for d in ("", "solved/"))]

    def tool(what):
        notebooks.main([what], course / "notebooks")
        wanted = "its badge", "its source", "does not follow", "at most"
        return sum(any(w in line for w in wanted) for line in capsys.readouterr().out.splitlines())

    tool("--fix")
    assert tool("--check") == 0
    before = [path.read_text() for path in files]
    assert not any("http" in text or "Open in Colab" in text for text in before)
    (course / "pyproject.toml").write_text(unpublished + PUBLISHED)
    assert tool("--check") == 5  # a title and a setup cell in either notebook, and the README
    tool("--fix")
    assert tool("--check") == 0
    target = "https://colab.research.google.com/github/ana/course/blob/v0.2.0/notebooks/00_a.ipynb"
    for path in files:
        for fragment in ("", "#slideshowMode=true"):
            assert path.read_text().count(f"]({target}{fragment})") == 1, path
    for path in files[1:]:
        title, setup, _ = nbformat.read(path, 4).cells
        assert title.source.startswith("# A title\n\n[![") and title.source.endswith("\n\nText.")
        assert "https://github.com/ana/course/releases" in setup.source
        assert release.hashlib.sha256(release.bundle(course)).hexdigest() in setup.source
        assert len(setup.source.splitlines()) <= 26
    (course / "course_utils/later.py").touch()  # the copies for a release are those of its files
    colab.main(tmp_path / "out", course)
    _, _, setup, _ = nbformat.read(tmp_path / "out/00_a.ipynb", 4).cells
    assert release.hashlib.sha256(release.bundle(course)).hexdigest() in setup.source
    (course / "pyproject.toml").write_text(unpublished)
    capsys.readouterr()
    tool("--fix")
    assert [path.read_text() for path in files] == before


def test_the_version_stands_in_one_more_place_and_is_the_same(tmp_path):
    table = tomllib.loads((colab.COURSE / "pyproject.toml").read_text())
    assert table["project"]["version"] == course_utils.__version__
    assert len(release.setup_cell("", "0.1.0", "").splitlines()) <= 15


# The notebooks for Colab: alone in an empty folder, they bring the course with them


def test_a_notebook_alone_brings_the_course_with_it(course, tmp_path):
    colab.main(tmp_path / "out", course)
    nb = nbformat.read(tmp_path / "out/00_a.ipynb", as_version=4)
    nbformat.validate(nb)
    assert [cell.id for cell in nb.cells] == ["title", "course-files", "setup"]
    assert nb.cells[1].metadata == {"cellView": "form", "jupyter": {"source_hidden": True}}
    assert (tmp_path / "out/course.tar.bz2").read_bytes() == release.bundle(course)
    assert max(map(len, nb.cells[1].source.splitlines())) <= 120
    empty = tmp_path / "empty"
    printed(run(nb.cells[1].source, empty, tmp_path))
    unpacked = {p.relative_to(empty).as_posix() for p in empty.rglob("*") if p.is_file()}
    ours = ("__init__.py", "bundle.sha256", "exercises/__init__.py", "lab.html", "of_ours.py")
    ours = {f"course_utils/{name}" for name in (*ours, "session.py")}
    assert unpacked == ours | {"data/claims.json"}
    assert (empty / "course_utils/lab.html").read_text(encoding="utf-8") == "# ü\n"


@pytest.mark.parametrize("kept", [0, 9, 119])
def test_damaged_files_are_refused_with_one_sentence(course, tmp_path, kept):
    lines = colab.files_cell(release.bundle(course), "0.2.0").source.splitlines()
    place = lines.index("packed = '''") + 1
    lines[place] = lines[place][:kept]
    result = run("\n".join(lines), tmp_path / "empty", tmp_path)
    assert result.returncode == 1
    sentence = "ValueError: The course files in this notebook are damaged: download it again."
    assert result.stderr.splitlines()[-1] == sentence
    assert list((tmp_path / "empty").iterdir()) == []


def test_the_same_files_give_the_same_bytes_of_which_the_first_are_the_empty_mark(course):
    first = release.bundle(course)
    mark = tarfile.open(fileobj=release.io.BytesIO(first)).next()
    assert (mark.name, mark.size) == (release.MARK, 0)
    for path in course.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
        path.chmod(0o700)
    assert release.bundle(course) == first


def test_the_notebooks_folder_itself_is_refused(course):
    with pytest.raises(SystemExit, match="choose another"):
        colab.main(course / "notebooks", course)
    assert "course-files" not in (course / "notebooks/00_a.ipynb").read_text()


def test_the_real_course_s_bundle_holds_what_is_needed_and_is_small():
    names = tarfile.open(fileobj=release.io.BytesIO(release.bundle())).getnames()
    data_files = [name for name in names if name.startswith("data/")]
    assert all(name.endswith(".json") or "clinic/" in name for name in data_files)
    assert "course_utils/requirements.txt" in names  # for `check`
    for path in (colab.COURSE / "notebooks").glob("*.ipynb"):
        size = len(colab.text_of(colab.carrying(path)).encode())
        assert size <= 500_000, (path.name, size)
