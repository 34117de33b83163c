"""What importing the package costs and pulls in, and what its modules may import."""

import ast
import graphlib
import re
import subprocess
import sys

import pytest

from tools import size
from tools.canonical import COURSE

HEAVY = "tensorflow keras matplotlib pandas sklearn jax ml_dtypes IPython".split()


def test_importing_the_package_and_looking_at_the_machine_is_light():
    """It takes some 0.03 s; what could make it slow is looked for by name, not by the clock."""
    code = (
        "import sys; from course_utils import claims, datasets, exercises, formats, gradients;"
        "from course_utils import hardware, loss_scale, numerals, processes, report, session;"
        "hardware.detect(); hardware.recommended_policy(); hardware.workload(hardware.detect());"
        "q = exercises.load('02'); [q[n + 1].check(3) for n in range(len(q.exercises))];"
        "list(map(exercises.load, exercises.available()));"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=COURSE, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def imports():
    """{module: the modules of the course that it imports}, by path from course_utils on."""
    modules = {}
    for path in sorted((COURSE / "course_utils").rglob("*.py")):
        *outer, name = path.relative_to(COURSE).with_suffix("").parts
        modules[(*outer, name) if name != "__init__" else tuple(outer)] = path
    found = {module: set() for module in modules}
    for module, path in modules.items():
        package = module if path.name == "__init__.py" else module[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets = [tuple(alias.name.split(".")) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                start = package[: len(package) - node.level + 1] if node.level else ()
                start += tuple(node.module.split(".")) if node.module else ()
                # A name of a package is a module of it or stands in its __init__.
                named = [(*start, alias.name) for alias in node.names]
                targets = [name if name in modules else start for name in named]
            else:
                continue
            found[module] |= {target for target in targets if target in modules} - {module}
    return found


def rooms(graph):
    """The same for rooms, the modules and packages that stand in course_utils itself."""
    found = {}
    for module, imported in graph.items():
        if len(module) > 1:
            others = {target[1] for target in imported if len(target) > 1} - {module[1]}
            found.setdefault(module[1], set()).update(others)
    return found


def test_imports_only_go_down_the_floors():
    depth = {room: n for n, names in enumerate(size.FLOORS.values()) for room in names}
    found = rooms(imports())
    assert set(found) == set(depth), "every room has a floor"
    assert {"hardware", "models"} <= found["precision"] | found["benchmark"]
    for room, others in found.items():
        assert all(depth[other] >= depth[room] for other in others), (room, others)


def test_no_imports_go_in_a_circle():
    found = imports()
    for graph in (found, rooms(found)):
        graphlib.TopologicalSorter(graph).prepare()  # names a circle
    found["course_utils", "formats"] = {("course_utils", "gradients")}
    for graph in (found, rooms(found)):
        with pytest.raises(graphlib.CycleError):
            graphlib.TopologicalSorter(graph).prepare()


def test_a_size_is_counted_in_tokens_that_no_layout_changes(tmp_path):
    wide = (
        '"""Says it."""\n\n\ndef double(number):\n    """Twice."""\n    return 2 * number  # so\n'
    )
    narrow = wide.replace("double", "d").replace("number", "n").replace("2 * n", "(2\n    * n)")
    counts = []
    for text in (wide, narrow.replace("  # so", ""), "/* so */ .a { color: #fff; } // so"):
        path = tmp_path / ("a.py" if "def" in text else "a.css")
        path.write_text(text)
        counts.append(size.tokens(path))
    assert counts == [10, 12, 9]  # two of them are the brackets


# A folder of the machine that made a file, where a path begins: no address, no part of a picture.
PATH = rf"{re.escape(str(COURSE))}|C:\\+Users|(?<![\w.~/+=-])/(work|root|tmp|home|Users|private)\b"


def test_nothing_in_the_course_names_a_machine():
    for told in ("'/work/x'", "to /tmp", "(/home/me/x)", r'"C:\\Users\\me"'):
        assert re.search(PATH, told)
    for fine in ("bytes/step", "input/work", "https://a.org/home", "../tmp", "+/tmp/A"):
        assert not re.search(PATH, fine)
    for folder in ("course_utils", "notebooks", "data"):
        for path in (COURSE / folder).rglob("*"):
            if path.suffix in (".py", ".ipynb", ".json", ".md"):
                text = path.read_text(encoding="utf-8").replace(r"\n", "\n")
                assert not re.search(PATH, text), path
