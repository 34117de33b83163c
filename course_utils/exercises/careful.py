"""The judge of notebook 09's function: a step that leaves nothing behind if it was
skipped.
"""

import numpy as np

from .answers import call, describe, number
from .small_training import hidden_model

CAREFUL = """\
def careful(model, x, y):
    kept = [v.numpy() for v in model.non_trainable_variables]
    scale = model.optimizer.dynamic_scale.numpy()
    loss = model.train_on_batch(x, y)
    if model.optimizer.dynamic_scale.numpy() < scale:
        for variable, value in zip(model.non_trainable_variables, kept, strict=True):
            variable.assign(value)
    return loss

"""
SLIPS = {
    "never move": {
        "    if model.optimizer.dynamic_scale.numpy() < scale:": "    if True:"
    },
    "has grown": {".numpy() < scale": ".numpy() != scale"},
    "are still what the skipped step made": [
        {
            "[v.numpy() for v in model.non_trainable_variables]": "model.non_trainable_variables"
        },
        {"variable.assign(value)": "value = variable"},
    ],
    "no step": {"loss = model.train_on_batch(x, y)": "loss = 0.0"},
    "returns None": {"\n    return loss": ""},
}


def careful_problem(careful, _):
    """What is wrong with it in good steps, one after which the scale grows, and a
    skipped one.
    """
    import keras  # late: it loads TensorFlow

    model = hidden_model("mixed_float16")
    source = np.random.RandomState(9)
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(), dynamic_growth_steps=2
    )
    optimizer.build(model.trainable_variables)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, run_eagerly=True)
    x = source.normal(size=(8, 6)).astype("float32")
    y = np.arange(8) % 3

    def state():
        return float(optimizer.dynamic_scale), [
            v.numpy() for v in model.non_trainable_variables
        ]

    for inputs in (x, x, 6e4 * x, x):
        scale, before = state()
        result = call(careful, model, inputs, y, end="`return loss`")
        after, found = state()
        if number(result, finite=False) is None:
            return f"It returns {describe(result)}: give the loss."
        skipped = inputs is not x
        kept = all(map(np.array_equal, before, found))
        if after == scale if skipped else kept and not float(optimizer.iterations):
            return "There was no step: call `model.train_on_batch(x, y)`, once."
        if skipped and not kept:
            return "The statistics are still what the skipped step made of them: put them back."
        if kept and not skipped and after > scale:
            return "The scale has grown, and you put the statistics back. Only a smaller one tells."
        if kept and not skipped:
            return (
                "The statistics never move: put them back only if the step was skipped."
            )
    return None
