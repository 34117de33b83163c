"""The eleven instruments of the clinic, and what each takes in minutes."""

from collections.abc import Callable
from typing import NamedTuple

from course_utils.clinic import experiments, readings
from course_utils.clinic.readings import Reading
from course_utils.clinic.visits import Patient


class Instrument(NamedTuple):
    """An instrument among the others.

    Attributes:
        name: as people call it.
        minutes: that it takes in a project of one's own.
        read: a function of a `Patient` that returns a `Reading`.
    """

    name: str
    minutes: int
    read: Callable


def _ranges(patient):
    sample = patient.held[0] if patient.held else patient.batch()[0]
    return readings.ranges(patient.train().model, sample)


def _twin(patient):
    other = patient.twin()
    return experiments.twin(other.build(), other.batches, **other.options())


INSTRUMENTS = {
    "examine": Instrument("examine", 1, lambda p: readings.examine(p.build())),
    "scale": Instrument(
        "Scale recorder",
        2,
        lambda p: experiments.scale(p.build(), p.batches, p.resumed),
    ),
    "flow": Instrument("Dtype flow", 2, lambda p: readings.flow(p.build())),
    "files": Instrument(
        "File inspector",
        3,
        lambda p: experiments.files(p.build(), p.batches, p.resumed),
    ),
    "probe": Instrument("probe", 3, lambda p: readings.probe(p.build, *p.batch())),
    "ranges": Instrument("Smallest and largest", 4, _ranges),
    "histogram": Instrument(
        "Gradient histogram",
        5,
        lambda p: experiments.histogram(p.build, p.twin().build, p.batches),
    ),
    "profiler": Instrument(
        "Profiler", 5, lambda p: experiments.profiler(p.build(), p.batches)
    ),
    "numerics": Instrument(
        "check_numerics", 8, lambda p: experiments.numerics(p.build(), p.batches)
    ),
    "twin": Instrument("A float32 twin", 10, _twin),
    "layer": Instrument(
        "One layer in float32",
        15,
        lambda p: experiments.layer(p.build, p.batches, **p.options()),
    ),
}


def read(key, patient: Patient) -> Reading:
    """What the instrument of this key among `INSTRUMENTS` reads of a patient.

    Example:
        >>> from course_utils import clinic
        >>> clinic.read("flow", clinic.patient("bfloat16")).text
        'Dense: weights in bfloat16.'
    """
    return INSTRUMENTS[key].read(patient)
