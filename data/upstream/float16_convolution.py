"""Gradients of a float16 convolution are computed in oneDNN's reference kernel, which is very slow.

Seen with: TensorFlow 2.21.0 on an Intel Xeon with avx512_fp16; amx_fp16, the cure, is hidden here.
Where: TensorFlow asks whether the CPU has float16 instructions, not whether oneDNN has kernels.
Prints: gradient of the weights: reference kernel True
Elsewhere prints: gradient of the weights: reference kernel False
Should print: False
"""

import os
import subprocess
import sys

CODE = """import tensorflow as tf
x, w = tf.zeros((8, 14, 14, 8), "float16"), tf.Variable(tf.zeros((3, 3, 8, 16), "float16"))
with tf.GradientTape() as tape:
    y = tf.nn.conv2d(x, w, 1, "SAME")
tape.gradient(y, w)"""
verbose = {"ONEDNN_VERBOSE": "1", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_AMX"}
said = subprocess.check_output([sys.executable, "-c", CODE], env=os.environ | verbose, text=True)
found = ",exec,cpu,convolution,ref:any,backward_weights," in said
print(f"gradient of the weights: reference kernel {found}")
