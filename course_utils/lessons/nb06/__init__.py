"""What notebook 06 alone uses."""

from course_utils import late_names

__dir__, __getattr__ = late_names(__name__, {"faulty_loops": "batch six"})
