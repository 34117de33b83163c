"""How fast, how large, how exact: training steps measured under several dtype policies.

Importing this package loads no framework: each name below loads what it needs.
"""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__,
    {
        "compare": "POLICIES Comparison compare_policies loss_curves",
        "rates": "ceilings",
        "ratios": "Ratio paired",
        "timer": "in_turns",
        "trainee": "Trainee batches build counts_memory device",
    },
)
