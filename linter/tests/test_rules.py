"""Each rule's example fires, its repair does not, and RULES.md is made of them."""

import re
from pathlib import Path

import keras
import mixed_precision_lint
import pytest
from examples import BEFORE, DATA, EXAMPLES, IN_WORDS
from mixed_precision_lint import examine, probe
from mixed_precision_lint.bias_rules import bias_sums_stop
from mixed_precision_lint.finding import CODES, RETIRED
from policies import dtype_policy

PAGE = Path(__file__).parents[1] / "RULES.md"
COURSE = "../notebooks/solved/"


def findings(text):
    """The codes and severities for the model or the loop that some code makes."""
    names: dict = {}
    keras.utils.set_random_seed(0)
    with dtype_policy("float32"):
        exec(f"{BEFORE}\n{DATA}\n{text}", names)
        if "build" in names:
            results = probe(names["build"], names["x"], names["y"])
        else:
            results = examine(names["model"])
    return {finding.code: finding.severity for finding in results}


@pytest.mark.parametrize("code", EXAMPLES)
def test_its_example_fires_and_its_repair_does_not(code):
    if code == "MP035" and not bias_sums_stop():
        pytest.skip("this device adds up in float32")
    example = EXAMPLES[code]
    assert findings(example.wrong)[code] in example.severity
    assert code not in findings(example.right)


def page():
    """The page of the rules, in Markdown."""
    parts = [
        "# The linter's rules",
        "What `mixed-precision-lint` looks for in models and training loops, by the codes that "
        "its command `rules` lists. Every example was run; before each stand\n\n"
        f"```python\n{BEFORE}```",
    ]
    for code, meaning in CODES.items():
        parts.append(f"## {code}\n\n{meaning[0].upper()}{meaning[1:]}.")
        if code in IN_WORDS:
            parts.append(f"To see it takes {IN_WORDS[code]}.")
            continue
        example = EXAMPLES[code]
        parts.append(f"*{example.severity.capitalize()}.* Left alone: {example.why}.")
        parts.append(f"```python\n{example.wrong}\n```")
        parts.append(f"Right:\n\n```python\n{example.right}\n```")
        if example.cell:
            name, _, cell = example.cell.partition("#")
            parts.append(f"[The cell that shows it]({COURSE}{name}#cell-id={cell})")
    parts.append(f"## Retired\n\n{', '.join(RETIRED)}: never given to another rule.")
    return "\n\n".join(parts) + "\n"


def test_the_page_has_each_code_that_the_source_can_give():
    folder = Path(mixed_precision_lint.__file__).parent
    source = "".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    text = PAGE.read_text(encoding="utf-8")
    rules, _, retired = text.partition("\n## Retired\n")
    codes = re.findall(r"^## (MP\d{3})$", rules, re.MULTILINE)
    assert [*codes, *re.findall(r"MP\d{3}", retired)] == [*CODES, *RETIRED]
    assert {*re.findall(r"MP\d{3}", source)} == {*CODES, *RETIRED}


def test_the_page_is_made_of_the_rules():
    assert {*EXAMPLES, *IN_WORDS} == {*CODES}
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "write it anew: python linter/tests/test_rules.py"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
