"""What data/migration.json says, as docs/migration.md shows it."""

from tools.migration import ran


def told(record) -> dict:
    """What the template `migration.md` asks for of a record: no row that has not run."""
    tasks = {}
    for task in record["code"]["Keras 3"]:
        for column, code in record["code"].items():
            if task in code and (runs := ran(record, column, task)):
                versions = "; ".join(map(_short, runs))
                tasks.setdefault(task, []).append((column, versions, code[task]))
    return {
        "columns": record["columns"],
        "runs": [_run(run) for run in record["runs"]],
        "cpus": ", ".join(dict.fromkeys(run["cpu"] for run in record["runs"])),
        "tasks": tasks,
    }


def _short(run):
    """The version of a run that says most: Keras's where it has one of its own."""
    name, version = next(iter(run["versions"].items()))
    return f"{name} {version}"


def _run(run):
    versions = dict(run["versions"])
    python = versions.pop("python")
    return ", ".join(map(" ".join, versions.items())), python, run["date"]
