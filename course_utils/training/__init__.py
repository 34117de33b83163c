"""What lessons train with: dtype policies, a record of the loss scale, a loss scaling
optimizer.
"""

from course_utils.training.policies import dtype_policy, tf32
from course_utils.training.recorder import LossScaleRecorder
from course_utils.training.replica_safe import ReplicaSafeLossScaleOptimizer
