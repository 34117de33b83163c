"""What notebook 05 alone uses."""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__,
    {
        "figures": "draw_op_times draw_timeline draw_limits",
        "repairs": "show_repairs",
        "stand_in": "few_products",
        "slow_training": "colleague read_slowly",
    },
)
