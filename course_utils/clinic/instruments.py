"""The instruments of the clinic: each takes a model, or what builds it, and reads.

A `model` is a compiled `keras.Model`, `batches` are (x, y) after (x, y), `build` is a
function that returns the model afresh. A model that is trained keeps what it learned: give a
fresh one. In the examples it is a patient's; `clinic.Patient` has one with a model of
one's own and all instruments.
"""

import contextlib
import itertools
import linecache
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import keras
import numpy as np
import tensorflow as tf

from course_utils import precision
from course_utils.clinic import visits
from course_utils.clinic.visits import Patient, scale_of, train

NARROW = ("float16", "bfloat16")
UP = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
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


class Reading(NamedTuple):
    """What an instrument shows.

    Attributes:
        kind: a word or two, by which patients are told apart.
        text: one line for people.
        values: what it was read from; each instrument says what that is.
    """

    kind: str
    text: str
    values: Any


def examine(model) -> Reading:
    """What `precision.examine` says of a model; nothing is trained.

    `values` are its errors and warnings, a list of `precision.Finding`.

    Example:
        >>> from course_utils import clinic
        >>> clinic.examine(clinic.patient("bfloat16").build()).kind
        '16-bit weights'
    """
    return _findings(precision.examine(model))


def scale(model, batches, resumed=None) -> Reading:
    """The dynamic loss scale while a model is trained, step by step.

    `resumed` is as for `clinic.train`. `values` are the scales before each step, a list
    of floats, powers of two if they began as one, NaN where there is no loss scaling.

    Example:
        >>> from course_utils import clinic
        >>> sick = clinic.patient("mask")
        >>> clinic.scale(sick.build(), sick.batches).text
        '2¹⁵ → 2⁻¹⁰⁴ in 120 steps'
    """
    values = train(model, batches, resumed=resumed).scales
    scales = [scale for scale in values if not np.isnan(scale)]
    if not scales:
        return Reading("none", "There is no loss scaling.", values)
    falls = [at for at in range(1, len(scales)) if scales[at] < scales[at - 1]]
    jumps = [at for at in falls if scales[at] < scales[at - 1] / 2]
    course = f"{_power(scales[0])} → {_power(scales[-1])} in {len(scales)} steps"
    if scales[-1] == 0:
        text = f"{_power(scales[0])} → 0 in {scales.index(0)} steps"
        return Reading("falls", text, values)
    if jumps:
        at = jumps[0]
        text = f"{_power(scales[at - 1])} → {_power(scales[at])} after step {at}"
        return Reading("begins again", text, values)
    if len(falls) > len(scales) / 2:
        return Reading("falls", course, values)
    if falls:
        return Reading("dips", f"{course}, halved {len(falls)} times", values)
    return Reading("steady", course, values)


def flow(model) -> Reading:
    """The dtypes that flow through a model; nothing is trained.

    `values` is the table of `precision.dtype_flow`, a row for each layer.

    Example:
        >>> from course_utils import clinic
        >>> clinic.flow(clinic.patient("ids").build()).text
        'An Embedding is given bfloat16.'
    """
    table = precision.dtype_flow(model)
    narrow = table[table["variable_dtype"].isin(NARROW) & (table["parameters"] > 0)]
    ids = table[(table["kind"] == "Embedding") & table["input_dtype"].isin(NARROW)]
    if len(narrow):
        kind, dtype = narrow[["kind", "variable_dtype"]].iloc[0]
        return Reading("16-bit weights", f"{kind}: weights in {dtype}.", table)
    if len(ids):
        text = f"An Embedding is given {ids['input_dtype'].iloc[0]}."
        return Reading("16-bit ids", text, table)
    if not table["compute_dtype"].isin(NARROW).any():
        return Reading("float32", "No layer computes in 16 bits.", table)
    return Reading("mixed", "16 bits between the layers, weights in float32.", table)


def files(model, batches, resumed) -> Reading:
    """What of a model's optimizer comes back from a file, after ten steps.

    `resumed(model)` saves a model and returns what it reads again; None where nobody
    does. `values` are two pairs (steps, scale), before and after: an int, and a float
    that is NaN where there is no loss scaling.

    Example:
        >>> from course_utils import clinic
        >>> sick = clinic.patient("resume")
        >>> clinic.files(sick.build(), sick.batches, sick.resumed).values
        [(10, 65536.0), (0, 32768.0)]
    """
    if resumed is None:
        return Reading("no file", "Nothing is saved and read again.", [])
    train(model, batches, steps=10)
    both = model.optimizer, resumed(model).optimizer
    values = [(int(each.iterations.numpy()), scale_of(each)) for each in both]
    (steps, before), (count, after) = values
    text = (
        f"saved: {steps} steps, scale {_power(before)}; "
        f"read again: {count}, {_power(after)}"
    )
    whole = np.array_equal(values[0], values[1], equal_nan=True)
    return Reading("whole" if whole else "not whole", text, values)


