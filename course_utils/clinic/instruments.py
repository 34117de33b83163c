"""What can be read off a patient: each instrument gives a `Reading` of one word and one line."""

import re
from dataclasses import dataclass
from functools import lru_cache
from unittest import mock

import keras
import numpy as np

from course_utils.clinic.ward import admit, build, list_of, name_of, run, scale, script
from course_utils.training import dtype_policy

NARROW = ("float16", "bfloat16")
UP = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Reading:
    """A reading: `kind`, a word or two to compare, and `text`, what the instrument showed."""

    kind: str
    text: str


def power(value):
    """A scale as a power of two: "2¹⁵"."""
    return f"2{str(round(np.log2(value))).translate(UP)}" if value > 0 else "0"


def read_scale(patient, cure=None):
    """The loss scale, step by step."""
    scales = [s for s in _visit(patient, cure).scales if not np.isnan(s)]
    if not scales:
        return Reading("none", "There is no loss scaling.")
    falls = [at for at in range(1, len(scales)) if scales[at] < scales[at - 1]]
    jumps = [at for at in falls if scales[at] < scales[at - 1] / 2]
    course = f"{power(scales[0])} → {power(scales[-1])} in {len(scales)} steps"
    if scales[-1] == 0:
        return Reading("falls", f"{power(scales[0])} → 0 in {scales.index(0)} steps")
    if jumps:
        at = jumps[0]
        return Reading(
            "begins again", f"{power(scales[at - 1])} → {power(scales[at])} after step {at}"
        )
    if len(falls) > len(scales) / 2:
        return Reading("falls", course)
    if falls:
        return Reading("dips", f"{course}, halved {len(falls)} times")
    return Reading("steady", course)


def read_histogram(patient, cure=None):
    """The gradients that reach the weights in the first step, beside those of a float32 twin."""
    sizes = []
    for policy in (None, "float32"):
        got = []
        with dtype_policy(keras.config.dtype_policy()):
            names = admit(patient, cure, policy)
            model = names["build"]()
            rule = getattr(model.optimizer, "inner_optimizer", model.optimizer)
            former = rule.update_step

            def update_step(gradient, variable, rate, former=former, got=got):
                got.append(np.abs(keras.ops.convert_to_numpy(gradient).astype("float32")).max())
                return former(gradient, variable, rate)

            rule.update_step = update_step
            model.run_eagerly = True
            for batch in list_of(names)[:4]:  # as many as accumulate
                model.train_on_batch(*batch)
                if got:
                    break
        sizes.append(max(got, default=np.nan))
    mine, twin = sizes
    if not np.isfinite(mine):
        return Reading("not finite", "No gradient reaches the weights: inf or NaN in each step.")
    text = f"largest {mine:.1e}, in a float32 twin {twin:.1e}"
    return Reading("too small" if mine < twin / 100 else "fits", text)


def read_ranges(patient, cure=None):
    """Smallest and largest of each layer's output, and of the weights, after the run."""
    visit = _visit(patient, cure)
    x = visit.names["x"][-64:]
    for variable in visit.model.variables:
        values = keras.ops.convert_to_numpy(variable).astype("float32")
        if not np.isfinite(values).all():
            return Reading(
                "in a variable", f"{variable.name}: {values.min():g} to {values.max():g}"
            )
    seen, former = [], keras.layers.Layer.__call__

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
        low, high = min(s[1] for s in seen), max(s[2] for s in seen)
        return Reading("finite", f"all layers between {low:.3g} and {high:.3g}")
    at = seen.index(first)
    before = f", before it {seen[at - 1][1]:.3g} to {seen[at - 1][2]:.3g}" if at else ""
    return Reading("in a layer", f"{first[0]}: {first[1]:g} to {first[2]:g}{before}")


def read_flow(patient, cure=None):
    """The dtypes that flow through the network."""
    from course_utils.precision import dtype_flow

    table = dtype_flow(_built(patient, cure)[0])
    narrow = table[table["variable_dtype"].isin(NARROW) & (table["parameters"] > 0)]
    if len(narrow):
        return Reading("16-bit weights", f"{narrow['kind'].iloc[0]}: weights in bfloat16")
    ids = table[(table["kind"] == "Embedding") & table["input_dtype"].isin(NARROW)]
    if len(ids):
        return Reading("16-bit ids", f"an Embedding is given {ids['input_dtype'].iloc[0]}")
    return Reading("mixed", "16 bits between the layers, weights in float32")


