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
    more = _record("layer_conditions.json")
    return TEMPLATES.get_template("layers.md").render(record, kinds=tables, more=more)


def five_libraries() -> str:
    """The same steps in five libraries, one below the other, in Markdown."""
    record = _record("migration.json")
    return TEMPLATES.get_template("migration.md").render(
        record, versions=record["run with"], tasks=record["code"]["Keras 3"]
    )


PAGES = {"layers.md": every_layer, "migration.md": five_libraries}
