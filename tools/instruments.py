"""The instruments of the clinic, and what is recorded of its patients.

Each instrument reads a kind, of a word or two, and one line of text.
"""

import math
import re
from functools import lru_cache
from unittest import mock

import keras
import numpy as np
import tensorflow as tf

from course_utils import precision
from course_utils.clinic import admit, batches, charts, run, scale, script

NARROW = ("float16", "bfloat16")
UP = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(value):
    """A scale as a power of two: "2¹⁵"."""
    return f"2{str(round(np.log2(value))).translate(UP)}" if value > 0 else "0"


def read_scale(patient):
    """The loss scale, step by step."""
    scales = [s for s in _visit(patient).scales if not np.isnan(s)]
    if not scales:
        return "none", "There is no loss scaling."
    falls = [at for at in range(1, len(scales)) if scales[at] < scales[at - 1]]
    jumps = [at for at in falls if scales[at] < scales[at - 1] / 2]
    course = f"{power(scales[0])} → {power(scales[-1])} in {len(scales)} steps"
    if scales[-1] == 0:
        return "falls", f"{power(scales[0])} → 0 in {scales.index(0)} steps"
    if jumps:
        at = jumps[0]
        return (
            "begins again",
            f"{power(scales[at - 1])} → {power(scales[at])} after step {at}",
        )
    if len(falls) > len(scales) / 2:
        return "falls", course
    if falls:
        return "dips", f"{course}, halved {len(falls)} times"
    return "steady", course


def read_histogram(patient):
    """The gradients that reach the weights in the first step, beside those of a float32
    twin.
    """
    sizes = []
    for policy in (None, "float32"):
        names = admit(patient, policy=policy)
        got = []
        model = names["build"]()
        rule = getattr(model.optimizer, "inner_optimizer", model.optimizer)
        former = rule.update_step

        def update_step(gradient, variable, rate, former=former, got=got):
            got.append(
                np.abs(keras.ops.convert_to_numpy(gradient).astype("float32")).max()
            )
            return former(gradient, variable, rate)

        rule.update_step, model.run_eagerly = update_step, True
        for batch in list(batches(names))[:4]:  # as many as accumulate
            model.train_on_batch(*batch)
        sizes.append(max(got[:8], default=np.nan))
    mine, twin = sizes
    if not np.isfinite(mine):
        return "not finite", "No gradient reaches the weights: inf or NaN in each step."
    text = f"largest {mine:.1e}, in a float32 twin {twin:.1e}"
    return "too small" if mine < twin / 100 else "fits", text


def read_ranges(patient):
    """Smallest and largest of each layer's output, and of the weights, after the run."""
    visit = _visit(patient)
    x = visit.names["x"][-64:]
    for variable in visit.model.variables:
        values = keras.ops.convert_to_numpy(variable).astype("float32")
        if not np.isfinite(values).all():
            return (
                "in a variable",
                f"{variable.name}: {values.min():g} to {values.max():g}",
            )
    seen = []
    former = keras.layers.Layer.__call__

    def call(layer, *arguments, **options):
        outputs = former(layer, *arguments, **options)
        for output in keras.tree.flatten(outputs):
            found = keras.ops.convert_to_numpy(keras.ops.cast(output, "float32"))
            seen.append((_name(layer), found.min(), found.max()))
        return outputs

    with mock.patch.object(keras.layers.Layer, "__call__", call):
        visit.model(x)
    first = next((s for s in seen if not np.isfinite(s[1] + s[2])), None)
    if first is None:
        low = min(s[1] for s in seen)
        high = max(s[2] for s in seen)
        return "finite", f"all layers between {low:.3g} and {high:.3g}"
    at = seen.index(first)
    before = f", before it {seen[at - 1][1]:.3g} to {seen[at - 1][2]:.3g}" if at else ""
    return "in a layer", f"{first[0]}: {first[1]:g} to {first[2]:g}{before}"


def read_flow(patient):
    """The dtypes that flow through the network."""
    table = precision.dtype_flow(_built(patient)[0])
    narrow = table[table["variable_dtype"].isin(NARROW) & (table["parameters"] > 0)]
    if len(narrow):
        return "16-bit weights", f"{narrow['kind'].iloc[0]}: weights in bfloat16."
    ids = table[(table["kind"] == "Embedding") & table["input_dtype"].isin(NARROW)]
    if len(ids):
        return "16-bit ids", f"An Embedding is given {ids['input_dtype'].iloc[0]}."
    return "mixed", "16 bits between the layers, weights in float32."


def read_examine(patient):
    """What `examine` says of the network."""
    return _findings(precision.examine(_built(patient)[0]))


def read_probe(patient):
    """What `probe` says of the training step."""

    def build():
        model, _, _ = _built(patient)
        return model, model.optimizer, model.train_on_batch

    _, x, y = _built(patient)
    return _findings(precision.probe(build, x, y))


def read_numerics(patient):
    """Where `tf.debugging.enable_check_numerics` stops the first steps."""

    def switch_on(_):  # once the network is made: it cannot look at weights of bfloat16
        tf.debugging.enable_check_numerics()

    try:
        run(patient, steps=12, change=switch_on)
    except tf.errors.InvalidArgumentError as error:
        node = re.search(r"node (\S+)/CheckNumerics", str(error))[1]
        path = [re.sub(r"(_\d+)+$", "", part) for part in node.split("/")]
        lines = [
            0,
            *(int(n) for n in re.findall(r'<patient \w+>", line (\d+)', str(error))),
        ]
        code = ["Keras's own code", *script(patient).splitlines()][lines[-1]].strip()
        backward = "gradient" in node.lower()
        kind = "backward" if backward else path[-1].lower()
        return f"stops: {kind}", f"{'/'.join(path[-2:])} in: {code}"
    finally:
        tf.debugging.disable_check_numerics()
    return "passes", "12 steps without inf or NaN."


