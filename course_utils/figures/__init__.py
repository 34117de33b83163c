"""Every matplotlib figure of the course, drawn from plain values.

A function takes what a measurement returned and gives a `Picture`: the figure and
a sentence that says the same in words. Colors are Okabe and Ito's, the same for a
dtype everywhere, and never the only sign: hatches, markers and labels tell too.
Importing this package loads nothing: each name below loads what it needs.
"""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__,
    {
        "allocations": "alive peak_parts",
        "base": "Picture",
        "boards": "report_card",
        "diagnoses": "gallery",
        "flows": "dtype_flow",
        "learning": "falling_scale histories loss_curves loss_scale",
        "looks": "COLORS",
        "numbers": "bit_strips spacing",
        "parallel": "lanes strategies",
        "roofs": "roofline",
        "scaling": "bathtub histogram step",
        "shrinking": "front remat sensitivity",
        "speed": "comparison",
        "speedups": "policies",
        "traces": "op_times time_budget timeline walks",
        "waterfalls": "forecasts waterfall",
    },
)
