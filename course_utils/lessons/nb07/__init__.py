"""What notebook 07 alone uses."""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__, {"exchange": "measure_exchange", "figures": "draw_strategies"}
)
