"""The figure of notebook 12: how far apart two trainings are, and how much worse one is."""

import numpy as np

from course_utils.figures.base import INK, Picture, legend_below, panels
from course_utils.figures.series import lines
from course_utils.figures.words import described


def draw_lost_parts(apart: dict, worse: dict) -> Picture:
    """How far trainings that lost a part are from the one that was left alone, and what
    it costs.

    `apart`: what was lost to an array (seeds, steps), in percent of the way. `worse`: the
    same labels to (mean, reach of its interval) of the difference of the held-out loss.
    Left are the means over the steps, right are their ends beside the loss.
    """
    figure, (left, right) = panels(2, 8.0, 4.0)
    courses = {}
    ends = {}
    for label, rows in apart.items():
        means = np.mean(rows, axis=0)
        mean, reach = worse[label]
        courses[label] = np.arange(1, len(means) + 1), means
        ends[f"{label} (± {reach:.2g})"] = means[-1:], [mean]
        right.errorbar(means[-1], mean, reach, color=INK)
    lines(left, courses, markevery=5)
    lines(right, ends)
    percent = "apart, in % of the way"
    left.set(title="How far apart?", xlabel="step after the stop", ylabel=percent)
    right.set(title="And how much worse?", xlabel=f"at the last step {percent}")
    right.set_ylabel("held-out loss, more than left alone")
    legend_below(figure, 3, left.get_lines())
    return described(figure)
