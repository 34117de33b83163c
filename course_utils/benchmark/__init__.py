"""How fast, how large, how exact: training steps measured under several dtype policies.

Importing this package loads no framework: each name below loads what it needs.
"""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__,
    {
        "batching": "batches",
        "compare": "POLICIES Comparison compare_policies device_policies loss_curves",
        "keras_device": "build counts_memory device",
        "rates": "ceilings",
        "ratios": "Ratio paired",
        "timer": "in_turns turns",
        "timed_model": "TimedModel",
    },
)
