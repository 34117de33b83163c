"""What importing the package costs and pulls in, and what its modules may import."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("tensorflow", "keras", "matplotlib", "pandas", "sklearn", "jax")

# The floors of the house, from the ground up: imports only go down.
FLOORS = [
    {"accelerators"},
    {"hardware", "datasets", "models", "memory"},
    {"stepping"},
    {"benchmark"},
    {"sweeps", "measurements"},
    {"figures"},
    {"widgets"},
    {"exercises", "session", "__main__"},
]


def test_importing_the_package_is_light():
    code = (
        "import sys, time; start = time.perf_counter(); import course_utils;"
        "from course_utils import hardware, session;"
        f"print(time.perf_counter() - start, [m for m in {HEAVY} if m in sys.modules])"
    )
    # The fastest of three: another process may hold the machine for a moment.
    runs = [
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
        for _ in range(3)
    ]
    seconds, heavy = zip(*(r.stdout.strip().split(" ", 1) for r in runs), strict=True)
    assert set(heavy) == {"[]"}
    assert min(map(float, seconds)) < 0.2


def test_detecting_the_hardware_does_not_import_tensorflow():
    code = (
        "import sys; from course_utils import hardware;"
        "hardware.detect(); hardware.recommended_policy(); hardware.workload();"
        "print('tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def modules_and_imports():
    for path in sorted((ROOT / "course_utils").rglob("*.py")):
        name = path.relative_to(ROOT / "course_utils").parts[0].removesuffix(".py")
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_utils"):
                below = (node.module.split(".") + [a.name for a in node.names])[1]
                yield name, below


def test_imports_only_go_down_the_floors():
    floor = {module: n for n, modules in enumerate(FLOORS) for module in modules}
    checked = 0
    for module, imported in modules_and_imports():
        if module in ("__init__", imported):
            continue
        checked += 1
        assert floor[imported] < floor[module] or module == "__main__", (module, imported)
    assert checked > 5


def test_every_module_has_a_floor():
    names = {p.stem if p.is_file() else p.name for p in (ROOT / "course_utils").iterdir()}
    names -= {"__init__", "__pycache__"}
    assert names == set().union(*FLOORS)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "course_utils").rglob("*.py")), ids=lambda p: p.stem
)
def test_public_functions_are_documented(path):
    for node in ast.walk(ast.parse(path.read_text())):
        is_public = isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_"
        if is_public and node.col_offset == 0:
            assert ast.get_docstring(node), f"{path.name}: {node.name} has no docstring"


def test_nothing_in_the_course_names_a_machine():
    """No path of somebody's machine in what is shipped."""
    pattern = re.compile(r"(?<![\w.])/(?:work|root|home/\w+|tmp)/")
    for folder in ("course_utils", "notebooks", "data"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".ipynb", ".json", ".md"):
                assert not pattern.search(path.read_text(encoding="utf-8")), path
