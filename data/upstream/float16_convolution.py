"""Gradients of a float16 convolution are computed in oneDNN's reference kernel, which is very slow.

Seen with: TensorFlow 2.21.0 on an Intel Xeon with avx512_fp16 (and amx_fp16, which is hidden).
Where: TensorFlow asks whether the CPU has float16 instructions, not whether oneDNN has kernels.
Prints: float32: reference kernel False, 1.50 ms
    float16: reference kernel True, 420.00 ms
Elsewhere prints: float32: reference kernel False, 1.50 ms
    float16: reference kernel False
Should print: twice False, and about the same time
"""

import os
import subprocess
import sys

CODE = """import tensorflow as tf
x, y = tf.zeros((32, 14, 14, 32), DTYPE), tf.zeros((32, 14, 14, 64), DTYPE)
tf.compat.v1.nn.conv2d_backprop_filter(x, (3, 3, 32, 64), y, [1, 1, 1, 1], "SAME")"""
own = os.environ | {"ONEDNN_VERBOSE": "1", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_AMX"}
for dtype in ("float32", "float16"):
    command = [sys.executable, "-c", CODE.replace("DTYPE", repr(dtype))]
    lines = subprocess.check_output(command, env=own, text=True).splitlines()
    found = [line for line in lines if "exec,cpu,convolution" in line]
    time = f", {float(found[-1].split(',')[-1]):,.2f} ms" if found else ""
    print(f"{dtype}: reference kernel {',ref:any,' in ''.join(found)}{time}")