def read_layer(patient):
    """Whether the patient is well with one of its layers in float32."""
    count = len(_built(patient)[0].layers)
    for at in range(count):
        changed = []

        def change(model, at=at, changed=changed):
            for each in model.layers[at]._flatten_layers():
                each.dtype_policy = "float32"
            changed.append(_name(model.layers[at]))

        if run(patient, change=change).well:
            return "cured", f"It learns with {changed[0]} in float32."
    return "no change", f"It fails with any of its {count} layers in float32."


def read_profiler(patient):
    """How much of a step waits for its batch."""
    visit = _visit(patient)
    share = np.median(visit.waits) / np.median(visit.ms)
    kind = "waits" if share > 0.5 else "computes"
    return kind, f"{share:.0%} of a step is waiting for its batch."


def read_files(patient):
    """What of the optimizer comes back from a file."""
    names = admit(patient)
    if "resumed" not in names:
        return "no file", "Nothing is saved and read again."
    model = names["build"]()
    for batch in batches(names)[:10]:
        model.train_on_batch(*batch)
    both = model.optimizer, names["resumed"](model).optimizer
    states = [(int(each.iterations.numpy()), scale(each)) for each in both]
    (steps, before), (count, after) = states
    text = f"saved: {steps} steps, scale {power(before)}; read again: {count}, {power(after)}"
    return "whole" if states[0] == states[1] else "not whole", text


def read_twin(patient):
    """The same script under the policy float32."""
    if run(patient, policy="float32").well:
        return "well", "It learns in float32."
    return "the same", "It fails in float32, too."


@lru_cache(maxsize=1)
def _visit(patient):
    return run(patient)  # that several instruments look at


def _built(patient):
    """The network, and its first batch."""
    names = admit(patient)
    return names["build"](), *next(iter(batches(names)))


def _name(layer):
    return re.sub(r"_\d+$", "", layer.name)


# What `examine` and `probe` find, in two words: the edges of the decision tree carry
# them.
WORDS = {
    "MP001": "16-bit output",
    "MP008": "16-bit weights",
    "MP009": "a constant",
    "MP015": "no scale_loss",
    "MP016": "wrong size",
    "MP017": "scaled limit",
    "MP021": "no step",
    "MP023": "rounded ids",
    "MP024": "under remat",
}


def _findings(found):
    # MP012 is of the device, not of the patient.
    found = [
        each for each in found if each.severity != "advice" and each.code != "MP012"
    ]
    codes = dict.fromkeys(WORDS.get(finding.code, finding.code) for finding in found)
    text = f"{found[0].message}" if found else "Nothing found."
    return ", ".join(codes) or "nothing", text


# {key: (name, minutes that it takes in a project of one's own, function)}
INSTRUMENTS = {
    "examine": ("examine", 1, read_examine),
    "scale": ("Scale recorder", 2, read_scale),
    "flow": ("Dtype flow", 2, read_flow),
    "files": ("File inspector", 3, read_files),
    "probe": ("probe", 3, read_probe),
    "ranges": ("Smallest and largest", 4, read_ranges),
    "histogram": ("Gradient histogram", 5, read_histogram),
    "profiler": ("Profiler", 5, read_profiler),
    "numerics": ("check_numerics", 8, read_numerics),
    "twin": ("A float32 twin", 10, read_twin),
    "layer": ("One layer in float32", 15, read_layer),
}


def read(instrument, patient):
    """What an instrument shows on a patient."""
    kind, text = INSTRUMENTS[instrument][2](patient)
    return {"kind": kind, "text": text}


# What is recorded

POINTS = 60  # of a curve
FAMILIES = {
    "nan": "Not a number",
    "still": "Does not learn",
    "worse": "Learns worse",
    "slow": "No speedup",
    "scale": "The scale collapses",
}


def curve(losses):
    """At most so many of the losses, None for what is not finite."""
    every = -(-len(losses) // POINTS)
    return [round(loss, 4) if math.isfinite(loss) else None for loss in losses[::every]]


def larger(model):
    """What articles tell to do about instability: a larger scale."""
    if hasattr(model.optimizer, "initial_scale"):
        model.optimizer.initial_scale *= 1024


def tried(patient):
    """{cure of another patient: what became of this one}, of all that change its
    script.
    """
    found = {}
    for cure in charts():
        if cure != patient and script(patient, cure) != script(patient):
            try:
                found[cure] = "well" if run(patient, cure).well else "not cured"
            except Exception as error:
                found[cure] = type(error).__name__
    return found


def record(patient, instruments=tuple(INSTRUMENTS)):
    """A patient's entry in the record."""
    chart = charts()[patient]
    sick = _visit(patient)
    cured = run(patient, cure=patient)
    told = {
        key: chart[key] for key in ("title", "symptom", "family", "diagnosis", "cure")
    }
    return {
        "key": patient,
        **told,
        "thread": script(patient).split()[1],
        "loss": curve(sick.losses),
        "healthy": curve(cured.losses),
        "well": [sick.well, cured.well],
        "larger_scale": None
        if np.isnan(sick.scales[0])
        else run(patient, change=larger).well,
        "ms": [round(sorted(v.ms)[len(v.ms) // 2], 1) for v in (sick, cured)],
        "readings": {key: read(key, patient) for key in instruments},
        "tried": tried(patient),
    }
