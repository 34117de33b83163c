"""A finding, and the dtypes that findings are about; loads no framework."""

from dataclasses import dataclass

SEVERITIES = ("error", "warning", "advice")
NARROW = ("float16", "bfloat16")
WIDE = ("float32", "float64")
WHOLE = {"float16": 2048, "bfloat16": 256}  # up to which all whole numbers are exact


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
