"""A finding, and the dtypes that findings are about; loads no framework."""

from collections.abc import Iterable
from dataclasses import dataclass

SEVERITIES = ("error", "warning", "advice")
NARROW = ("float16", "bfloat16")
WIDE = ("float32", "float64")
WHOLE = {"float16": 2048, "bfloat16": 256}  # up to which all whole numbers are exact
# What each code means, for `mixed-precision-lint rules`; a code is never given anew.
CODES = {
    "MP001": "an output is in 16 bits before the loss sees it, or hides its logits",
    "MP002": "gradients go through float16, and nothing scales the loss",
    "MP007": "a layer's output is wider than its policy says",
    "MP008": "weights are kept in 16 bits, in which updates get lost",
    "MP009": "a number in a layer's code is zero or infinite in 16 bits",
    "MP010": "a layer's width is no multiple of eight",
    "MP012": "this machine gains no time in this dtype",
    "MP014": "gradients are unscaled twice",
    "MP015": "the loss is not scaled, and the gradients are unscaled",
    "MP016": "gradients that are still scaled reach the update rule",
    "MP017": "a limit or a decay meets gradients that are still scaled",
    "MP018": "a gradient that is not finite does lasting harm",
    "MP019": "the loss scale does not fall, or does not grow",
    "MP020": "a step returns the scaled loss",
    "MP021": "a step raises an error, or trains nothing",
    "MP022": "an update does not follow the gradient",
    "MP023": "an embedding gets its ids in 16 bits",
    "MP026": "a model is not built, so little can be looked for",
    "MP027": "a loss beside the main one is in 16 bits",
    "MP028": "what a layer of Keras's was told is another number in 16 bits",
    "MP029": "squares, exponentials or sums overflow inside a layer",
    "MP030": "a layer raises an error when the model is called",
    "MP031": "a layer's call asks for the global policy",
    "MP033": "a sum is added up one by one in 16 bits",
    "MP034": "a layer puts out what is not finite, and nothing shows it",
    "MP035": "a CPU adds up the gradient of a bias in bfloat16",
}
RETIRED = "MP003 MP004 MP005 MP006 MP011 MP013 MP024 MP025 MP032".split()


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, why it matters, and its repair.

    Example: str(finding) is "MP001 error dense_2: The probabilities come out … Fix:
    Dense(…)".
    """

    code: str  # "MP001", "MP002", …: what kind of thing; the codes stay as they are
    # "error" (training goes wrong), "warning" (it may, or takes longer) or "advice"
    severity: str
    layer: str  # path of the layer, or name of the model where it is about the whole
    message: str  # one sentence
    fix: str  # as code
    line: int = 0  # where a class begins in a script that was read; 0 for a model

    def __str__(self):
        return (
            f"{self.code} {self.severity} {self.layer}: {self.message} Fix: {self.fix}"
        )


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings, errors first, then warnings, then advice; in these by layer and code."""

    def place(finding):
        return SEVERITIES.index(finding.severity), finding.layer, finding.code

    return sorted(findings, key=place)
