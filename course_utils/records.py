"""What was recorded on real devices, in data/measurements: steps, and the trainings that
notebooks show.
"""

import collections
import hashlib
import json
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_utils import paths

if TYPE_CHECKING:
    import pandas as pd

FOLDER = paths.data("measurements")
OWN = (
    paths.FOLDER / "data/measurements/own"
)  # what a learner records: shown like the rest, not part of the repository

# Settings that change which kernels run; recorded when they are set.
SWITCHES = ("TF_ENABLE_ONEDNN_OPTS", "ONEDNN_MAX_CPU_ISA", "NVIDIA_TF32_OVERRIDE")
# What the bench command measures unless it is told otherwise.
PARTS = ("cnn", "transformer", "ceilings")
MODELS = ("cnn", "transformer")
STEPS = ("policy", "step_ms", "speedup", "memory_ratio")
INTERVAL = ("speedup_low", "speedup_high")  # of newer files


def label(measurement: dict) -> str:
    """The settings that a measurement was made under, in words; "" for TensorFlow's
    defaults.

    Example:
        >>> label({"settings": {"TF_ENABLE_ONEDNN_OPTS": "0"}})
        'TF_ENABLE_ONEDNN_OPTS=0'
    """
    return " ".join(f"{k}={v}" for k, v in measurement["settings"].items())


def versions() -> dict[str, str]:
    """{package: version} of what is measured, with Python and the system.

    Example:
        >>> sorted(versions())
        ['keras', 'python', 'system', 'tensorflow']
    """
    import keras
    import tensorflow as tf

    return {
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }


def save(measurement: dict, path: str | Path | None = None) -> Path:
    """Writes a measurement, or a recording of gradients, as JSON and returns where.

    Without a path, a new file in data/measurements/own, named after device, settings,
    date and what was measured, so that those of two machines of one name can be put
    into one folder.
    """
    # Histograms are long: no blanks in those of a training.
    form = {"separators": (",", ":")} if "kind" in measurement else {"indent": 1}
    text = json.dumps(measurement, ensure_ascii=False, **form) + "\n"
    if path is None:
        words = f"{measurement['device']} {label(measurement)}"
        slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "device"
        checksum = hashlib.sha256(text.encode()).hexdigest()[:8]
        path = OWN / f"{slug}-{measurement['date']}-{checksum}.json"
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: str | Path | None = None) -> list[dict]:
    """Every measurement of speed in a folder and below it, sorted by path.

    Without a folder, those that come with the course and the learner's own.

    A file that is no measurement is left out, and named in a printed sentence.
    """
    measurements = []
    folders = [FOLDER, OWN] if folder is None else [Path(folder)]
    for path in sorted({path for folder in folders for path in folder.rglob("*.json")}):
        try:
            measurement = paths.read(path)
            if "kind" in measurement:  # `gradients`, `splits` and so on read those
                continue
            for model in MODELS:
                table([measurement], model)
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            print(
                f"Left out {path.name}, which is not a measurement: record it again with "
                "`python -m course_utils bench`, or remove it."
            )
            continue
        measurements.append(measurement)
    return measurements


def table(measurements: list[dict] | None = None, model: str = "cnn") -> Any:
    """The steps of measurements (None: those in data/measurements) as a DataFrame.

    One row per device and policy: device (the second of a name and its settings has a
    "(2)" behind it, and so on), settings, date, policy, step_ms, speedup, memory_ratio,
    and of newer ones the interval, speedup_low and speedup_high. `model` is "cnn" or
    "transformer", which the first measurements did not have.

    Example:
        >>> sorted(set(table()["policy"]))
        ['float32', 'mixed_bfloat16', 'mixed_float16']
    """
    import pandas as pd

    rows = []
    names = collections.Counter()
    for measurement in load() if measurements is None else measurements:
        name = measurement["device"]
        settings = label(measurement)
        names[name, settings] += 1
        count = names[name, settings]
        if count > 1:  # another machine, or another day
            name = f"{name} ({count})"
        for row in measurement.get(model, []):
            steps = {key: row[key] for key in STEPS} | {k: row.get(k) for k in INTERVAL}
            about = {"device": name, "settings": settings, "date": measurement["date"]}
            rows.append(about | steps)
    columns = ["device", "settings", "date", *STEPS, *INTERVAL]
    numbers = dict.fromkeys([*STEPS[1:], *INTERVAL], float)
    return pd.DataFrame(rows, columns=columns).astype(numbers)


