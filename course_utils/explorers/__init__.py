"""Explorers: interactive figures that run in the browser, without the kernel."""

from course_utils.explorers.floatlab import FloatLab
from course_utils.explorers.scalescope import ScaleScope

__all__ = ["FloatLab", "ScaleScope"]
