"""A measurement of this device: the parts one after the other, with what they were made on."""

import datetime
import os

from course_utils import measurements
from course_utils.bench.job import Job
from course_utils.bench.parts import PARTS
from course_utils.bench.start import device_name, versions


def record(seconds: float = 60, name: str | None = None, parts=measurements.PARTS) -> dict:
    """Measures this device.

    Args:
        seconds: time for the steps of the CNN; the other parts take a share of it each. In all it
            takes some three times as long, and a minute for what does not depend on it.
        name: what to call this device; its own name if None.
        parts: which of `measurements.PARTS` to measure, and "legs".

    Returns:
        A dict that JSON can hold; data/README.md says what is in it. After an interrupt of the
        CNN's or the block's steps the parts that follow are missing.

    Raises:
        ValueError: a part is unknown.

    Example:
        measurements.save(record.record(seconds=60), "my-laptop.json")
    """
    if unknown := sorted(set(parts) - set(PARTS)):
        raise ValueError(f"There are no parts {unknown}: take some of {list(PARTS)}.")
    job = Job(seconds)
    found = {
        "device": name or device_name(job.machine),
        "cpu": str(job.machine),
        "versions": versions(),
        "date": datetime.date.today().isoformat(),
        "settings": _settings(),
        "conditions": job.conditions,
        "cnn": [],
    }
    for part, (measure, title) in PARTS.items():
        if part in parts and not job.interrupted:
            print(f"Measuring {title} …", flush=True)
            found[part] = measure(job)
    return {**found, "notes": list(dict.fromkeys(job.notes))}


def _settings():
    """The switches that are set, and `remapping` where `session.setup` turned it off."""
    import keras

    found = {name: os.environ[name] for name in measurements.SWITCHES if name in os.environ}
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        if tf.config.optimizer.get_experimental_options().get("remapping") is False:
            found["remapping"] = "off"
    return found
