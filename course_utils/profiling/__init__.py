"""Where the time and the memory of a training step go, from a recorded trace."""

from course_utils.profiling.memory import Memory, memory
from course_utils.profiling.ops import op_times
from course_utils.profiling.steps import Bottleneck, Change, bottleneck, compare, step_times
from course_utils.profiling.trace import Event, Trace, record
