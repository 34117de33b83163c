"""What lessons train with: dtype policies, a record of the loss scale, a loss scaling
optimizer.
"""

from course_utils.training.policies import (
    dtype_policy,
    float16_needs_xla,
    needs_xla,
    tf32,
    xla_cures_float16,
)
from course_utils.training.recorder import LossScaleRecorder, largest_gradient
from course_utils.training.replica_safe import ReplicaSafeLossScaleOptimizer
