#!/bin/sh
# Does a function that XLA compiles give the same sum for a constant and for an argument?
#
# Expected: yes. The program is the same, and jit_compile=True says who runs all of it.
# Seen (tensorflow-cpu 2.21.0): no, for bfloat16 and float16. XLA adds up a cumulated sum in
# float32: 4,096 ones, handed over as an argument, end at 4,096. Where the function makes the
# ones itself, TensorFlow's graph optimizer folds the sum before XLA sees it, with the
# kernel for CPUs, which adds up in 16 bits and stops at 256 or 2,048. In float32 both agree.
# So a small demonstration with numbers written in it can show the opposite of a training.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q tensorflow-cpu==2.21.0
cat >"$folder/sums.py" <<'PYTHON'
import tensorflow as tf


def last(terms):
    return tf.cumsum(terms)[-1]


for dtype in (tf.float32, tf.float16, tf.bfloat16):
    ones = tf.ones(4096, dtype)
    handed = tf.function(last, jit_compile=True)(ones)
    written = tf.function(lambda: last(tf.ones(4096, dtype)), jit_compile=True)()
    print(f"{dtype.name}: an argument {float(handed):.0f}, a constant {float(written):.0f}")
PYTHON
TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=-1 "$folder/env/bin/python" "$folder/sums.py" \
    2>/dev/null | tee "$folder/seen"
diff - "$folder/seen" <<'WANTED'
float32: an argument 4096, a constant 4096
float16: an argument 4096, a constant 2048
bfloat16: an argument 4096, a constant 256
WANTED
