"""Many devices: which strategy fits, worker processes, and what the exchange of gradients costs.

Importing it loads no framework.
"""

from course_utils.distributed.costs import (
    Link,
    fit_link,
    ring_bytes,
    speedup,
    step_seconds,
    zero_share,
)
from course_utils.distributed.strategies import DeviceError, choose, find_tpu, scope, split_cpu
from course_utils.distributed.workers import Workers, run_workers, tf_config
from course_utils.processes import Interrupted, ProcessError
