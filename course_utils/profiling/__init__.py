"""Where the time and the memory of a training step go, from a recorded trace."""

from course_utils.profiling.calibration import (
    calibrate,
    forecast,
    measured,
    recorded_forecasts,
)
from course_utils.profiling.ops import op_times
from course_utils.profiling.peaks import peaks
from course_utils.profiling.recordings import (
    Diagnosis,
    budget,
    diagnose,
    explain,
    record_in_turns,
    spans,
    step_times,
)
from course_utils.profiling.trace import read, record
