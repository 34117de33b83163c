"""Which numbers 16 bits hold; loads no framework."""

import math
from collections.abc import Iterator

import ml_dtypes  # noqa: F401  (teaches NumPy the name "bfloat16")
import numpy as np
from numpy.typing import ArrayLike

from mixed_precision_lint.finding import Finding

SMALLEST = 2.0**-24  # of float16; bfloat16's is as small as float32's
LARGEST = {"float16": 65504.0, "bfloat16": 3.38953139e38}
# what Keras's own Softmax takes
MASK = {"float16": "-30000", "bfloat16": "-1000000000"}
WIDER = 'x = keras.ops.cast(x, "float32")  # before it, and back afterwards'


def extreme(
    path: str, values: dict[str, float], dtype: str = "float16", repair: str = ""
) -> Iterator[Finding]:
    """MP009 for the numbers in a layer's code, {text: value}.

    `repair` is what mends them in a layer whose code is not the reader's.
    """
    for text, value in values.items():
        fix = WIDER
        if math.isfinite(value) and math.isinf(rounded(value, dtype)):
            problem = f"is infinite in {dtype}, and 0 times infinity is NaN."
            if value < 0:
                fix = f"{MASK[dtype]}  # what Keras's Softmax takes for {dtype}"
        elif dtype == "float16" and 0 < abs(value) < SMALLEST:
            problem = (
                "is below 6e-08, float16's smallest number, and protects from nothing "
                "there."
            )
        else:
            continue
        yield Finding("MP009", "warning", path, f"{text} {problem}", repair or fix)


def rounded(value: ArrayLike, dtype: str) -> np.ndarray:
    """A number, or an array of them, as the nearest in a dtype, in float64.

    NumPy rounds as the device does; what is too large becomes infinite.

        >>> float(rounded(-9999.0, "float16"))
        -10000.0
    """
    with np.errstate(over="ignore"):
        return np.asarray(value, "float32").astype(dtype).astype("float64")


def gap(value: ArrayLike, dtype: str) -> np.ndarray:
    """How far a number, or each of an array, is from the next larger one in a dtype.

    >>> float(gap(1990.0, "bfloat16"))
    8.0
    """
    bits = {"float16": 10, "bfloat16": 7}[dtype]
    exponent = np.floor(np.log2(np.maximum(np.abs(value), 2.0**-14)))
    return 2.0 ** (exponent - bits)
