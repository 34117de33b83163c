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
    {"accelerators", "energy", "entry", "processes", "table"},
    {"formats", "loss_scale"},
    {"octaves"},
    {"gradients"},
    {"hardware", "datasets", "models", "memory", "replica_safe"},
    {"distributed", "stepping", "training"},
    {"benchmark", "legs", "precision", "timing"},
    {"sweeps"},
    {"measurements"},
    {"recordings", "roofline", "profiling"},
    {"bench", "figures"},
    {"widgets", "explorers"},
    {"claims", "examine", "exercises", "migration", "session", "__main__"},
]


def test_importing_the_package_is_light():
    """It takes some 0.03 s; what could make it slow is looked for by name, not by the clock."""
    code = (
        "import sys, course_utils; from course_utils import exercises, hardware, session;"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


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
        here = path.relative_to(ROOT).with_suffix("").parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom):
                continue
            package = ".".join(here[: len(here) - node.level]) if node.level else ""
            module = ".".join(part for part in (package, node.module) if part)
            for alias in node.names:
                target = f"{module}.{alias.name}".split(".")
                if target[0] == "course_utils":
                    yield here[1], target[1]


def test_imports_only_go_down_the_floors():
    floor = {module: n for n, modules in enumerate(FLOORS) for module in modules}
    seen = {(a, b) for a, b in modules_and_imports() if a not in (b, "__init__")}
    assert {("bench", "sweeps"), ("bench", "datasets")} <= seen
    for module, imported in seen:
        assert floor[imported] < floor[module] or module == "__main__", (module, imported)


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