def read_examine(patient, cure=None):
    """What `examine` says of the network."""
    from course_utils.precision import examine

    return _findings(examine(_built(patient, cure)[0]))


def read_probe(patient, cure=None):
    """What `probe` says of the training step."""
    from course_utils.precision import probe

    def build():
        model, _, _ = _built(patient, cure)
        return model, model.optimizer, model.train_on_batch

    _, x, y = _built(patient, cure)
    return _findings(probe(build, x, y))


def read_numerics(patient, cure=None):
    """Where `tf.debugging.enable_check_numerics` stops the first steps."""
    import tensorflow as tf

    tf.debugging.enable_check_numerics()
    try:
        run(patient, cure, steps=12)
    except tf.errors.InvalidArgumentError as error:
        node = re.search(r"node (\S+)/CheckNumerics", str(error))[1]
        path = [re.sub(r"(_\d+)+$", "", part) for part in node.split("/")]
        lines = [0, *(int(n) for n in re.findall(r'<patient \w+>", line (\d+)', str(error)))]
        code = ["Keras", *script(patient, cure).splitlines()][lines[-1]].strip()
        backward = "gradient" in node.lower()
        kind = "backward" if backward else path[-1].lower()
        return Reading(f"stops: {kind}", f"{'/'.join(path[-2:])}, of {code}")
    finally:
        tf.debugging.disable_check_numerics()
    return Reading("passes", "12 steps without inf or NaN")


def read_layer(patient, cure=None):
    """Whether the patient is well with one of its layers in float32."""
    count = len(_built(patient, cure)[0].layers)
    for at in range(count):
        changed = []

        def change(model, at=at, changed=changed):
            for each in model.layers[at]._flatten_layers():
                each.dtype_policy = "float32"
            changed.append(_name(model.layers[at]))

        if run(patient, cure, change=change).well:
            return Reading("cured", f"well with {changed[0]} in float32")
    return Reading("no change", f"not well with any of {count} layers in float32")


def read_profiler(patient, cure=None):
    """How much of a step waits for its batch."""
    visit = _visit(patient, cure)
    share = np.median(visit.waits) / np.median(visit.ms)
    return Reading("waits" if share > 0.5 else "computes", f"{share:.0%} of a step waits for input")


def read_files(patient, cure=None):
    """What of the optimizer comes back from a file."""
    with dtype_policy(keras.config.dtype_policy()):
        names = admit(patient, cure)
        if "resumed" not in names:
            return Reading("no file", "nothing is saved and read again")
        model = build(names)
        for batch in list_of(names)[:10]:
            model.train_on_batch(*batch)
        states = []
        for each in (model, names["resumed"](model)):
            count = int(each.optimizer.iterations.numpy())
            states.append((count, scale(each.optimizer)))
    (steps, before), (count, after) = states
    text = f"saved: {steps} steps, scale {power(before)}; read again: {count}, {power(after)}"
    return Reading("whole" if states[0] == states[1] else "not whole", text)


def read_twin(patient, cure=None):
    """The same script under the policy float32."""
    well = run(patient, cure, policy="float32").well
    return (
        Reading("well", "well in float32") if well else Reading("the same", "not in float32 either")
    )


@lru_cache(maxsize=1)
def _visit(patient, cure):
    return run(patient, cure)  # that several instruments look at


def _built(patient, cure=None):
    """The network, and its first batch."""
    with dtype_policy(keras.config.dtype_policy()):
        names = admit(patient, cure)
        return build(names), *list_of(names)[0]


def _name(layer):
    return re.sub(r"_\d+$", "", layer.name)


def _findings(found):
    # MP012 is of the device, not of the patient.
    found = [each for each in found if each.severity != "advice" and each.code != "MP012"]
    codes = dict.fromkeys(finding.code for finding in found)
    text = f"{found[0].message}" if found else "nothing found"
    return Reading(", ".join(codes) or "nothing", text)


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


def read(instrument, patient, cure=None) -> Reading:
    """What an instrument shows on a patient; on one that a cure was applied to, if there is one."""
    return INSTRUMENTS[instrument][2](name_of(patient), cure)
