"""The dtypes inside a Keras model: which flow where, and what goes wrong with them."""

from course_utils.precision.case import Finding
from course_utils.precision.findings import examine
from course_utils.precision.flow import dtype_flow

__all__ = ["Finding", "dtype_flow", "examine"]
