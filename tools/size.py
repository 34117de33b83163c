"""How large the course is, in tokens, by room.

    python -m tools.size

Tokens, since the width of a line, the length of a name, comments and docstrings cost
nothing so.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

COURSE = Path(__file__).resolve().parents[1]
# What a test holds, to be lowered as the code gets smaller.
MOST = {"course_utils": 125_000, "tests and tools": 120_000}
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
    documented = (
        node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED)
    )
    docstrings = sum(ast.get_docstring(node) is not None for node in documented)
    count = -docstrings
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


def totals():
    """Return {part of MOST: tokens}."""
    folders = {part: part.split(" and ") for part in MOST}
    return {
        part: sum(sum(sizes(COURSE / folder).values()) for folder in folders[part])
        for part in MOST
    }


def main():
    for part, count in totals().items():
        print(f"{part:<16}{count:7,} tokens, at most {MOST[part]:,}")
    room_sizes = Counter()
    for path, count in sizes(COURSE / "course_utils").items():
        room_sizes[path.parts[0].removesuffix(".py")] += count
    for room, count in room_sizes.most_common():
        print(f"  {room:<14}{count:7,}")


if __name__ == "__main__":
    main()
