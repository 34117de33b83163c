"""Pages of the site that are made of records: every layer, other libraries, and sums. Their
words are the templates of Jinja beside this file.
"""

import json
import re
from collections import defaultdict
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from course_utils import paths
from tools import (
    bias_page,
    casts_page,
    drills,
    engines_page,
    files_page,
    migration_page,
    scalers_page,
)

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


def other_libraries() -> str:
    """The same steps in each library, one below the other, in Markdown."""
    return TEMPLATES.get_template("migration.md").render(
        migration_page.told(_record("migration.json"))
    )


def casts() -> str:
    """The same cast in eight libraries, in Markdown."""
    return TEMPLATES.get_template("casts.md").render(
        casts_page.told(_record("casts.json"))
    )


def engines() -> str:
    """The same sums in ten engines, in Markdown."""
    return TEMPLATES.get_template("engines.md").render(
        engines_page.told(_record("engine_sums.json"))
    )


def scalers() -> str:
    """The same loss scale in eight libraries, in Markdown."""
    return TEMPLATES.get_template("scalers.md").render(
        scalers_page.told(_record("scalers.json"))
    )


def files() -> str:
    """The same numbers in each kind of file, in Markdown."""
    return TEMPLATES.get_template("files.md").render(
        files_page.told(_record("files.json"))
    )


def drilled() -> str:
    """Which engines pass the overflow drill, with which optimizer, in Markdown."""
    return TEMPLATES.get_template("drills.md").render(
        drills.told(_record("drills.json"))
    )


# In brackets: it depends on how a CPU cuts a sum into parts.
NUMBER = re.compile(r" \([\d,]+\)")
SHORT = {
    "float32, then cut off": "float32, cut off",
    "16 bits, one after another": "16 bits, one by one",
}


def sums_page() -> str:
    """Who adds up in what, on each device that was recorded, and what becomes of it."""
    return sums_of(_record("bias_trainings.json"), _record("bias_trainings_avx2.json"))


def sums_of(record, other) -> str:
    """The same page with these records of trainings."""
    told = bias_page.told(record, other)
    return TEMPLATES.get_template("sums.md").render(records=list(_sums()), **told)


def _sums():
    """(Device, versions and date, others of which the same holds, the table's rows) of
    the records.
    """
    tables = defaultdict(list)
    for path in sorted(paths.data("measurements/sums").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        cells = defaultdict(dict)
        for row in record["rows"]:
            cells[row["operation"]][row["dtype"], row["mode"]] = _heard(row)
        rows = []
        for operation, heard in cells.items():
            rows.append([operation])
            for dtype in ("float16", "bfloat16"):
                eager, graph, xla = (heard[dtype, m] for m in ("eager", "graph", "XLA"))
                both = eager if eager == graph else f"{eager}; in a graph {graph}"
                rows[-1] += [both, xla]
        name = ", ".join([record["device"], *map("=".join, record["settings"].items())])
        versions = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
        about = f"{versions}, {record['date']}"
        release = record["versions"]["tensorflow"]
        tables[NUMBER.sub("", str(rows))].append((name, release, about, rows))
    for records in tables.values():
        newest = sorted(records, key=lambda record: record[1], reverse=True)
        (name, _, about, rows), *others = sorted(newest, key=lambda one: len(one[0]))
        same = []
        for other, release, _, own in others:
            but = "" if own == rows else ", but for numbers in brackets"
            same.append(f"{other} and TensorFlow {release}{but}")
        yield name, about, same, rows


def _heard(row):
    """A verdict for the page: in bold where it is not float32, with what it makes of 4,096
    ones where that is another number.
    """
    text = SHORT.get(row["verdict"], row["verdict"])
    ones = round(4096 * row["ones"]) if row["ones"] is not None else 4096
    stops = f" ({ones:,})" if abs(ones - 4096) > 40 else ""
    return f"**{text}{stops}**" if text.startswith("16") else text


PAGES = {
    "layers.md": every_layer,
    "migration.md": other_libraries,
    "sums.md": sums_page,
    "casts.md": casts,
    "engines.md": engines,
    "scalers.md": scalers,
    "files.md": files,
    "drills.md": drilled,
}
