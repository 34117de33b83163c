"""What a learner hands in, and what an instructor sees of a class: pages that need no
network.

A page is one file of HTML with its styles and drawings. jinja2, which JupyterLab
brings, escapes every field; a page runs no script and asks for nothing, which its own
policy forbids too.
"""

import json
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING

from course_utils import exercises
from course_utils.exercises import hand_ins as data

if TYPE_CHECKING:
    import pandas as pd
    from mixed_precision_lint import Finding

    from course_utils.figures import Picture

MARK = "Measured: "  # and its kind: so a page of this course begins


class LabReport:
    """One page on what a learner did, measured and found: `LabReport(...).save()`.

    The device, the versions, the guesses and the solved exercises of all notebooks are
    added.

    Args:
        title: of the page, such as "Ana: a ViT in bfloat16".
        settings: {name: text or number}; the class board looks for "policy".
        card: dicts with quantity and unit, texts, and guess, predicted and measured, each a number,
            a text or None. The board draws what has the same quantity and unit; a speedup is the
            first quantity with "speed" in its name and the unit "×".
        curves: {title of a drawing: {name of a line: its values}}.
        table: a DataFrame, with its index where that has a name.
        findings: of `precision.examine`, those that were repaired.
        words: the learner's own; the board lists the sentences that end in "?".

    Raises ValueError where something is of another form.
    """

    def __init__(
        self,
        title: str,
        settings: dict[str, str | float],
        card: list[dict],
        curves: dict[str, dict[str, list[float]]],
        table: "pd.DataFrame",
        findings: "list[Finding]",
        words: str | EllipsisType = "",
    ):
        if any(table.index.names) or hasattr(table.index, "str"):  # more than a count
            table = table.reset_index()
        keys = ("severity", "layer", "message", "fix")
        self.data = data.gather(
            title,
            [exercises.load(notebook) for notebook in exercises.available()],
            card,
            settings=settings,
            curves=curves,
            table={"columns": list(map(str, table.columns)), "rows": table.values},
            findings=[{k: getattr(each, k) for k in keys} for each in findings],
            words="" if words is ... else words,
        )

    def html(self) -> str:
        """The page."""
        from markupsafe import Markup  # late, as all that only a page needs

        from course_utils.figures import boards

        pictures = [
            boards.curve(lines, title) for title, lines in self.data["curves"].items()
        ]
        titles = {name: exercises.load(name).title for name in self.data["progress"]}
        inside = json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))
        script = Markup(data.BEGIN + inside.replace("<", "\\u003c") + data.END)
        return page("report.html", pictures, **self.data, titles=titles, script=script)

    def save(self, path: str | Path = "lab_report.html") -> Path:
        """Write the page, in place of an older report alone; ValueError says what to
        do.
        """
        return data.write(self.html(), Path(path), "lab report", MARK + "lab report")


def page(template: str, pictures: "list[Picture]", **fields: object) -> str:
    """A template of this folder with its fields, escaped, and its `Picture`s."""
    import jinja2
    from markupsafe import Markup

    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True)
    drawings = [Markup(picture.svg()) for picture in pictures]
    return environment.get_template(template).render(drawn=drawings, **fields)
