"""`load_weights` drops the loss scale, with a warning, unless the optimizer was built before.

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2, 3.14.1 and 3.15.1.
Prints: built before loading True: scale 1048576
    built before loading False: scale 32768
Should print: twice 1048576, which is in the file
"""

import tempfile

import keras

keras.config.set_dtype_policy("mixed_float16")
folder = tempfile.TemporaryDirectory()
for built in (None, True, False):  # first the model that is saved
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    if built is not False:
        model.optimizer.build(model.trainable_variables)
    if built is None:
        model.optimizer.dynamic_scale.assign(2.0**20)
        model.save_weights(f"{folder.name}/saved.weights.h5")
    else:
        model.load_weights(f"{folder.name}/saved.weights.h5")
        print(f"built before loading {built}: scale {float(model.optimizer.scale_loss(1)):.0f}")
