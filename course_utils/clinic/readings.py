"""Instruments that look at a model, or at a few of its steps: what they read.

Each takes a `clinic.Patient`, whose docstring has an example with all of them.
"""

import re
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import keras
import numpy as np
from mixed_precision_lint import examine as examine_anywhere
from mixed_precision_lint.finding import CODES, NARROW

from course_utils import precision
from course_utils.clinic.training_run import Patient

# What `examine` and `probe_step` find, in two words: the edges of the decision tree carry
# them.
WORDS = {
    "MP008": "16-bit weights",
    "MP028": "a number not held",
    "MP029": "a sum inside",
    "MP035": "a bias added up",
    "MP015": "no scale_loss",
    "MP017": "scaled limit",
    "MP021": "no step",
    "MP023": "rounded ids",
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


def examine(patient: Patient) -> Reading:
    """What the linter's `examine` says of a patient's model; nothing is trained.

    `values` are its errors and warnings, a list of `precision.Finding`.

    Example:
        >>> from course_utils import clinic
        >>> clinic.examine(clinic.patient("bfloat16")).kind
        '16-bit weights'
    """
    return _findings(examine_anywhere(built_model(patient)))


def flow(patient: Patient) -> Reading:
    """The dtypes that flow through a patient's model; nothing is trained.

    `values` is the table of `precision.dtype_flow`, a row for each layer.

    Example:
        >>> from course_utils import clinic
        >>> clinic.flow(clinic.patient("ids")).text
        'An Embedding is given bfloat16.'
    """
    table = precision.dtype_flow(built_model(patient))
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


def probe_step(patient: Patient) -> Reading:
    """What `precision.probe` says of a patient's training step on its first batch.

    `values` are errors and warnings, a list of `precision.Finding`.

    Example:
        >>> from course_utils import clinic
        >>> clinic.probe_step(clinic.patient("scale_loss")).kind
        'no scale_loss'
    """

    x, y, weights = patient.batch()

    def parts():
        model = built_model(patient)
        step = model.train_on_batch
        if weights is not None:
            step = partial(step, sample_weight=weights)
        return model, model.optimizer, step

    return _findings(precision.probe(parts, x, y))


def ranges(patient: Patient) -> Reading:
    """Smallest and largest of each variable of a trained model, and of each layer's
    output for what is held out, else for a batch.

    `values` is {name: (smallest, largest)}, floats: variables by their path, then layers.

    Example:
        >>> from course_utils import clinic
        >>> clinic.ranges(clinic.patient("batchnorm")).text
        'moving_mean: -inf to inf'
    """
    model = patient.train().model
    x = (patient.held or patient.batch())[0]
    values = {}
    for variable in model.variables:
        values[variable.path] = low, high = range_of(variable)
        if not np.isfinite(low + high):
            text = f"{variable.name}: {low:g} to {high:g}"
            return Reading("in a variable", text, values)
    extremes: list[tuple] = []  # the layer's name, and the smallest and the largest
    former = keras.layers.Layer.__call__

    def call(layer, *arguments, **options):
        outputs = former(layer, *arguments, **options)
        for output in keras.tree.flatten(outputs):
            values[layer.path] = range_of(output)
            extremes.append((short_name(layer), *values[layer.path]))
        return outputs

    with mock.patch.object(keras.layers.Layer, "__call__", call):
        model(x)
    for at, (name, low, high) in enumerate(extremes):
        if not np.isfinite(low + high):
            _, least, most = extremes[at - 1]
            before = f", before it {least:.3g} to {most:.3g}" if at else ""
            text = f"{name}: {low:g} to {high:g}{before}"
            return Reading("in a layer", text, values)
    _, lows, highs = zip(*extremes, strict=True)
    text = f"all layers between {min(lows):.3g} and {max(highs):.3g}"
    return Reading("finite", text, values)


def built_model(patient: Patient) -> keras.Model:
    """The model of a patient, called on symbols of its first batch, which tell dtypes.

    Example:
        >>> from course_utils import clinic
        >>> built_model(clinic.patient("ids")).built
        True
    """
    model = patient.model()
    model(
        keras.tree.map_structure(
            lambda x: keras.Input(x.shape[1:], dtype=x.dtype), patient.batch()[0]
        )
    )
    return model


def range_of(tensor: Any) -> tuple[float, float]:
    """The smallest and the largest number of a tensor of any dtype."""
    array = keras.ops.convert_to_numpy(keras.ops.cast(tensor, "float32"))
    return float(array.min()), float(array.max())


def _findings(findings):
    findings = [each for each in findings if each.severity != "advice"]
    codes = dict.fromkeys(map(_word, findings))
    text = findings[0].message if findings else "Nothing found."
    # Keras counts its layers through a whole session.
    text = re.sub(r"\b([a-z]\w*?)_\d+\b", r"\1", text)
    return Reading(", ".join(codes) or "nothing", text, findings)


def _word(finding):
    if finding.code == "MP009":
        infinite = "infinite" in finding.message
        return "an infinite constant" if infinite else "a constant of zero"
    if finding.code == "MP021" and "all zero" in finding.message:
        return "all zero"
    return WORDS.get(finding.code, CODES[finding.code])


def short_name(layer: keras.layers.Layer) -> str:
    """The name of a layer without its number: "dense" of "dense_3"."""
    return re.sub(r"_\d+$", "", layer.name)
