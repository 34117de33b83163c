"""What notebook 13 alone uses."""

from course_utils import late_names

__dir__, __getattr__ = late_names(__name__, {"figures": "draw_forecasts draw_roofline"})
