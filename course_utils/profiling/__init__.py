"""Where the time and the memory of a training step go, from a recorded trace."""

from course_utils.profiling.compare import Change, compare
from course_utils.profiling.memory import Memory, memory
from course_utils.profiling.ops import op_times
from course_utils.profiling.steps import Bottleneck, bottleneck, step_times
from course_utils.profiling.trace import Event, Trace, open_trace, record
from course_utils.profiling.xprof import xprof_tables

__all__ = [
    "Bottleneck",
    "Change",
    "Event",
    "Memory",
    "Trace",
    "bottleneck",
    "compare",
    "memory",
    "op_times",
    "open_trace",
    "record",
    "step_times",
    "xprof_tables",
]
