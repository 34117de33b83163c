"""Instruments that train a model, and watch: what they read.

Each takes a `clinic.Patient`, whose docstring has an example with all of them.
"""

import linecache
import re
from dataclasses import replace

import numpy as np
import tensorflow as tf

from course_utils.clinic import training_run
from course_utils.clinic.readings import Reading, range_of, short_name
from course_utils.clinic.training_run import Patient, scale_of

UP = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def scale(patient: Patient) -> Reading:
    """The dynamic loss scale while a model is trained, step by step.

    `values` are the scales before each step, a list of floats, powers of two if they
    began as one, NaN where there is no loss scaling.

    Example:
        >>> from course_utils import clinic
        >>> clinic.scale(clinic.patient("mask")).text
        '2¹⁵ → 2⁻¹⁰⁴ in 120 steps'
    """
    values = patient.train().scales
    scales = [scale for scale in values if not np.isnan(scale)]
    if not scales:
        return Reading("none", "There is no loss scaling.", values)
    falls = [at for at in range(1, len(scales)) if scales[at] < scales[at - 1]]
    jumps = [at for at in falls if scales[at] < scales[at - 1] / 2]
    count = scales.index(0) if scales[-1] == 0 else len(scales)
    course = f"{_power(scales[0])} → {_power(scales[-1])} in {count} steps"
    if scales[-1] == 0 or falls[-8:] == list(range(len(scales) - 8, len(scales))):
        start = falls[0] - 1
        kind = "falls later" if start else "falls"
        since = f", from step {start} on" if start else ""
        return Reading(kind, course + since, values)
    if jumps:
        at = jumps[0]
        text = f"{_power(scales[at - 1])} → {_power(scales[at])} after step {at}"
        return Reading("begins again", text, values)
    if falls:
        return Reading("dips", f"{course}, halved {len(falls)} times", values)
    return Reading("steady", course, values)


def files(patient: Patient) -> Reading:
    """What of a model's optimizer comes back from a file, after ten steps.

    `values` are two pairs (steps, scale), before and after: an int, and a float
    that is NaN where there is no loss scaling.

    Example:
        >>> from course_utils import clinic
        >>> clinic.files(clinic.patient("resume")).values
        [(10, 65536.0), (0, 32768.0)]
    """
    if patient.resumed is None:
        return Reading("no file", "Nothing is saved and read again.", [])
    model = replace(patient, resumed=None).train(steps=10).model
    before = _steps_and_scale(model.optimizer)
    after = _steps_and_scale(patient.resumed(model).optimizer)
    text = (
        f"saved: {before[0]} steps, scale {_power(before[1])}; "
        f"read again: {after[0]}, {_power(after[1])}"
    )
    whole = np.array_equal(before, after, equal_nan=True)
    return Reading("whole" if whole else "not whole", text, [before, after])


def histogram(patient: Patient) -> Reading:
    """The gradients that reach a model's weights at first, beside a float32 twin's.

    Four batches are taken, as many as may be accumulated. `values` are the largest
    magnitudes of both, two floats, NaN where no gradient came.

    Example:
        >>> from course_utils import clinic
        >>> clinic.histogram(clinic.patient("clip")).kind
        'too small'
    """
    mine = _largest_gradient(patient)
    other = _largest_gradient(patient.twin())
    values = [mine, other]
    if not np.isfinite(mine):
        text = "No gradient reaches the weights: inf or NaN in each step."
        return Reading("not finite", text, values)
    text = f"largest {mine:.1e}, in a float32 twin {other:.1e}"
    if mine == 0:
        return Reading("zero", text, values)
    return Reading("too small" if mine < other / 100 else "fits", text, values)


def profiler(patient: Patient) -> Reading:
    """How much of a step waits for its batch, where a tf.data.Dataset makes it.

    `values` are the milliseconds of each step, and those of them that it waits, two
    lists of floats.

    Example:
        >>> from course_utils import clinic
        >>> clinic.profiler(clinic.patient("narrow")).kind
        'computes'
    """
    run = patient.train()
    share = np.median(run.waits) / np.median(run.ms)
    text = f"{share:.0%} of a step is waiting for its batch."
    kind = "waits" if share > 0.5 else "computes"
    return Reading(kind, text, [run.ms, run.waits])


