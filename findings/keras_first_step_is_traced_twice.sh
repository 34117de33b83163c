#!/bin/sh
# How often does TensorFlow trace a training step of Keras before the second batch?
#
# Expected: once. The model is built, the batch keeps its shape, and a trace of a small
# Transformer takes more than a second.
# Seen (keras 3.15.1, tensorflow-cpu 2.21.0): twice. The first trace makes variables (the
# optimizer's slots, the metrics' sums), so TensorFlow throws it away and traces again.
# optimizer.build(model.trainable_variables) before the first step leaves one trace, unless
# the model has metrics of its own: their variables are made in the first trace, too, and
# compute_metrics() on any numbers makes them before.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q keras==3.15.1 tensorflow-cpu==2.21.0
cat >"$folder/count.py" <<'PYTHON'
import keras
import numpy as np

x, y = np.ones((8, 4), "float32"), np.zeros((8, 1), "float32")


def traces(metrics=None, build=False, compute=False):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("adam", "mse", metrics=metrics, jit_compile=False)
    count = 0
    former = model.train_step

    def train_step(data):
        nonlocal count
        count += 1
        return former(data)

    model.train_step = train_step
    if build:
        model.optimizer.build(model.trainable_variables)
    if compute:
        model.compute_metrics(x, y, y)
        model.reset_metrics()
    for _ in range(3):
        model.train_on_batch(x, y)
    return count


print("as it is:", traces())
print("optimizer built:", traces(build=True))
print("optimizer built, a metric:", traces(["mae"], build=True))
print("optimizer built, the metric's variables too:", traces(["mae"], True, True))
PYTHON
TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=-1 "$folder/env/bin/python" "$folder/count.py" \
    2>/dev/null | tee "$folder/seen"
diff - "$folder/seen" <<'WANTED'
as it is: 2
optimizer built: 1
optimizer built, a metric: 2
optimizer built, the metric's variables too: 1
WANTED
