"""Every matplotlib figure of the course, drawn from plain values.

A function takes what a measurement returned and gives a `Picture`: the figure and
a sentence that says the same in words. Colors are Okabe and Ito's, the same for a
dtype everywhere, and never the only sign: hatches, markers and labels tell too.
"""

from course_utils.figures.allocations import alive, peak_parts
from course_utils.figures.base import Picture
from course_utils.figures.boards import report_card
from course_utils.figures.diagnoses import gallery
from course_utils.figures.flows import dtype_flow
from course_utils.figures.learning import (
    falling_scale,
    histories,
    loss_curves,
    loss_scale,
)
from course_utils.figures.looks import COLORS
from course_utils.figures.numbers import bit_strips, spacing
from course_utils.figures.parallel import lanes, strategies
from course_utils.figures.roofs import roofline
from course_utils.figures.scaling import bathtub, histogram, step
from course_utils.figures.shrinking import front, remat, sensitivity
from course_utils.figures.speed import comparison
from course_utils.figures.speedups import policies
from course_utils.figures.traces import (
    op_times,
    time_budget,
    timeline,
    walks,
)
from course_utils.figures.waterfalls import forecasts, waterfall
