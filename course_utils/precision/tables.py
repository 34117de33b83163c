"""What flows through a model, as a table."""

import keras
import pandas as pd
from mixed_precision_lint import dtype_flow as flow
from mixed_precision_lint.calls import BATCH


def dtype_flow(model: keras.Model, batch_size: int = BATCH) -> pd.DataFrame:
    """A table of the dtypes that flow through a `keras.Model`: a row for each layer that
    computes, in the order of the calls; its columns are those of
    `mixed_precision_lint.dtype_flow`.

    `attrs["input_dtype"]` is what arrives at the model, `attrs["borders"]` {name: bytes
    that casts move} of models and layers that only hold others. ValueError for a model
    that is not built.

        >>> import keras
        >>> x = keras.Input((3,))
        >>> model = keras.Sequential([x, keras.layers.Dense(2, dtype="mixed_float16")])
        >>> dtype_flow(model)[["kind", "input_dtype", "cast", "output_dtype", "weight_bytes"]]
            kind input_dtype  cast output_dtype  weight_bytes
        0  Dense     float32  True      float16            32
    """
    result = flow(model, batch_size)
    table = pd.DataFrame(result.rows)
    table.attrs |= {
        "input_dtype": result.input_dtype,
        "borders": result.borders,
        "batch_size": result.batch_size,
    }
    return table
