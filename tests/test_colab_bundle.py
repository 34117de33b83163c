"""The notebooks for Colab: alone in an empty folder, they bring the course with them."""

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import colab
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

FILES = {
    "pyproject.toml": '[project]\nversion = "0.2.0"\n',
    "course_utils/__init__.py": "ANSWER = 42\n",
    "course_utils/exercises/__init__.py": "",
    "course_utils/explorers/lab.html": "<p>ü</p>\n",
    "course_utils/__pycache__/old.pyc": "x",
    "data/claims.json": "[]\n",
    "data/measurements/cpu.json": "{}\n",
    "data/mnist.npz": "large",
    "data/README.md": "card",
}
IMPORT = "\nimport course_utils; print(course_utils.__file__)"


@pytest.fixture
def course(tmp_path):
    """A small course folder with one notebook."""
    root = tmp_path / "course"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    cells = [new_markdown_cell("# Title", id="title"), new_code_cell("1", id="setup")]
    (root / "notebooks").mkdir()
    nbformat.write(new_notebook(cells=cells), root / "notebooks/00_small.ipynb")
    return root


def run(source, folder):
    """Run code in a folder, as a notebook there would, with nothing else of the course in reach."""
    folder.mkdir(exist_ok=True)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-"]  # by standard input: an argument of 250 kB is too long
    return subprocess.run(
        command, cwd=folder, env=env, input=source, capture_output=True, text=True, timeout=60
    )


def test_a_notebook_alone_brings_the_course_with_it(course, tmp_path):
    assert colab.main(["--out", str(tmp_path / "out")], course) == 0
    nb = nbformat.read(tmp_path / "out/00_small.ipynb", as_version=4)
    nbformat.validate(nb)
    assert [cell.id for cell in nb.cells] == ["title", "course-files", "setup"]
    assert nb.cells[1].metadata == {"cellView": "form", "jupyter": {"source_hidden": True}}
    assert (tmp_path / "out/course.tar.bz2").read_bytes() == colab.bundle(course)
    assert max(map(len, nb.cells[1].source.splitlines())) <= 120

    empty = tmp_path / "empty"
    result = run(nb.cells[1].source + IMPORT, empty)
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()) == empty / "course_utils/__init__.py"
    unpacked = {p.relative_to(empty).as_posix() for p in empty.rglob("*") if p.is_file()}
    wanted = {name for name in FILES if name.endswith((".py", ".html", ".json"))}
    unpacked = {name for name in unpacked if "__pycache__" not in name}
    assert unpacked == wanted | {"course_utils/bundle.sha256"}
    assert (empty / "course_utils/explorers/lab.html").read_text(encoding="utf-8") == "<p>ü</p>\n"


@pytest.mark.parametrize("kept", [0, 9, 119])
def test_damaged_files_are_refused_with_one_sentence(course, tmp_path, kept):
    lines = colab.files_cell(colab.bundle(course), "0.2.0").source.splitlines()
    place = lines.index("packed = '''") + 1
    lines[place] = lines[place][:kept]
    result = run("\n".join(lines), tmp_path / "empty")
    assert result.returncode == 1
    sentence = "ValueError: The course files in this notebook are damaged: download it again."
    assert result.stderr.splitlines()[-1] == sentence
    assert list((tmp_path / "empty").iterdir()) == []


def test_the_same_files_give_the_same_bytes(course):
    first = colab.bundle(course)
    for path in course.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
        path.chmod(0o700)
    assert colab.bundle(course) == first


def test_the_notebooks_folder_itself_is_refused(course, capsys):
    with pytest.raises(SystemExit):
        colab.main(["--out", str(course / "notebooks")], course)
    assert "choose another" in capsys.readouterr().err
    cells = colab.read(course / "notebooks/00_small.ipynb").cells
    assert [cell["id"] for cell in cells] == ["title", "setup"]


def test_the_real_course_imports_from_its_bundle(tmp_path):
    data = colab.bundle()
    names = tarfile.open(fileobj=io.BytesIO(data)).getnames()
    assert "course_utils/__init__.py" in names
    assert all(name.endswith(".json") for name in names if name.startswith("data/"))
    for path in (colab.COURSE / "notebooks").glob("*.ipynb"):
        size = len(colab.text_of(colab.carrying(colab.read(path), data, "0.2.0")).encode())
        assert size <= 500_000, (path.name, size)
    result = run(colab.files_cell(data, "0.2.0").source + IMPORT, tmp_path / "empty")
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).is_relative_to(tmp_path)
