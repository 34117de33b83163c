"""Legs: the same measurement in several processes, for switches that are read at import.

oneDNN looks at its environment variables once, when TensorFlow is imported. A setting of its own
takes a process of its own, and a setting that ends its process takes only that one down.
"""

from course_utils.legs.kernels import kernels, table
from course_utils.legs.process import Outcome, call, sentence
from course_utils.legs.runs import SETTINGS, SWITCHES, cannot_run, measure, run

__all__ = [
    "SETTINGS",
    "SWITCHES",
    "Outcome",
    "call",
    "cannot_run",
    "kernels",
    "measure",
    "run",
    "sentence",
    "table",
]
