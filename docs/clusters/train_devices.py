"""The training of train.py on two devices of one process:

python -m course_utils drill train_devices.py --devices
"""

import tensorflow as tf
import train


def drill():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model, optimizer, iterator = train.parts(0, 1)
    optimizer.dynamic_scale.assign(2.0**15)  # or the first steps overflow by themselves
    step = train.step_of(strategy, model, optimizer)
    return strategy, model, optimizer, step, next(iterator)
