"""The roofline: what a device does at best, what a step needs, and how long that takes.

A device multiplies so many numbers a second and moves so many bytes a second. Work with few
operations per byte waits for memory, work with many for arithmetic. Going to 16 bits moves both:
the same work needs half the bytes, and other units do it.
"""

from course_utils.roofline.catalogue import Device, device_from_row, devices, named, sources
from course_utils.roofline.limits import Limit, floor_ms, limit, typical, verdict, with_input
from course_utils.roofline.measure import catalogue_row, ceilings, measured_device
from course_utils.roofline.prediction import Prediction, compare, ideal_speedup, points, predict
from course_utils.roofline.records import predicted_and_measured, recorded_device
from course_utils.roofline.steps import Work, work, works

__all__ = [
    "Device",
    "Limit",
    "Prediction",
    "Work",
    "catalogue_row",
    "ceilings",
    "compare",
    "device_from_row",
    "devices",
    "floor_ms",
    "ideal_speedup",
    "limit",
    "measured_device",
    "named",
    "points",
    "predict",
    "predicted_and_measured",
    "recorded_device",
    "sources",
    "typical",
    "verdict",
    "with_input",
    "work",
    "works",
]
