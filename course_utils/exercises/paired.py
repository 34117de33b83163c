"""The judge of a paired comparison of accuracies, in notebook 10."""

from .answers import call, describe

CODE = """\
import numpy as np


def verdict(a, b, t):
    differences = np.array(a) - np.array(b)
    error = differences.std(ddof=1) / len(a) ** 0.5
    if abs(differences.mean()) <= t * error:
        return "cannot tell"
    return "a" if differences.mean() > 0 else "b"

"""
SLIPS = {
    "pairs": {
        "differences.std(ddof=1)": "np.hypot(np.std(a, ddof=1), np.std(b, ddof=1))"
    },
    "the spread of one run": {" / len(a) ** 0.5": ""},
    "n - 1": {"ddof=1": "ddof=0"},
    "never": {"t * error": "0"},
    "times t": {"t * error": "error"},
    "the other way": {"mean() > 0": "mean() < 0"},
    "the text": {'"cannot tell"': '"same"'},
}
# accuracies of a and b on the same seeds, in percent; t; the verdict; if it is not met
RUNS = (
    ((73.0, 65.0, 81.0), (71.5, 63.7, 79.4), 4.3, "a", "The seeds differ, the pairs do not: take "
     "the spread of the pairs' differences."),
    ((73.0, 65.0, 81.0), (72.0, 65.5, 79.0), 4.3, "cannot tell", "One pair goes against the other "
     "two: you never doubt, or forget to take the error times t."),
    ((80.0, 81.0, 82.0), (79.7, 80.45, 81.2), 4.3, "cannot tell", "Divide the squares by n - 1: "
     "with n the error comes out too small."),
    ((60.0, 62.0, 61.0), (70.3, 72.1, 71.0), 4.3, "b", "b is higher by far in each pair."),
    (tuple(range(70, 86)), tuple(n - 2 * (n % 2) for n in range(70, 86)), 2.1, "a", "You take the "
     "spread of one run: the error of a mean is smaller, by the root of n."),
)  # fmt: skip


def problem(verdict, trial):
    """What is wrong with a learner's verdict on paired runs, or None."""
    a, b, t, right, said = trial
    given = call(verdict, list(a), list(b), t, end="`return`")
    if not isinstance(given, str) or given not in ("a", "b", "cannot tell"):
        return (
            f'It returns {describe(given)}: return "a", "b" or the text "cannot tell".'
        )
    if {given, right} == {"a", "b"}:
        said = "It is the other way around."
    return None if given == right else f"For {len(a)} seeds you say {given!r}. {said}"
