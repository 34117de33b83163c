"""How large the course is: lines by floor and room, long modules, and what the last tests took.

    python -m tools.size

All lines count: Python's as ruff leaves them; JavaScript's, CSS's and the shell's as they are
written, because nothing formats them. The seconds are those of the last `make test`, by file.
"""

import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

COURSE = Path(__file__).resolve().parents[1]
CODE = {".py", ".js", ".mjs", ".css", ".sh"}
# The five floors of `course_utils`, from the top down: imports only go down. Within a floor the
# order is free, as long as there is one.
FLOORS = {
    "course": ("__main__", "check", "report", "reset", "session", "exercises", "claims"),
    "showing": ("widgets", "explorers", "figures"),
    "frameworks": (
        *("distributed", "profiling", "roofline", "clinic"),
        *("precision", "benchmark", "training", "models"),
    ),
    "machine": ("datasets", "progress", "processes", "hardware"),
    "numbers": ("diagnosis", "splits", "gradients", "loss_scale", "numerals", "formats"),
}
MOST = {"course_utils": 20_000, "module": 300, "tests": 17_000}


def lines(folder):
    """Return {path relative to the folder: lines} of the code below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in CODE)
    return {
        path.relative_to(folder): len(path.read_text(encoding="utf-8").splitlines())
        for path in files
    }


def seconds(report):
    """Return {test file: seconds} of a report in JUnit's format, none where there is no report."""
    found = Counter()
    if report.exists():
        for case in xml.parse(report).iter("testcase"):
            found[case.get("classname").removeprefix("nbval.")] += float(case.get("time"))
    return found


def main():
    package, tests = lines(COURSE / "course_utils"), lines(COURSE / "tests")
    size = Counter()
    for path, count in package.items():
        size[path.parts[0].removesuffix(".py")] += count
    print(f"course_utils  {sum(package.values()):6,} lines, at most {MOST['course_utils']:,}")
    for floor, names in FLOORS.items():
        print(f"  {floor:<12}{sum(size[name] for name in names):6,}")
        print("".join(f"    {name:<14}{size[name]:6,}\n" for name in names), end="")
    for name in sorted(set(size) - {name for names in FLOORS.values() for name in names}):
        print(f"  on no floor: {name} {size[name]:,}")
    print(f"tests         {sum(tests.values()):6,} lines, at most {MOST['tests']:,}")
    print(f"modules of more than 200 lines, at most {MOST['module']}:")
    for path, count in sorted(package.items(), key=lambda item: -item[1]):
        if count > 200:
            print(f"  {count:4}  {path.as_posix()}")

    for part in ("unit", "solved"):
        taken = seconds(COURSE / f".pytest_cache/{part}.xml")
        print(f"{part} tests: {sum(taken.values()):,.0f} s of work, two files at a time")
        for name, count in taken.most_common(25):
            print(f"  {count:6.0f}  {name}")


if __name__ == "__main__":
    main()
