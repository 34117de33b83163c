"""The roofline: what a device does at best, what a step needs, and how long that takes.

A device multiplies so many numbers a second and moves so many bytes a second. Work with
few operations per byte waits for memory, work with many for arithmetic. Going to 16
bits moves both: the same work needs half the bytes, and other units do it.
"""

from course_utils.benchmark import ceilings
from course_utils.roofline.catalogue import Device, devices, measured_device
from course_utils.roofline.counting import Work, count
from course_utils.roofline.liveness import operations, peak
from course_utils.roofline.prediction import Floor, points, predict
from course_utils.roofline.workloads import Network, fitted, network
