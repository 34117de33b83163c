"""Explorers: interactive figures that run in the browser, without the kernel.

Show one as the last line of a cell. Where no JavaScript runs, as in a notebook that is
not trusted, a table shows the same numbers.
"""

from course_utils.explorers.bitsplit import BitSplit
from course_utils.explorers.blocklab import BlockLab
from course_utils.explorers.doesitpay import DoesItPay
from course_utils.explorers.floatlab import FloatLab
from course_utils.explorers.panel import InstrumentPanel
from course_utils.explorers.scalescope import ScaleScope
from course_utils.explorers.softmaxcliff import SoftmaxCliff

__all__ = ["BitSplit", "BlockLab", "DoesItPay", "FloatLab", "InstrumentPanel",
           "ScaleScope", "SoftmaxCliff"]  # fmt: skip
