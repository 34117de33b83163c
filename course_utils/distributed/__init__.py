"""Many devices: which strategy fits, and worker processes.

Importing it loads no framework.
"""

from course_utils.distributed.strategies import (
    choose,
    scope,
    split_cpu,
)
from course_utils.distributed.workers import Workers, run_workers
from course_utils.processes import Interrupted, ProcessError
