"""Explorers: interactive figures that run in the browser, without the kernel."""

from course_utils.explorers.floatlab import FloatLab

__all__ = ["FloatLab"]