def probe(build, x, y) -> Reading:
    """What `precision.probe` says of a training step on one batch.

    `x` and `y` are a batch, as `train_on_batch` takes it; `build()` is called more than
    once. `values` are errors and warnings, a list of `precision.Finding`.

    Example:
        >>> from course_utils import clinic
        >>> sick = clinic.patient("scale_loss")
        >>> clinic.probe(sick.build, *sick.batch()).kind
        'no scale_loss'
    """

    def parts():
        model = build()
        return model, model.optimizer, model.train_on_batch

    return _findings(precision.probe(parts, x, y))


def ranges(model, x) -> Reading:
    """Smallest and largest of each variable of a model, and of each layer's output.

    `x` is what the model is called with; nothing is trained. `values` is {name:
    (smallest, largest)}, floats: variables by their path, then layers.

    Example:
        >>> from course_utils import clinic
        >>> sick = clinic.patient("batchnorm")
        >>> visit = sick.train()
        >>> clinic.ranges(visit.model, sick.held[0]).text
        'moving_mean: -inf to inf'
    """
    values = {}
    for variable in model.variables:
        array = keras.ops.convert_to_numpy(variable).astype("float32")
        values[variable.path] = (float(array.min()), float(array.max()))
        if not np.isfinite(array).all():
            low, high = values[variable.path]
            text = f"{variable.name}: {low:g} to {high:g}"
            return Reading("in a variable", text, values)
    seen = []
    former = keras.layers.Layer.__call__

    def call(layer, *arguments, **options):
        outputs = former(layer, *arguments, **options)
        for output in keras.tree.flatten(outputs):
            array = keras.ops.convert_to_numpy(keras.ops.cast(output, "float32"))
            seen.append((_name(layer), float(array.min()), float(array.max())))
            values[layer.path] = seen[-1][1:]
        return outputs

    with mock.patch.object(keras.layers.Layer, "__call__", call):
        model(x)
    first = next((s for s in seen if not np.isfinite(s[1] + s[2])), None)
    if first is None:
        low = min(s[1] for s in seen)
        high = max(s[2] for s in seen)
        text = f"all layers between {low:.3g} and {high:.3g}"
        return Reading("finite", text, values)
    at = seen.index(first)
    before = f", before it {seen[at - 1][1]:.3g} to {seen[at - 1][2]:.3g}" if at else ""
    text = f"{first[0]}: {first[1]:g} to {first[2]:g}{before}"
    return Reading("in a layer", text, values)


def histogram(build, twin, batches) -> Reading:
    """The gradients that reach a model's weights at first, beside a float32 twin's.

    `twin()` returns the same model, built in float32. Four batches are taken, as many
    as may be accumulated. `values` are the largest magnitudes of both, two floats, NaN where
    no gradient came.

    Example:
        >>> from course_utils import clinic
        >>> sick = clinic.patient("clip")
        >>> clinic.histogram(sick.build, sick.twin().build, sick.batches).kind
        'too small'
    """
    mine, other = values = [
        _largest_gradient(each(), batches) for each in (build, twin)
    ]
    if not np.isfinite(mine):
        text = "No gradient reaches the weights: inf or NaN in each step."
        return Reading("not finite", text, values)
    text = f"largest {mine:.1e}, in a float32 twin {other:.1e}"
    return Reading("too small" if mine < other / 100 else "fits", text, values)


def profiler(model, batches) -> Reading:
    """How much of a step waits for its batch.

    `batches` should be made while they are waited for: a generator, or a tf.data.Dataset.
    `values` are the milliseconds of each step, and those of them that it waits, two
    lists of floats.

    Example:
        >>> from course_utils import clinic
        >>> sick = clinic.patient("slow")
        >>> clinic.profiler(sick.build(), sick.batches).kind
        'waits'
    """
    visit = train(model, batches)
    share = np.median(visit.waits) / np.median(visit.ms)
    text = f"{share:.0%} of a step is waiting for its batch."
    kind = "waits" if share > 0.5 else "computes"
    return Reading(kind, text, [visit.ms, visit.waits])


def numerics(model, batches, steps=12) -> Reading:
    """Where `tf.debugging.enable_check_numerics` stops the first steps.

    XLA is off meanwhile. The model has to be made before: with the check on, Keras
    cannot make weights of bfloat16. `values` is the operation's name in the graph, None
    if none was stopped at.

    Example:
        >>> from course_utils import clinic
        >>> sick = clinic.patient("dice")
        >>> clinic.numerics(sick.build(), sick.batches).text
        'Sum in: both = tf.reduce_sum(y * p)'
    """
    try:
        with _made_anew(model, jit_compile=False):
            tf.debugging.enable_check_numerics()
            train(model, batches, steps=steps)
    except tf.errors.InvalidArgumentError as error:
        if not (stopped := re.search(r"node (\S+)/CheckNumerics", str(error))):
            raise
        node = stopped[1]
        path = [re.sub(r"(_\d+)+$", "", part) for part in node.split("/")]
        kind = "backward" if "gradient" in node.lower() else path[-1].lower()
        text = f"{'/'.join(path[-2:])} in: {_line_of_code(str(error))}"
        return Reading(f"stops: {kind}", text, node)
    finally:
        tf.debugging.disable_check_numerics()
    return Reading("passes", f"{steps} steps without inf or NaN.", None)


