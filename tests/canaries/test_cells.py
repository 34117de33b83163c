"""What cells of the notebooks print of TensorFlow, Keras and NumPy, on every version.

When a new release changes one of these behaviours, the cell that differs is the one to mend; a
notebook that is solved anew would show the new output without a word.
"""

from pathlib import Path

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from cells import Cells
from common import on_the_cpu  # noqa: F401

from course_utils import formats
from course_utils.training import dtype_policy

DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
IMPORTED = {"formats": formats, "keras": keras, "np": np, "tf": tf, "ml_dtypes": ml_dtypes}
IMPORTED |= {"dtypes": DTYPES, "dtype_policy": dtype_policy, "Path": Path, "x": 1 + 2**-8 + 2**-40}
# By notebook: the cells that only define something, and what the others print, in one line each.
PRINTED = {
    "01_floats": ("", {
        "sgd": "float32 0.9900 | bfloat16 1.0000 | float16 1.0000",
        "twice": 2 * "1.0039062500009095 to bfloat16: once 1.0078125, TensorFlow 1.0, ml_dtypes "
        "1.0 | " + "1.0004882812509095 to float16: once 1.0009765625, TensorFlow 1.0, NumPy "
        "1.0009765625",
        "mistake-mean": "wrong: nan | right: 200.0",
    }),
    "02_loss_scaling": ("network", {
        "blind": "weight: [1.] · scale: 65536.0",
        "floor": "after 15 bad steps: scale 1.0 | after 16 bad steps: scale 0.5 | after 142 bad "
        "steps: scale 0.0, weight [1.] | one good step later: weight [nan]",
        "where": "loss: float32 | gradient at an activation: float16 | gradient at a weight: "
        "float32 | its numbers are float16's: True",
        "softmax": "by hand in float16: [[nan 0. 0.]] | by hand, float32 inside: [[1.00e+00 "
        "4.54e-05 6.14e-06]] | tf.nn.softmax in float16: [[1.00e+00 4.54e-05 6.14e-06]]",
        "dot-product": "step by step in float16: 256.0 | as a matrix product: 409.5 | exact, then "
        "rounded: 409.5",
        "mistake-layer": "wrong: SGD · right: LossScaleOptimizer",
        "mistake-nan": "wrong: the loss is nan so all is lost | right: weights finite: True",
    }),
    "03_policy": ("save article", {
        "policies": "float32 computes in float32 stores in float32 | mixed_float16 computes in "
        "float16 stores in float32 | mixed_bfloat16 computes in bfloat16 stores in float32 | "
        "float16 computes in float16 stores in float16",
        "stored": "float32 4.05 MB of float32 | mixed_float16 4.05 MB of float32 | mixed_bfloat16 "
        "4.05 MB of float32 | float16 2.03 MB of float16 float32",
        "door": "[[ inf 3000.]]",
        "gradients": "float32 at 5, 12, 18: [0.99 1. 1. ] | mixed_bfloat16 at 5, 12, 18: [0.99 1. "
        "0. ] | mixed_float16 at 5, 12, 18: [0.99 inf 0. ]",
        "wrapped": "policy float32 SGD | policy mixed_float16 LossScaleOptimizer | policy "
        "mixed_bfloat16 SGD | policy float16 SGD | one layer's dtype SGD",
        "raw": "fails: InvalidArgumentError",
        "load": "wrapped by compile the layer computes in float16, Adam is at step 0 | wrapped by "
        "you the layer computes in float16, LossScaleOptimizer is at step 3",
        "autocast": "float32 arrives as float16 | float64 arrives as float16 | int32 arrives as "
        "int32",
        "promote": "keras.ops.add: float32 | half + single: cannot compute AddV2 as input "
        "#1(zero-based) was expected to be a half tensor but is a float tensor [Op:AddV2]",
        "article-mended": "mixed_float16 returns float16 | mixed_bfloat16 NotFoundError | float32 "
        "NotFoundError",
        "another-policy": "copied computes in float16, LossScaleOptimizer | layers computes in "
        "float16, Adam | model too computes in float16, LossScaleOptimizer",
        "mistake-fixed": "wrong: the factor is None | right: the factor is 128",
    }),
    "06_training_loop": ("network", {
        "manual": "SGD moves the weight by -0.0500000 | LossScaleOptimizer moves the weight by "
        "-0.0000015",
        "compile-frozen": "recorded with 1024.0 | 1024.0 | 1024.0",
        "mistake-zip": "apply(pairs): from 1 to 1.00 | apply_gradients(pairs): from 1 to 0.95",
    }),
}  # fmt: skip


@pytest.mark.parametrize("notebook", PRINTED)
@pytest.mark.usefixtures("on_the_cpu")
def test_cells_print_what_the_notebook_teaches(notebook):
    (defining, printed), cells, names = PRINTED[notebook], Cells(notebook), dict(IMPORTED)
    cells.run(*defining.split(), names=names)
    found = {id: cells.printed(id, names=names) for id in printed}
    assert {id: " ".join(" | ".join(lines).split()) for id, lines in found.items()} == printed
