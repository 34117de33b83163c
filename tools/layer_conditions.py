"""What the table of every layer leaves out, measured: losses, masks, images of bytes.

    python -m tools.layer_conditions

writes data/layer_conditions.json, from which docs/layers.md is made.
"""

import keras
import numpy as np
from mixed_precision_lint.calls import calls_of, symbols
from mixed_precision_lint.finding import NARROW

from course_utils import paths, session
from course_utils.benchmark import records
from course_utils.training import dtype_policy
from tools.record import made

POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")
ARITHMETIC = (
    "Sum", "Mean", "RealDiv", "Mul", "AddV2", "Sub", "Square", "MatMul", "BatchMatMulV2",
    "Einsum", "Softmax", "Exp", "AvgPool",
)  # fmt: skip
LAYERS = keras.layers
WITH_LOSS = {
    "Dense(activity_regularizer)": lambda: LAYERS.Dense(3, activity_regularizer="l2"),
    "Conv2D(activity_regularizer)": lambda: LAYERS.Conv2D(
        2, 2, activity_regularizer="l2"
    ),
    "LSTM(activity_regularizer)": lambda: LAYERS.LSTM(3, activity_regularizer="l2"),
    "ActivityRegularization": lambda: LAYERS.ActivityRegularization(l2=0.1),
    'ActivityRegularization(dtype="float32")': lambda: LAYERS.ActivityRegularization(
        l2=0.1, dtype="float32"
    ),
    "Dense(kernel_regularizer)": lambda: LAYERS.Dense(3, kernel_regularizer="l2"),
}
WITH_MASK = {
    "GlobalAveragePooling1D": LAYERS.GlobalAveragePooling1D,
    "LSTM": lambda: LAYERS.LSTM(3),
    "Attention": LAYERS.Attention,
    "MultiHeadAttention": lambda: LAYERS.MultiHeadAttention(2, 4),
    "GroupQueryAttention": lambda: LAYERS.GroupQueryAttention(4, 2, 1),
}
OF_BYTES = {
    "Resizing": lambda: LAYERS.Resizing(2, 2),
    "Rescaling": lambda: LAYERS.Rescaling(1 / 255),
    "CenterCrop": lambda: LAYERS.CenterCrop(2, 2),
    "RandomFlip": LAYERS.RandomFlip,
    "RandomBrightness": lambda: LAYERS.RandomBrightness(0.1),
    "RandomContrast": lambda: LAYERS.RandomContrast(0.1),
    "Dropout": lambda: LAYERS.Dropout(0.1),
    "Flatten": LAYERS.Flatten,
    "MaxPooling2D": LAYERS.MaxPooling2D,
    "ZeroPadding2D": LAYERS.ZeroPadding2D,
    "Conv2D": lambda: LAYERS.Conv2D(2, 2),
}


def trains(make, policy):
    """What one step of `fit` with a layer does: "trains", or the error's type."""
    with dtype_policy(policy):
        layer = make()
    shape = (4, 4, 3) if isinstance(layer, LAYERS.Conv2D) else (4, 3)
    start = keras.Input(shape)
    end = LAYERS.Dense(1, dtype="float32")(LAYERS.Flatten()(layer(start)))
    model = keras.Model(start, end)
    model.compile("sgd", "mse", jit_compile=False)
    try:
        model.fit(np.ones((4, *shape), "float32"), np.ones((4, 1)), verbose=0)
    except TypeError as error:
        return type(error).__name__
    return "trains"


def in_16_bits(make, mask):
    """The arithmetic that a layer does in float16 under mixed_float16, with a mask or
    without: names of TensorFlow's operations.
    """
    with dtype_policy("mixed_float16"):
        layer = make()
        start = keras.Input((5,), dtype="int32")
        embedded = LAYERS.Embedding(9, 8, mask_zero=mask)(start)
        pair = isinstance(
            layer, (LAYERS.MultiHeadAttention, LAYERS.GroupQueryAttention)
        )
        pair_list = isinstance(layer, LAYERS.Attention)
        end = layer(embedded, embedded) if pair else None
        end = layer([embedded, embedded]) if pair_list else end
        model = keras.Model(start, layer(embedded) if end is None else end)
    operations: dict[str, None] = {}
    for call in calls_of(model, symbols(model)):
        outer = call
        while outer and outer.layer is not layer:
            outer = outer.outer
        for each in call.operations if outer else ():
            narrow = each.outputs and each.outputs[0].dtype.name in NARROW
            if each.type in ARITHMETIC and narrow:
                operations[each.type] = None
    return ", ".join(sorted(operations)) or "none"


def returned(make, policy):
    """The dtype that a layer returns for an image of bytes when it is called by itself."""
    with dtype_policy(policy):
        layer = make()
        image = keras.ops.convert_to_tensor(np.full((1, 4, 4, 3), 200, "uint8"))
        try:
            return keras.utils.standardize_dtype(layer(image, training=True).dtype)
        except TypeError:
            return keras.utils.standardize_dtype(layer(image).dtype)
        except Exception as error:  # whatever TensorFlow raises
            return type(error).__name__


def conditions():
    """The three tables, {name: rows}."""
    return {
        "losses": [
            {"layer": name, **{policy: trains(make, policy) for policy in POLICIES}}
            for name, make in WITH_LOSS.items()
        ],
        "masks": [
            {
                "layer": name,
                "without": in_16_bits(make, mask=False),
                "with": in_16_bits(make, mask=True),
            }
            for name, make in WITH_MASK.items()
        ],
        "bytes": [
            {"layer": name, **{policy: returned(make, policy) for policy in POLICIES}}
            for name, make in OF_BYTES.items()
        ],
    }


def main():
    session.setup()
    path = paths.data("layer_conditions.json")
    print(f"Written to {records.save(made('layer conditions', **conditions()), path)}")


if __name__ == "__main__":
    main()