def twin(model, batches, well, **options) -> Reading:
    """Whether a model that was built in float32 is well after its training.

    `well` and the options are as for `clinic.train`. `values` are the losses, a list of
    floats.

    Example:
        >>> from course_utils import clinic
        >>> sick = clinic.patient("ids").twin()
        >>> clinic.twin(sick.build(), sick.batches, sick.well, held=sick.held).text
        'It learns in float32.'
    """
    visit = train(model, batches, well=well, **options)
    if visit.well:
        return Reading("well", "It learns in float32.", visit.losses)
    return Reading("the same", "It fails in float32, too.", visit.losses)


def layer(build, batches, well, **options) -> Reading:
    """Whether a model is well after its training with one of its layers in float32.

    `well` and the options are as for `clinic.train`, which is called for each layer
    until one cures. `values` are the names of the layers that were tried.

    Example:
        >>> from course_utils import clinic
        >>> sick = clinic.patient("epsilon")
        >>> clinic.layer(sick.build, sick.batches, sick.well, held=sick.held).text
        'It learns with min_max in float32.'
    """
    tried: list[str] = []
    for at in itertools.count():
        model = build()
        if at == len(model.layers):
            break
        for each in model.layers[at]._flatten_layers():
            each.dtype_policy = "float32"
        tried.append(_name(model.layers[at]))
        if train(model, batches, well=well, **options).well:
            return Reading("cured", f"It learns with {tried[-1]} in float32.", tried)
    text = f"It fails with any of its {len(tried)} layers in float32."
    return Reading("no change", text, tried)


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
    sample = patient.held[0][-64:] if patient.held else patient.batch()[0]
    return ranges(patient.train().model, sample)


def _twin(patient):
    other = patient.twin()
    return twin(other.build(), other.batches, **other.options())


INSTRUMENTS = {
    "examine": Instrument("examine", 1, lambda p: examine(p.build())),
    "scale": Instrument(
        "Scale recorder", 2, lambda p: scale(p.build(), p.batches, p.resumed)
    ),
    "flow": Instrument("Dtype flow", 2, lambda p: flow(p.build())),
    "files": Instrument(
        "File inspector", 3, lambda p: files(p.build(), p.batches, p.resumed)
    ),
    "probe": Instrument("probe", 3, lambda p: probe(p.build, *p.batch())),
    "ranges": Instrument("Smallest and largest", 4, _ranges),
    "histogram": Instrument(
        "Gradient histogram", 5, lambda p: histogram(p.build, p.twin().build, p.batches)
    ),
    "profiler": Instrument("Profiler", 5, lambda p: profiler(p.build(), p.batches)),
    "numerics": Instrument(
        "check_numerics", 8, lambda p: numerics(p.build(), p.batches)
    ),
    "twin": Instrument("A float32 twin", 10, _twin),
    "layer": Instrument(
        "One layer in float32", 15, lambda p: layer(p.build, p.batches, **p.options())
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


@contextlib.contextmanager
def _made_anew(model, **settings):
    """Let a model make its training step anew under these settings, and again after."""
    former = {name: getattr(model, name) for name in settings}

    def take(values):
        for name, value in values.items():
            setattr(model, name, value)
        model.make_train_function(force=True)

    take(settings)
    try:
        yield
    finally:
        take(former)


def _largest_gradient(model, batches):
    """The largest magnitude of the first gradients that an update gets, of four batches."""
    sizes = []
    rule = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    former = rule.update_step

    def update_step(gradient, variable, rate):
        array = keras.ops.convert_to_numpy(gradient).astype("float32")
        sizes.append(np.abs(array).max())
        return former(gradient, variable, rate)

    with (
        _made_anew(model, run_eagerly=True),
        mock.patch.object(rule, "update_step", update_step),
    ):
        for batch in itertools.islice(batches, 4):
            model.train_on_batch(*batch)
    return float(max(sizes[:8], default=np.nan))


def _findings(found):
    # MP012 is of the device, not of the patient.
    found = [
        each for each in found if each.severity != "advice" and each.code != "MP012"
    ]
    codes = dict.fromkeys(WORDS.get(finding.code, finding.code) for finding in found)
    text = f"{found[0].message}" if found else "Nothing found."
    return Reading(", ".join(codes) or "nothing", text, found)


def _line_of_code(report):
    """The last line of code of the learner's own in TensorFlow's report of an error."""
    frames = re.findall(r'File "(.*?)", line (\d+)', report)
    inside = [at for at, (file, _) in enumerate(frames) if file == visits.__file__]
    own = [
        linecache.getline(file, int(line)).strip()
        for file, line in frames[max(inside, default=-1) + 1 :]
        if "-packages" not in file
    ]
    return own[-1] if own else "Keras's own code"


def _power(scale):
    """A scale as a power of two, as "2¹⁵"."""
    if np.isnan(scale):
        return "none"
    return f"2{str(round(np.log2(scale))).translate(UP)}" if scale > 0 else "0"


def _name(layer):
    return re.sub(r"_\d+$", "", layer.name)
