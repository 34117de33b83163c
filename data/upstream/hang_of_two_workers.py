"""One overflow on one worker of two hangs both for good, here until a time limit ends them.

Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2, 3.14.1 and 3.15.1.
Where: keras/src/optimizers/loss_scale_optimizer.py, _tf_apply: each worker takes its own branch.
Prints: worker 1 has done step 0
Should print: steps 0 and 1 of worker 0 and of worker 1
"""

import faulthandler
import os

import tensorflow as tf

port, rank = 20000 + 2 * (os.getpid() % 5000), 0 if os.fork() else 1
faulthandler.dump_traceback_later(60, exit=True)
cluster = tf.train.ClusterSpec({"worker": [f"localhost:{port}", f"localhost:{port + 1}"]})
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, "", "worker", rank)
with (strategy := tf.distribute.MultiWorkerMirroredStrategy(resolver)).scope():
    weight = tf.keras.Variable([1.0])
    optimizer = tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.SGD())
run = tf.function(lambda gradient: strategy.run(optimizer.apply, ([gradient], [weight])))
for step in (0, 1):
    faulthandler.dump_traceback_later(15, exit=True)  # it says where it hangs, and ends
    run(tf.constant([float("inf") if rank > step else 1.0]))
    print(f"worker {rank} has done step {step}", flush=True)
