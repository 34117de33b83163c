"""Many devices: which strategy fits, worker processes, and what the exchange of
gradients costs.

Importing it loads no framework.
"""

from course_utils.distributed.attempts import attempt, on_jax
from course_utils.distributed.exchange import measure_exchange
from course_utils.distributed.overflow import (
    train_on_workers,
    train_through_overflow,
)
from course_utils.distributed.strategies import (
    choose,
    scope,
    split_cpu,
)
from course_utils.distributed.workers import Workers, run_workers
from course_utils.processes import Interrupted, ProcessError
