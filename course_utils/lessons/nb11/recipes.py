"""The recipes of training in 8 bits and fewer, by name, beside what each does to a
tensor.

Read in Transformer Engine's documentation 2.15 and torchao's of March 2026, and in the
reports on DeepSeek-V3 (arXiv:2412.19437) and on NVFP4 (arXiv:2509.25149); that of Keras
3.15.1 was run.
"""

import io

import numpy as np
import pandas as pd

RECIPES = """\
recipe,one scale for,known,numbers (gradients),used by
delayed,the tensor,"from 1,024 steps before",E4M3 (E5M2),"Keras, T. Engine"
current,the tensor,after reading it all,E4M3 (E5M2),"torchao, T. Engine"
row-wise,a row,after reading the row,E4M3,torchao
128 × 128,"a square of weights, else 128 values",after reading it,E4M3,"DeepSeek-V3, T. Engine"
MXFP8,32 neighbors,after reading 32,E4M3,"torchao, T. Engine"
NVFP4,"16 neighbors, and the tensor",after reading it all,E2M1,T. Engine
"""


def compare_recipes(values: np.ndarray, kept: dict[str, np.ndarray]) -> pd.DataFrame:
    """The recipes that `kept` has, with the percentage of `values` that becomes 0 and the
    relative error in percent, two floats.

    `kept`: {name of a recipe: what the values become, an array of their shape}.

    Example:
        >>> values = np.array([3.0, 4.0])
        >>> compare_recipes(values, {"MXFP8": np.array([0.0, 4.0])})["error, %"].item()
        60.0
    """
    table = pd.read_csv(io.StringIO(RECIPES), index_col="recipe").loc[[*kept]]
    after = np.array([*kept.values()])
    wrong = [np.linalg.norm(each - values) for each in after]
    table["become 0, %"] = 100 * np.mean(after[:, values != 0] == 0, axis=1)
    table["error, %"] = 100 * np.array(wrong) / np.linalg.norm(values)
    return table.round(1)
