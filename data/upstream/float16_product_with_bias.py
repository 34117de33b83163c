"""A float16 product that grappler merges with its bias runs in oneDNN's reference kernel.

Seen with: TensorFlow 2.21.0 on an Intel Xeon with avx512_fp16.
Where: the remapper makes one operation of three; oneDNN has no other float16 kernel for it.
Prints: remapping True: reference kernel True, 7.50 ms
    remapping False: reference kernel False, 0.07 ms
Elsewhere prints: remapping True: reference kernel False
    remapping False: reference kernel False
Should print: twice False, and about the same time
"""

import os
import subprocess
import sys

CODE = """import tensorflow as tf
tf.config.optimizer.set_experimental_options({"remapping": REMAPPING})
x, w, b = (tf.zeros(shape, "float16") for shape in ((32, 256), (256, 64), (64,)))
tf.function(lambda: tf.nn.relu(tf.nn.bias_add(x @ w, b)))()"""
for remapping in ("True", "False"):
    command = [sys.executable, "-c", CODE.replace("REMAPPING", remapping)]
    said = subprocess.check_output(command, env=os.environ | {"ONEDNN_VERBOSE": "1"}, text=True)
    lines = (line.replace("src:", "src_") for line in said.splitlines())  # oneDNN 3.7 writes it so
    found = [line for line in lines if ",exec,cpu," in line and "src_f16" in line]
    time = f", {float(found[-1].split(',')[-1]):,.2f} ms" if found else ""
    print(f"remapping {remapping}: reference kernel {',ref:any,' in ''.join(found)}{time}")
