"""What the clinic knows of each patient, and its cure as edits of a script: {pattern: text}.

The cures are written so that they can be tried on the other patients too.
"""

import numpy as np

CAREFUL = """\
import keras
import tensorflow as tf


class Careful(keras.Sequential):
    def train_step(self, data):
        kept = [tf.identity(v) for v in self.non_trainable_variables]
        scale = tf.identity(getattr(self.optimizer, "dynamic_scale", 1.0))
        logs = super().train_step(data)
        skipped = tf.convert_to_tensor(getattr(self.optimizer, "dynamic_scale", 1.0)) < scale
        for variable, value in zip(self.non_trainable_variables, kept, strict=True):
            variable.assign(tf.where(skipped, value, tf.convert_to_tensor(variable)))
        return logs

"""
SUM = """\
import tensorflow as tf


def wide_sum(values, *axes):
    return tf.reduce_sum(tf.cast(values, "float32"), *axes)

"""

PLAIN = """\
import keras
from keras import layers, ops


class Plain(layers.Dense):
    def call(self, x):
        return self.activation(ops.matmul(x, self.kernel) + self.bias)

"""

CHARTS = {
    "mask": {
        "title": "Digits as sequences",
        "family": "nan",
        "symptom": "The loss is NaN from the first step on.",
        "diagnosis": "a mask constant beyond float16",
        "cure": "Mask with a number that float16 has, such as -1e4.",
        "edits": {r"-1e9\b": "-1e4"},
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "ids": {
        "title": "Texts in two classes",
        "family": "still",
        "symptom": "Validation stays at chance. No NaN, no warning.",
        "diagnosis": "token ids rounded to 16 bits",
        "cure": "Give the input the dtype of what comes in: int32.",
        "edits": {r"keras\.Input\((\([^()]*\))\)": r'keras.Input(\1, dtype="int32")'},
        "well": lambda v: v.report["accuracy"] > 0.9,
    },
    "batchnorm": {
        "title": "Digits from a camera",
        "family": "fine",
        "symptom": "The training loss falls, but each validation is NaN.",
        "diagnosis": "statistics of a skipped step",
        "cure": "Put the moving statistics back when a step was skipped.",
        "edits": {r"keras\.Sequential\(": "Careful("},
        "before": CAREFUL,
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "waits": {
        "title": "Scanned digits",
        "family": "fine",
        "symptom": "A step takes as long under mixed_bfloat16 as in float32.",
        "diagnosis": "a wait for each batch",
        "cure": "Keep each picture that was read.",
        "edits": {r"(?m)^def picture": "@functools.cache  # each is read once\ndef picture"},
        "before": "import functools\n\n",
        "well": lambda v: 2 * sum(v.waits[-12:]) < sum(v.ms[-12:]),
    },
    "scale_loss": {
        "title": "A training step of one's own",
        "family": "still",
        "symptom": "The loss does not move.",
        "diagnosis": "scale_loss forgotten",
        "cure": "Differentiate the scaled loss.",
        "edits": {
            r"(\n +)gradients = tape\.gradient\((\w+), ": (
                r"\1    scaled = self.optimizer.scale_loss(\2)\1gradients = tape.gradient(scaled, "
            )
        },
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "dice": {
        "title": "Large pictures",
        "family": "nan",
        "symptom": "The loss is NaN. With pictures a quarter as wide and as high all was well.",
        "diagnosis": "a sum beyond 65504",
        "cure": "Sum in float32.",
        "edits": {r"tf\.reduce_sum\(": "wide_sum("},
        "before": SUM,
        "well": lambda v: v.losses[-1] < 0.5,
    },
    "grown": {
        "title": "A mean of all that was seen",
        "family": "later",
        "symptom": "For some epochs the loss falls. From then on it is NaN.",
        "diagnosis": "a running sum beyond 65504",
        "cure": "Let the layer compute in float32: a weight is read in 16 bits, to add to it, too.",
        "edits": {r"Centre\(\)": 'Centre(dtype="float32")'},
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "dips": {
        "title": "A large first scale",
        "family": "fine",
        "symptom": "At the beginning the scale is halved again and again.",
        "diagnosis": "healthy: the scale finds its place",
        "cure": "Leave it alone.",
        "edits": {},
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "accumulate": {
        "title": "Four batches at a time",
        "family": "fine",
        "symptom": "Many steps move no weight.",
        "diagnosis": "healthy: collects four batches",
        "cure": "Leave it alone.",
        "edits": {},
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "epsilon": {
        "title": "Digits, column by column",
        "family": "nan",
        "symptom": "The loss is NaN from the first step on. In float32 it never was.",
        "diagnosis": "an epsilon that is 0 in float16",
        "cure": "Take an epsilon that float16 has, such as 1e-4.",
        "edits": {r"\b1e-8\b": "1e-4"},
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "resume": {
        "title": "A run in two parts",
        "family": "jump",
        "symptom": "After the run is resumed, the loss jumps up.",
        "diagnosis": "an optimizer loaded before it was built",
        "cure": "Build the optimizer before you load.",
        "edits": {
            r"(?m)^( *)model\.compile\(.*$": (
                r"\g<0>\n\1model.optimizer.build(model.trainable_variables)"
            )
        },
        "well": lambda v: sum(v.losses[-24:]) / 24 < 0.2,
    },
    "clip": {
        "title": "Clipped gradients",
        "family": "still",
        "symptom": "The loss does not move, and nothing is NaN.",
        "diagnosis": "gradients clipped while scaled",
        "cure": "Let the inner optimizer clip.",
        "edits": {
            r"gradients, _ = tf\.clip_by_global_norm\(.*\)": "",
            r"optimizers\.(SGD|Adam)\(((?:[^()]|\([^()]*\))*)\)": (
                r"optimizers.\1(\2, global_clipnorm=1.0)"
            ),
        },
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "narrow": {
        "title": "A narrow network",
        "family": "fine",
        "symptom": "A step takes as long under mixed_bfloat16 as in float32.",
        "diagnosis": "healthy: too narrow",
        "cure": "Leave it alone, or train something wider.",
        "edits": {},
        "well": lambda v: v.report["accuracy"] > 0.7,
    },
    "pretrained": {
        "title": "Weights of another run",
        "family": "nan",
        "symptom": "The loss is NaN in every step. An earlier run in bfloat16 was well.",
        "diagnosis": "activations beyond float16",
        "cure": "Compute that layer in float32, or go on in bfloat16.",
        "edits": {r"kernel_initializer=LARGE\)": 'kernel_initializer=LARGE, dtype="float32")'},
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "bfloat16": {
        "title": "Small steps",
        "family": "still",
        "symptom": "Each epoch has the losses of the epoch before.",
        "diagnosis": "Adam on weights of bfloat16",
        "cure": "Keep the weights in float32: mixed_bfloat16.",
        "edits": {r'policy\("(b?float16)"\)': r'policy("mixed_\1")'},
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "faint": {
        "title": "One loss of several",
        "family": "still",
        "symptom": "The loss does not move, and the scale stands still.",
        "diagnosis": "a loss scale too small",
        "cure": "Take a larger loss scale: Keras's own begins at 32,768.",
        "edits": {r"keras\.optimizers\.LossScaleOptimizer\((\w+), .*\)": r"\1"},
        "well": lambda v: v.report["accuracy"] > 0.8,
    },
    "bias": {
        "title": "Degrees in two rooms",
        "family": "still",
        "symptom": "The loss hardly falls. In float32 it fell at once.",
        "diagnosis": "a bias added up in bfloat16",
        "cure": "Add the bias with +, whose gradient is added up in float32.",
        "edits": {r"layers\.Dense\((?=2\)|16, activation=.tanh)": "Plain("},
        "before": PLAIN,
        "well": lambda v: v.losses[-1] < 10,
    },
    "late": {
        "title": "A wide network",
        "family": "fine",
        "symptom": "A step takes as long under mixed_bfloat16 as in float32.",
        "diagnosis": "a policy set too late",
        "cure": "Set the policy first: a layer takes it when it is made, and keeps it.",
        "edits": {
            r"(?s)(def build.*?)    (keras\.config\.set_dtype_policy\(.*?\)\n)": r"\2\n\n\1"
        },
        "well": lambda v: "bfloat16" in {each.compute_dtype for each in v.model.layers},
    },
    "pool": {
        "title": "Maps that share a pixel",
        "family": "still",
        "symptom": "The loss does not move, and is a number in each step. So nothing overflows.",
        "diagnosis": "a NaN hidden by a max pooling",
        "cure": "Use ops.softmax, which subtracts the largest number before it takes exp.",
        "edits": {r"parts = ops\.exp\(x\)\n.*": "return ops.softmax(x, axis=-1)"},
        "well": lambda v: v.report["accuracy"] > 0.7,
    },
    "masking": {
        "title": "Rows that were not measured",
        "family": "still",
        "symptom": "Validation stays at chance, though each missing row is masked.",
        "diagnosis": "a mask value rounded",
        "cure": "Let the Masking layer compute in float32.",
        "edits": {r"Masking\(MISSING\)": 'Masking(MISSING, dtype="float32")'},
        "well": lambda v: v.report["accuracy"] > 0.6,
    },
    "called": {
        "title": "Counts and volts",
        "family": "fine",
        "symptom": "It trains, and predict is right, but the model called by hand returns NaN.",
        "diagnosis": "an overflow in calls alone",
        "cure": "Multiply the two factors first: x * 0.1.",
        "edits": {r"x / 1e-4 \* 1e-5": "x * 0.1"},
        "well": lambda v: (
            v.report["accuracy"] > 0.7
            and 0 < float(v.model(np.full((1, 64), 16, "float32"))[0, 0]) < 1
        ),
    },
    "blame": {
        "title": "A shuffled data set",
        "family": "still",
        "symptom": "Since the script was changed to mixed_float16, it learns nothing.",
        "diagnosis": "no fault of 16 bits: labels mixed up",
        "cure": "Shuffle both in one call, so that they stay together.",
        "edits": {r"shuffle\(x, (.*?)\), shuffle\(y, .*\)": r"shuffle(x, y, \1)"},
        "well": lambda v: v.report["accuracy"] > 0.7,
    },
}
