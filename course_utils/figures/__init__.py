"""Every matplotlib figure of the course, drawn from plain values.

A function takes what a measurement returned and gives a `Picture`: the figure and
a sentence that says the same in words. Colors are Okabe and Ito's, the same for a
dtype everywhere, and never the only sign: hatches, markers and labels tell too.
"""

from course_utils.figures.base import Picture
from course_utils.figures.card import report_card
from course_utils.figures.clinic import decision_tree, gallery
from course_utils.figures.formats import (
    bit_strips,
    long_sum,
    lost_updates,
    number_line,
    rounding_errors,
    spacing,
)
from course_utils.figures.gradients import bathtub, histogram, step
from course_utils.figures.learning import (
    digits,
    histories,
    loss_curves,
    loss_scale,
    training,
)
from course_utils.figures.looks import COLORS
from course_utils.figures.loops import adam_curve, loop_plane, resumed
from course_utils.figures.memory import bytes_per_parameter, memory_by_batch
from course_utils.figures.precision import dtype_flow, policy_timeline
from course_utils.figures.profiling import time_budget, timeline, walks
from course_utils.figures.roofline import roofline
from course_utils.figures.smaller import by_width, remat, sensitivity
from course_utils.figures.speed import (
    batch_sweep,
    comparison,
    matmul,
    published,
    recorded,
    speedups,
)
