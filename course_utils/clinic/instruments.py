"""The eleven instruments of the clinic, and what each takes in minutes."""

from collections.abc import Callable
from typing import NamedTuple

from course_utils.clinic import experiments, readings
from course_utils.clinic.readings import Reading
from course_utils.clinic.training_run import Patient
from course_utils.errors import one_line


class Instrument(NamedTuple):
    """An instrument among the others.

    Attributes:
        name: as people call it.
        minutes: that it takes in a project of one's own.
        read: a function of a `Patient` that returns a `Reading`.
    """

    name: str
    minutes: int
    read: Callable[[Patient], Reading]


INSTRUMENTS = {
    "examine": Instrument("examine", 1, readings.examine),
    "files": Instrument("File inspector", 2, experiments.files),
    "scale": Instrument("Scale recorder", 3, experiments.scale),
    "flow": Instrument("Dtype flow", 3, readings.flow),
    "ranges": Instrument("Smallest and largest", 5, readings.ranges),
    "histogram": Instrument("Gradient histogram", 5, experiments.histogram),
    "profiler": Instrument("Profiler", 5, experiments.profiler),
    "probe": Instrument("probe", 6, readings.probe_step),
    "numerics": Instrument("check_numerics", 8, experiments.numerics),
    "twin": Instrument("A float32 twin", 10, experiments.twin),
    "layer": Instrument("One layer in float32", 14, experiments.layer),
}


def read(key: str, patient: Patient) -> Reading:
    """What the instrument of this key among `INSTRUMENTS` reads of a patient.

    An error that it meets is what it reads, of the kind "error", with the exception as
    `values`.

    Example:
        >>> from course_utils import clinic
        >>> clinic.read("flow", clinic.patient("bfloat16")).text
        'Dense: weights in bfloat16.'
    """
    read_patient = INSTRUMENTS[key].read
    try:
        return read_patient(patient)
    except Exception as error:  # whatever somebody's own model raises
        text = one_line(error, 200)
        return Reading("error", text, error)
