"""What notebook 04 alone uses."""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__, {"figures": "draw_arrays_alive draw_loss_curves draw_peak_parts"}
)