def gradients(of: str = "activations") -> dict:
    """The gradients of a recorded training: {epoch: {layer or weight:
    OctaveHistogram}}.

    `of` is "activations" for the gradients at the layers' outputs, "weights", or
    "loss": {epoch: the loss of their images}.

    Example:
        >>> bool(gradients()[0]["conv2d"].survival("float16").normal)
        True
    """
    from course_utils.gradients import OctaveHistogram

    histograms = {row["epoch"]: row[of] for row in _content("gradients")["records"]}
    if of == "loss":
        return histograms
    return {
        epoch: {name: OctaveHistogram.from_data(data) for name, data in layers.items()}
        for epoch, layers in histograms.items()
    }


def splits() -> dict:
    """What each split of 16 bits keeps of a recorded training: {epoch: {tensor:
    `splits.survey`}}.

    The tensors are "weights", "activations" and "gradients" (at 25 scales). The file is
    the one that comes with the course.

    Example:
        >>> list(splits()), splits()[5]["weights"]["total"]
        ([5, 85], 1011466)
    """
    rows = _content("splits")["records"]
    tensors = ("weights", "activations", "gradients")
    return {row["epoch"]: {name: row[name] for name in tensors} for row in rows}


def rescue() -> tuple:
    """What a loss scale changed in a recorded training with three seeds: two
    DataFrames, whose entries are "middle (lowest to highest)".

    The first says how the trainings ended: the last training loss, and how many test
    images are wrong. The second says, for each layer at the last epoch that was looked
    at, by how many percent the gradient and the update of `mixed_float16` were wrong,
    as lengths of differences over lengths. The file is that of `python -m tools.record
    rescue`.

    Example:
        >>> list(rescue()[1].columns)[:2]
        ['gradient', 'update']
    """
    import pandas as pd

    content = _content("rescue")
    conditions = content["conditions"]
    trainings = pd.DataFrame(content["trainings"])
    trainings["last"] = [losses[-1] for losses in trainings["loss"]]
    runs = trainings.groupby("training", sort=False)
    ends = {
        f"loss at epoch {conditions['epochs']}": _spans(runs["last"]),
        f"wrong of {conditions['test_images']}": _spans(runs["test_images_wrong"]),
    }
    errors = pd.DataFrame(content["errors"])
    errors = errors[errors["epoch"] == errors["epoch"].max()]
    bare, scaled = (
        errors[errors["scale"] == scale].groupby("layer", sort=False)
        for scale in ("no scale", "2^15")
    )
    columns = {what: _spans(bare[what], 100) for what in ("gradient", "update")}
    columns["update, S = 2^15"] = _spans(scaled["update"], 100)
    return pd.DataFrame(ends), pd.DataFrame(columns)


def backward() -> "pd.DataFrame":
    """How wrong the gradient of a real backward pass was in a recorded training, in
    percent and by epoch: "middle (lowest to highest)" of its seeds.

    The file is that of `python -m tools.record backward`.

    Example:
        >>> list(backward().index)
        [5, 20, 60, 85]
    """
    import pandas as pd

    rows = pd.json_normalize(_content("backward")["records"]).groupby("epoch")
    once = 100 * rows["rounded once.all layers"].median()
    table = {"rounded once": once.map("{:.2g}".format)}
    for way in ("mixed_float16", "mixed_float16, S = 2^15", "mixed_bfloat16"):
        table[way.removeprefix("mixed_")] = _spans(rows[f"{way}.all layers"], 100)
    return pd.DataFrame(table)


def _spans(groups: Any, unit: float = 1) -> "pd.Series":
    """The "middle (lowest to highest)" of each group, times a unit."""
    spans = unit * groups.agg(["median", "min", "max"])
    return spans.apply(
        lambda span: f"{span['median']:.2g} ({span['min']:.2g} to {span['max']:.2g})",
        axis=1,
    )


def smaller() -> list[dict]:
    """The recorded points of notebook 08, as its figure takes them.

    Example:
        [point["form"] for point in smaller()]
    """
    content = _content("smaller")
    print(f"Recorded on {content['date']} on {content['cpu']}.")
    return content["records"]


def clinic() -> dict:
    """The recorded readings of notebook 09's patients, as `explorers.InstrumentPanel`
    takes them.

    Example:
        >>> clinic()["patients"][0]["readings"]["scale"]["kind"]
        'falls'
    """
    return _content("clinic")


def _content(kind):
    return paths.read(FOLDER / f"{kind}.json")
