"""An iterator of tf.data that lived for some seconds can take as long again to be deleted.

Seen with: TensorFlow 2.21.0, in one deletion of ten to thirty.
Where: a callback wakes `Model::OptimizeLoop` before `IsCancelled()` is true: it waits once more.
Prints: over 2 s: True, at work meanwhile: False
Should print: False, False
"""

import os
import time

import tensorflow as tf

iterators = [iter(tf.data.Dataset.range(99).batch(9).prefetch(2)) for _ in range(300)]
list(map(next, iterators))  # the first element starts the thread
time.sleep(6)
wall = work = 0.0
while iterators and wall < 2:
    start, cpu = time.perf_counter(), time.process_time()
    iterators.pop()
    wall, work = time.perf_counter() - start, time.process_time() - cpu
print(f"over 2 s: {wall > 2}, at work meanwhile: {work > 1}", flush=True)
os._exit(0)  # the end would delete all others
