"""The gradient of a bias is added up in bfloat16 on a CPU, and stops at 256.

Seen with: TensorFlow 2.20 and 2.21, on a CPU, eagerly and in graphs; not under XLA.
Prints: bfloat16: bias_add 256, add 4096
float16: bias_add 4096, add 4096
Should print: bfloat16: bias_add 4096, add 4096
float16: bias_add 4096, add 4096
Where: `BiasAddGrad` in tensorflow/core/kernels/bias_op.cc has a float accumulator for half
and none for bfloat16; the GPU's bias_op_gpu.cu.cc has both.
"""

import tensorflow as tf

for dtype in (tf.bfloat16, tf.float16):
    sums = []
    for add in (tf.nn.bias_add, tf.add):
        bias = tf.zeros(8, dtype)
        with tf.GradientTape() as tape:
            tape.watch(bias)
            y = add(tf.zeros((4096, 8), dtype), bias)
        sums.append(tape.gradient(y, bias, tf.ones_like(y))[0].numpy())
    print(f"{dtype.name}: bias_add {sums[0]:.0f}, add {sums[1]:.0f}")
