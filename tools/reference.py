"""Pages of the site that are made of records: every layer, and five libraries. Their
words are the templates of Jinja beside this file.
"""

import json
from collections import defaultdict
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from course_utils import paths

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    trim_blocks=True,
    keep_trailing_newline=True,
)


def _record(name):
    return json.loads(paths.data(name).read_text(encoding="utf-8"))


def every_layer() -> str:
    """What each layer of Keras does under three policies, in Markdown; failures first."""
    record = _record("layer_support.json")
    kinds = defaultdict(list)
    for row in record["rows"]:
        kind, _, row["why"] = row["what happens"].partition(": ")
        kinds[kind].append(row)
    order = sorted(kinds, key=lambda kind: (kind != "fails", -len(kinds[kind])))
    tables = [(kind, kinds[kind]) for kind in order]
    return TEMPLATES.get_template("layers.md").render(record, kinds=tables)


def five_libraries() -> str:
    """The same steps in five libraries, one below the other, in Markdown."""
    record = _record("migration.json")
    return TEMPLATES.get_template("migration.md").render(
        record, versions=record["run with"], tasks=record["code"]["Keras 3"]
    )


SHORT = {
    "float32, then cut off": "float32, cut off",
    "16 bits, one after another": "16 bits, one by one",
}


def sums_page() -> str:
    """Who adds up in what, on each device that was recorded, and what becomes of it."""
    more = _record("bias_trainings.json")
    layers = defaultdict(lambda: defaultdict(dict))
    for row in more["layers"]:
        table = layers[row["policy"], row["terms"]]
        table[row["layer"]][row["positions"]] = f"{100 * row['error']:.2g}"
    trainings = defaultdict(dict)
    for row in more["trainings"]:
        trainings[row["training"], row["optimizer"]][row["policy"]] = row["losses"]
    return TEMPLATES.get_template("sums.md").render(
        records=list(_sums()),
        more=more,
        positions=[
            f"{n:,}" for n in sorted({row["positions"] for row in more["layers"]})
        ],
        layers=[
            (*key, [[name, *errors.values()] for name, errors in table.items()])
            for key, table in layers.items()
        ],
        trainings=[
            [*key, *(_losses(row[policy], row["float32"]) for policy in row)]
            for key, row in trainings.items()
        ],
        cures=[
            [row["cure"], _losses(row["losses"]), f"{row['step_ms']:.1f}"]
            for row in more["cures"]
        ],
    )


def _sums():
    """The tables of the records, each with all devices and switches of which it holds."""
    names = defaultdict(list)
    for path in sorted(paths.data("measurements/sums").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        versions = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
        switches = map("=".join, record["settings"].items())
        cells = defaultdict(list)
        for row in record["rows"]:
            ones = round(4096 * row["ones"]) if row["ones"] is not None else 4096
            stops = f" ({ones:,})" if abs(ones - 4096) > 40 else ""
            verdict = SHORT.get(row["verdict"], row["verdict"])
            cells[row["operation"]].append(verdict + stops)
        rows = tuple((operation, *texts) for operation, texts in cells.items())
        about = f"{versions}, {record['date']}"
        names[rows, about].append(", ".join([record["device"], *switches]))
    for (rows, about), devices in names.items():
        yield " · and the same: ".join(devices), about, rows


def _losses(losses, right=None):
    text = " ".join(f"{loss:.3g}" for loss in losses)
    worse = right and all(a > 1.05 * b for a, b in zip(losses, right, strict=True))
    return f"**{text}**" if worse else text


PAGES = {"layers.md": every_layer, "migration.md": five_libraries, "sums.md": sums_page}
