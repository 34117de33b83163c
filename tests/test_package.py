"""What importing the package costs and pulls in, how large it is, and what it names."""

import ast
import re
import subprocess
import sys
import textwrap

from tools import size
from tools.canonical_form import COURSE

HEAVY = "tensorflow keras matplotlib pandas sklearn jax ml_dtypes IPython".split()


def test_importing_the_package_and_looking_at_the_machine_is_light():
    """It takes some 0.03 s; what could make it slow is looked for by name, not by the
    clock.
    """
    code = (
        "import sys; from course_utils import claims, datasets, exercises, formats, gradients;"
        "from course_utils import hardware, processes, report, session;"
        "hardware.detect(); hardware.recommended_policy(); hardware.workload(hardware.detect());"
        "q = exercises.load('02'); [q[n + 1].check(3) for n in range(len(q.exercises))];"
        "list(map(exercises.load, exercises.available()));"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=COURSE, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_course_is_no_larger_than_it_may_be():
    for folder, most in size.MOST.items():
        rooms = size.rooms(folder)
        more = rooms.total() - most
        assert more <= 0, f"{folder} has {more} tokens too many: see `make size`"
        if folder == "course_utils":  # in the linter each module is one of these
            assert len([room for room in rooms if not room.startswith("__")]) <= 27
        for path in size.sizes(COURSE / folder):
            lines = (COURSE / folder / path).read_text(encoding="utf-8").splitlines()
            assert len(lines) <= 300, path


def test_an_f_string_is_one_token_on_every_python(tmp_path):
    """3.12 takes it apart, and the course was too large there."""
    path = tmp_path / "one.py"
    path.write_text("""x = f"{a} {b!r:>{w}} {f'{c}'}"\n""", encoding="utf-8")
    assert size.tokens(path) == 3


def test_annotations_docstrings_and_comments_cost_nothing(tmp_path):
    path = tmp_path / "one.py"
    path.write_text("def f(a, b=1):\n    c = a\n    return c\n", encoding="utf-8")
    bare = size.tokens(path)
    typed = '''
        def f(a: "list[str]", b: int | None = 1) -> dict[str, tuple[int, ...]]:
            """What it does."""
            c: Callable[[int], str] = a  # why
            return c
        '''
    path.write_text(textwrap.dedent(typed), encoding="utf-8")
    assert size.tokens(path) == bare == 15


def stored(node):
    """Yield what a piece of code names."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name


def modules():
    """Those of the course and of its linter."""
    return [path for folder in size.MOST for path in (COURSE / folder).rglob("*.py")]


def test_no_name_is_a_bare_participle():
    for path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {name for node in ast.walk(tree) for name in stored(node)}
        assert not names & {"said", "told", "found", "shown", "known", "given"}, path


def public_functions(node, place):
    """Yield (where it is, the node) of a module's public functions, methods and
    constructors.
    """
    for child in node.body:
        name = getattr(child, "name", "_")
        if not name.startswith("_") or name == "__init__":
            where = f"{place}.{name}"
            if isinstance(child, ast.FunctionDef):
                yield where, child
            else:
                yield from public_functions(child, where)


def parameters(function):
    """The parameters of a function, without that of a method for its object."""
    every = function.args
    named = [*every.posonlyargs, *every.args, *every.kwonlyargs]
    named += [one for one in (every.vararg, every.kwarg) if one]
    return [one for one in named if one.arg not in ("self", "cls")]


def test_every_public_function_says_what_it_takes_and_returns():
    for path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for where, function in public_functions(tree, path.relative_to(COURSE)):
            assert function.returns or where.endswith("__init__"), where
            for parameter in parameters(function):
                assert parameter.annotation, (where, parameter.arg)


# A folder of the machine that made a file, where a path begins: no address, no part of
# a picture.
PATH = re.compile(
    rf"{re.escape(str(COURSE))}|C:\\+Users|(?<![\w.~/+=-])/(work|root|tmp|home|Users|private)\b"
)


def test_nothing_in_the_course_names_a_machine():
    for folder in ("course_utils", "notebooks", "data"):
        for path in (COURSE / folder).rglob("*"):
            if path.suffix in (".py", ".ipynb", ".json", ".md"):
                text = path.read_text(encoding="utf-8").replace(r"\n", "\n")
                assert not PATH.search(text), path
