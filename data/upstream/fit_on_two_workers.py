"""`fit` fails under MultiWorkerMirroredStrategy, in float32 too (keras-team/keras#20585).

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2, 3.14.1 and 3.15.1.
Where: keras/src/backend/tensorflow/trainer.py, _maybe_symbolic_build reduces what is PerReplica.
Prints: ValueError: Attempt to convert a value (PerReplica
    ValueError: Attempt to convert a value (PerReplica
Should print: works, twice
"""

import faulthandler
import os

import tensorflow as tf

port, rank = 20000 + 2 * (os.getpid() % 5000), 0 if os.fork() else 1
faulthandler.dump_traceback_later(60, exit=True)
cluster = tf.train.ClusterSpec({"worker": [f"localhost:{port}", f"localhost:{port + 1}"]})
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, "", "worker", rank)
with tf.distribute.MultiWorkerMirroredStrategy(resolver).scope():
    model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
try:
    print("works" if model.fit(tf.ones((8, 1)), tf.ones((8, 1)), verbose=0) else "")
except ValueError as problem:
    print("ValueError:", str(problem).partition(":")[0])
