"""`model.export` stores every weight twice, and loading it fills the memory twice.

Known as: https://github.com/keras-team/keras/issues/23553
Seen with: TensorFlow 2.21.0, Keras 3.15.1.
Where: the export tracks Keras's variables and, apart from them, TensorFlow's behind them; they are
    different objects, so the checkpoint does not see that they are the same.
Prints: float32: export 2.0 times as large as the weights
    mixed_float16: export 2.0 times as large as the weights
Should print: twice 1.0
"""

import pathlib
import tempfile

import keras

for policy in ("float32", "mixed_float16"):
    keras.config.set_dtype_policy(policy)
    model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(256)])
    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, verbose=False)
        (stored,) = pathlib.Path(folder, "variables").glob("*.data-*")
        size = stored.stat().st_size / (4 * model.count_params())
    print(f"{policy}: export {size:.1f} times as large as the weights")
