#!/bin/sh
# A matrix of ones, added up over its first axis by TensorFlow in float16, on a CPU: are the
# totals of its columns the same?
#
# Expected: yes. All columns hold the same numbers, so whatever is lost is lost in each.
# Seen (tensorflow-cpu 2.21.0, oneDNN on and off): in groups of eight columns 5,000 ones are
# 5,000. What is left behind the last group of eight stops at 2,048, one addition after
# another: with 10 columns the last two, with 100 the last four, with 4 all of them. The
# gradient of b in x + b is this sum, so of ten classes the last two have a smaller one. With
# 40,000 ones the groups of eight stop, too, at 8,192. In bfloat16 all columns are right.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q tensorflow-cpu==2.21.0
cat >"$folder/columns.py" <<'PYTHON'
from itertools import groupby

import tensorflow as tf


def runs(totals):
    """Neighbors that are equal, told as one."""
    groups = [(value, len(list(same))) for value, same in groupby(totals.numpy().tolist())]
    return ", ".join(f"{count} of {value:.0f}" for value, count in groups)


for dtype in ("float16", "bfloat16"):
    for rows, columns in ((5000, 4), (5000, 8), (5000, 10), (5000, 100), (40000, 10)):
        if dtype == "bfloat16":
            rows //= 5  # totals that it holds
        ones = tf.ones((rows, columns), dtype)
        with tf.GradientTape() as tape:
            bias = tf.zeros(columns, dtype)
            tape.watch(bias)
            result = ones + bias
        found = {runs(tf.reduce_sum(ones, 0)), runs(tape.gradient(result, bias, ones))}
        print(f"{dtype}, {rows} rows: {' / '.join(found)}")
PYTHON
for onednn in 0 1; do
    TF_ENABLE_ONEDNN_OPTS=$onednn TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=-1 \
        "$folder/env/bin/python" "$folder/columns.py" 2>/dev/null | tee "$folder/seen"
    diff - "$folder/seen" <<'WANTED'
float16, 5000 rows: 4 of 2048
float16, 5000 rows: 8 of 5000
float16, 5000 rows: 8 of 5000, 2 of 2048
float16, 5000 rows: 96 of 5000, 4 of 2048
float16, 40000 rows: 8 of 8192, 2 of 2048
bfloat16, 1000 rows: 4 of 1000
bfloat16, 1000 rows: 8 of 1000
bfloat16, 1000 rows: 10 of 1000
bfloat16, 1000 rows: 100 of 1000
bfloat16, 8000 rows: 10 of 8000
WANTED
done
