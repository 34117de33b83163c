"""From a symptom of mixed precision to its cause: patients, instruments, elimination.

`clinic.run` runs a patient of `data/clinic`. Eleven instruments each read a `Reading`;
`clinic.read(key, patient)` takes one of `clinic.INSTRUMENTS` by its key, on a patient of
the course or on a `clinic.Patient` of your own, whose docstring has an example with all
of them. `clinic.ruled_out` and the other
functions of elimination tell which causes readings leave. Importing this package loads
no framework: each name below loads what it needs.
"""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__,
    {
        "cases": "CaseFile Named assign",
        "elimination": "cheapest minutes rivals ruled_out",
        "experiments": "files histogram layer numerics profiler scale twin",
        "instruments": "INSTRUMENTS read",
        "patients": "charts difference patient run script",
        "readings": "Reading examine flow probe_step ranges",
        "training_run": "Patient TrainingRun",
    },
)
