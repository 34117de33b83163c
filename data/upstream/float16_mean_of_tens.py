"""The float16 mean of 4,096 tens is 8.8 on a CPU, and their average pooling 16.

Seen with: TensorFlow 2.20 and 2.21, on a CPU, eagerly and in graphs; not under XLA.
Prints: mean of tens 8.805, average pooling 16.0
Should print: mean of tens 10.0, average pooling 10.0
Where: tensorflow/core/kernels/reduction_ops.h has a float accumulator for bfloat16 and none
for half; the pooling adds up, and counts, in its own dtype: its count stops at 2,048.
"""

import tensorflow as tf

tens = tf.fill((1, 64, 64, 8), tf.constant(10, "float16"))
mean = tf.reduce_mean(tens, (1, 2)).numpy()[0, 0]
pool = tf.nn.avg_pool2d(tens, 64, 64, "VALID").numpy()[0, 0, 0, 0]
print(f"mean of tens {mean:.3f}, average pooling {pool:.1f}")