def numerics(patient: Patient) -> Reading:
    """Where `tf.debugging.enable_check_numerics` stops the first steps.

    XLA is off. `values` is the operation's name in the graph, None
    if none was stopped at.

    Example:
        >>> from course_utils import clinic
        >>> clinic.numerics(clinic.patient("dice")).text
        'Sum in: both = tf.reduce_sum(y * p)'
    """
    model = patient.model()  # with the check on, Keras makes no weights of bfloat16
    model.jit_compile = False
    model.make_train_function(force=True)  # `build` may have taken a step
    try:
        tf.debugging.enable_check_numerics()
        patient.train(model, steps=12)
    except tf.errors.InvalidArgumentError as error:
        match = re.search(r"node (\S+)/CheckNumerics", str(error))
        if not match:
            raise
        node = match[1]
        path = re.sub(r"(_\d+)+(?=/|$)", "", node).split("/")
        kind = "backward" if "gradient" in node.lower() else path[-1].lower()
        text = f"{'/'.join(path[-2:])} in: {_line_of_code(str(error))}"
        return Reading(f"stops: {kind}", text, node)
    finally:
        tf.debugging.disable_check_numerics()
    return Reading("passes", "12 steps without inf or NaN.", None)


def twin(patient: Patient) -> Reading:
    """Whether a model that was built in float32 is well after its training.

    `values` are the losses, a list of floats.

    Example:
        >>> from course_utils import clinic
        >>> clinic.twin(clinic.patient("ids")).text
        'It learns in float32.'
    """
    run = patient.twin().train()
    if run.well:
        return Reading("well", "It learns in float32.", run.losses)
    return Reading("the same", "It is not well in float32, either.", run.losses)


def layer(patient: Patient) -> Reading:
    """Whether a model is well after its training with one of its layers in float32.

    It is trained for each layer until one cures. `values` are the names of the layers
    that were tried.

    Example:
        >>> from course_utils import clinic
        >>> clinic.layer(clinic.patient("epsilon")).text
        'It learns with min_max in float32.'
    """
    names: list[str] = []
    for at in range(len(patient.model().layers)):
        model = patient.model()
        for each in model.layers[at]._flatten_layers():
            each.dtype_policy = "float32"
        names.append(short_name(model.layers[at]))
        try:
            well = patient.train(model).well
        except (TypeError, ValueError, tf.errors.OpError):
            continue  # its float32 meets another layer's 16 bits
        if well:
            text = f"It learns with {names[-1]} in float32."
            return Reading(f"cured by {names[-1]}", text, names)
    text = f"It is not well with any of its {len(names)} layers in float32."
    return Reading("no change", text, names)


def _steps_and_scale(optimizer):
    return int(optimizer.iterations.numpy()), scale_of(optimizer)


def _largest_gradient(patient):
    """The largest magnitude of the first gradients that an update gets, of four batches."""
    sizes = []
    model = patient.model()
    rule = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    former = rule.update_step

    def update_step(gradient, variable, rate):
        sizes.append(max(map(abs, range_of(gradient))))
        return former(gradient, variable, rate)

    rule.update_step = update_step
    model.run_eagerly = True
    model.make_train_function(force=True)
    patient.train(model, steps=4)
    return float(max(sizes[:8], default=np.nan))


def _line_of_code(report):
    """The last line of code of the learner's own in TensorFlow's report of an error."""
    code = ""
    for file, line in re.findall(r'File "(.*?)", line (\d+)', report):
        if file == training_run.__file__:
            code = ""
        elif "-packages" not in file:
            code = linecache.getline(file, int(line)).strip()
    return code or "Keras's own code"


def _power(scale):
    """A scale as a power of two, as "2¹⁵"."""
    if np.isnan(scale):
        return "none"
    return f"2{str(round(np.log2(scale))).translate(UP)}" if scale > 0 else "0"
