"""Every matplotlib figure that several notebooks or a report show, from plain values.

A function takes what a measurement returned and gives a `Picture`: the figure and
a sentence that says the same in words. Colors are Okabe and Ito's, the same for a
dtype everywhere, and never the only sign: hatches, markers and labels tell too.
Importing this package loads nothing: each name below loads what it needs. What one
notebook alone shows is drawn in its room of `course_utils.lessons`.
"""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__,
    {
        "base": "Picture",
        "budgets": "time_budget",
        "curves": "histories",
        "devices": "lanes",
        "histograms": "histogram",
        "looks": "COLORS",
        "plans": "trade_off",
        "speed": "comparison",
        "waterfalls": "waterfall",
    },
)
