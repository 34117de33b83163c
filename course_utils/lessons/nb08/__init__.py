"""What notebook 08 alone uses."""

from course_utils import late_names

FIGURES = "draw_front draw_grid draw_parts draw_sensitivity"
__dir__, __getattr__ = late_names(__name__, {"figures": FIGURES})
