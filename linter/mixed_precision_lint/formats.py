"""How findings are printed."""

from typing import Any

from mixed_precision_lint.finding import Finding

FORMATS = ("text", "json", "github")
LEVELS = {"error": "error", "warning": "warning", "advice": "notice"}  # of GitHub


def show(result: dict[str, Any], form: str, named: bool = False) -> None:
    """Print what `command.examine_file` says of a file, as "text" or for "github".

    `named`: with the file's name before each line of text, as there are others.

        >>> model = {"name": "net", "class": "Sequential", "findings": []}
        >>> show({"file": "a.keras", "models": [model]}, "text")
        Nothing found.
    """
    prefix = f"{result['file']}: " if named else ""
    for model in result["models"]:
        findings = [Finding(**each) for each in model["findings"]]
        if form == "github":
            for finding in findings:
                print(annotation(result["file"], finding))
            continue
        if len(result["models"]) > 1:
            print(f"{prefix}{model['name']} ({model['class']})")
        for finding in findings:
            print(f"{prefix}{finding}")
        if not findings:
            print(f"{prefix}Nothing found.")


def annotation(file: str, finding: Finding) -> str:
    """A finding as a line that GitHub shows beside the code.

    >>> annotation("a.py", Finding("MP009", "warning", "Norm", "It is 50 %.", "x", 3))
    '::warning file=a.py,line=3,title=MP009 Norm::It is 50 %25. Fix: x'
    """
    place = f"file={_value(file)}" + (f",line={finding.line}" if finding.line else "")
    title = _value(f"{finding.code} {finding.layer}")
    text = _escaped(f"{finding.message} Fix: {finding.fix}")
    return f"::{LEVELS[finding.severity]} {place},title={title}::{text}"


def _escaped(text):
    # GitHub: "Workflow commands", as its own toolkit escapes them
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text):
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
