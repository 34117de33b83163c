"""What notebook 01 alone uses."""

from course_utils import late_names

__dir__, __getattr__ = late_names(__name__, {"figures": "draw_bit_strips draw_spacing"})
