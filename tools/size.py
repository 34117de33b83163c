"""How large the course is, in tokens, by room.

    python -m tools.size

Tokens, since the width of a line, the length of a name, comments and docstrings cost
nothing so. Annotations cost nothing either, and tests and tools are not counted: a
limit that is met by leaving out types or checks makes the course worse.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

COURSE = Path(__file__).resolve().parents[1]
# Of the folders below. A test holds it, to be lowered as the code gets smaller.
MOST = {"course_utils": 124_000, "linter/mixed_precision_lint": 20_000}
LAYOUT = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENCODING", "ENDMARKER"}
# Of JavaScript and CSS: comments, texts, words and numbers, and any other sign alone.
SCRIPT = re.compile(
    r"""(//[^\n]*|/\*.*?\*/)|`(?:\\.|[^`])*`|"(?:\\.|[^"\n])*"|'(?:\\.|[^'\n])*'|[\w$]+|[=!<>&|?*+/%^.-]+|\S""",
    re.DOTALL,
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def tokens(path):
    """Return how many tokens a file of code has: Python, JavaScript or CSS."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return sum(not match[1] for match in SCRIPT.finditer(text))
    nodes = list(ast.walk(ast.parse(text)))
    documented = (node for node in nodes if isinstance(node, DOCUMENTED))
    docstrings = sum(ast.get_docstring(node) is not None for node in documented)
    # with the colon or the arrow before each
    notes = [1 + counted(ast.unparse(note)) for note in annotations(nodes)]
    return counted(text) - docstrings - sum(notes)


def annotations(nodes):
    """Yield what is annotated of parameters, results and names among nodes of a tree."""
    for node in nodes:
        for field in ("annotation", "returns"):
            if note := getattr(node, field, None):
                yield note


def counted(text):
    """Return how many tokens a piece of Python has, without its layout."""
    count = 0
    inside = 0  # of how many f-strings, which Python takes apart from 3.12 on
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name == "FSTRING_END":
            inside -= 1
        elif name not in LAYOUT:
            count += not inside
            inside += name == "FSTRING_START"
    return count


def sizes(folder):
    """Return {path relative to the folder: tokens} of the code below a folder."""
    files = (
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".py", ".mjs", ".css")
    )
    return {path.relative_to(folder): tokens(path) for path in files}


def rooms(folder):
    """Return {room: tokens} of a folder of the course, as a Counter."""
    counts = Counter()
    for path, count in sizes(COURSE / folder).items():
        counts[path.parts[0].removesuffix(".py")] += count
    return counts


def main():
    for folder, most in MOST.items():
        room_sizes = rooms(folder)
        print(f"{folder} {room_sizes.total():,} tokens, at most {most:,}")
        for room, count in room_sizes.most_common():
            print(f"  {room:<14}{count:7,}")


if __name__ == "__main__":
    main()
