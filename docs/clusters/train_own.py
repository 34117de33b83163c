"""The training of train.py with Keras's own optimizer, which the drill has to find."""

import keras
import train

train.ReplicaSafeLossScaleOptimizer = keras.optimizers.LossScaleOptimizer
drill = train.drill
