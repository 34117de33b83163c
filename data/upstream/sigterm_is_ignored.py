"""SIGTERM does not end a process in which a MultiWorkerMirroredStrategy was made.

Seen with: TensorFlow 2.20.0 and 2.21.0, one worker. A hang like that of hang_of_two_workers.py
    therefore ends by SIGKILL alone.
Where: preemption_notifier.cc takes note of the signal and does not hand it on.
Prints: alive two seconds after SIGTERM
Should print: nothing
"""

import os
import signal
import time

import tensorflow as tf

cluster = tf.train.ClusterSpec({"worker": [f"localhost:{20000 + 2 * (os.getpid() % 5000)}"]})
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, "", "worker", 0)
tf.distribute.MultiWorkerMirroredStrategy(resolver)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(2)
print("alive two seconds after SIGTERM")
