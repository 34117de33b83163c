"""Pages of the site that are made of records: every layer, and five libraries."""

import json
from collections import Counter

from course_utils import paths

NOTEBOOK = "(../notebooks/03_policy.ipynb)"
POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")


def _record(name):
    return json.loads(paths.data(name).read_text(encoding="utf-8"))


def every_layer() -> str:
    """What each layer of Keras does under three policies, in Markdown; failures first."""
    record = _record("layer_support.json")
    versions = ", ".join(f"{name} {v}" for name, v in record["versions"].items())
    lines = [
        "# Every layer of Keras",
        "",
        f"Notebook [03 · Setting the policy]{NOTEBOOK} counts what stands here. Every layer"
        " that stands by itself was built and called under three policies, on"
        f" {record['date']}, on a CPU ({record['cpu']}), with {versions}. Which layers fail"
        " depends on the device.",
        "",
    ]
    kinds = Counter(row["what happens"].split(":")[0] for row in record["rows"])
    for kind in sorted(kinds, key=lambda kind: (kind != "fails", -kinds[kind])):
        rows = [r for r in record["rows"] if r["what happens"].split(":")[0] == kind]
        lines += [f"## {kind.capitalize()}: {len(rows)}", ""]
        lines += [f"| layer | {' | '.join(POLICIES)} | |", "|---|---|---|---|---|"]
        for row in rows:
            why = row["what happens"].partition(": ")[2]
            told = [*(row.get(policy, "") for policy in POLICIES), why]
            told = [text.replace("|", r"\|") for text in told]
            lines.append(f"| {row['layer']} | {' | '.join(told)} |")
        lines.append("")
    return "\n".join(lines)


def five_libraries() -> str:
    """The same steps in five libraries, one below the other, in Markdown."""
    record = _record("migration.json")
    lines = [
        "# Mixed precision in five libraries",
        "",
        f"Notebook [03 · Setting the policy]{NOTEBOOK} sends you here. Every line was run"
        " with the versions below; what asks for hardware that was not there says so in a"
        " comment.",
        "",
        "| library | what it is | run with |",
        "|---|---|---|",
    ]
    for name, what in record["columns"].items():
        lines.append(f"| {name} | {what} | {record['run with'][name]} |")
    for task in record["code"]["Keras 3"]:
        lines += ["", f"## {task.capitalize()}"]
        for name, code in record["code"].items():
            lines += ["", f"**{name}**", "", "```python", code[task], "```"]
    return "\n".join(lines) + "\n"


PAGES = {"layers.md": every_layer, "migration.md": five_libraries}
