"""Instruments that look at a model, or at a few of its steps: what they read.

Each takes a `clinic.Patient`, whose docstring has an example with all of them.
"""

import re
from typing import Any, NamedTuple
from unittest import mock

import keras
import numpy as np

from course_utils import precision
from course_utils.clinic.training_run import Patient

NARROW = ("float16", "bfloat16")
# What `examine` and `probe_step` find, in two words: the edges of the decision tree carry
# them.
WORDS = {
    "MP001": "16-bit output",
    "MP002": "no loss scale",
    "MP008": "16-bit weights",
    "MP027": "16-bit loss",
    "MP028": "a number not held",
    "MP029": "a sum inside",
    "MP030": "cannot be called",
    "MP033": "a sum that stops",
    "MP034": "a hidden NaN",
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
    """What `precision.examine` says of a patient's model; nothing is trained.

    `values` are its errors and warnings, a list of `precision.Finding`.

    Example:
        >>> from course_utils import clinic
        >>> clinic.examine(clinic.patient("bfloat16")).kind
        '16-bit weights'
    """
    return _findings(precision.examine(built_model(patient)))


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

    x, y, *weights = patient.batch()

    def parts():
        model = built_model(patient)
        if not weights:
            return model, model.optimizer, model.train_on_batch
        return model, model.optimizer, lambda x, y: model.train_on_batch(x, y, *weights)

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
        low, high = _range(variable)
        values[variable.path] = (low, high)
        if not np.isfinite(low + high):
            text = f"{variable.name}: {low:g} to {high:g}"
            return Reading("in a variable", text, values)
    extremes: list[tuple] = []  # the layer's name, and the smallest and the largest
    former = keras.layers.Layer.__call__

    def call(layer, *arguments, **options):
        outputs = former(layer, *arguments, **options)
        for output in keras.tree.flatten(outputs):
            values[layer.path] = _range(output)
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
    low = min(low for _, low, _ in extremes)
    high = max(high for _, _, high in extremes)
    text = f"all layers between {low:.3g} and {high:.3g}"
    return Reading("finite", text, values)


def built_model(patient: Patient) -> keras.Model:
    """The model of a patient; one that its code leaves unbuilt was called on a batch.

    Example:
        >>> from course_utils import clinic
        >>> built_model(clinic.patient("ids")).built
        True
    """
    model = patient.build()
    if not model.built:
        model(patient.batch()[0])
    return model


def _range(tensor):
    array = keras.ops.convert_to_numpy(keras.ops.cast(tensor, "float32"))
    return float(array.min()), float(array.max())


def _findings(findings):
    # MP012 is of the device, not of the patient.
    findings = [
        each for each in findings if each.severity != "advice" and each.code != "MP012"
    ]
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
    return WORDS.get(finding.code, finding.code)


def short_name(layer: keras.layers.Layer) -> str:
    """The name of a layer without its number: "dense" of "dense_3"."""
    return re.sub(r"_\d+$", "", layer.name)
