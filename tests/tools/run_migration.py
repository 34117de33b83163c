"""Runs the code of the migration table with whatever library this Python has.

    python tests/tools/run_migration.py                the columns that can run here
    python tests/tools/run_migration.py "Keras 3"      one column
    python tests/tools/run_migration.py --record       also writes them into data/migration.json

A column is one small script in parts, a part for each row of the table. What stands above
`# check` is what the table shows; below it are the assertions about it. `# note:` is a remark for
the reader. `# source:` names the page that documents a part whose hardware is missing. The last
part trains on tiny data with an overflow on the way.

The library of the column is all that is needed, and Python 3.8 is enough, so that TensorFlow 2.3
can run its own column: make a virtual environment, install the library, run this file.
"""

import argparse
import datetime
import importlib.metadata
import json
import platform
import re
import sys
import traceback
from pathlib import Path

RECORD = Path(__file__).resolve().parents[2] / "data" / "migration.json"
SETUP, TRAIN = "set up", "train with an overflow on the way"
SCRIPTS = {}

SCRIPTS["TF 2.3"] = """
# %% set up
import os
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.random.set_seed(0)
rng = np.random.RandomState(0)
x = 0.3 * rng.randn(16, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)
loss_fn = tf.keras.losses.MeanSquaredError()
folder = os.path.join(tempfile.mkdtemp(), "state")

def values(tensors):
    return [tf.convert_to_tensor(t).numpy() for t in tensors]

def close(these, those):
    return all(np.allclose(a, b, rtol=1e-2, atol=1e-4) for a, b in zip(these, those))

# %% set the policy
mp = tf.keras.mixed_precision.experimental
mp.set_policy("mixed_float16")
# check
first = layers.Dense(8, activation="relu")
assert first(x).dtype == "float16" and first.kernel.dtype == "float32"

# %% give one layer another dtype
second = layers.Dense(8, dtype="float32")
# check
assert second(first(x)).dtype == "float32"

# %% keep the output in float32
last = layers.Dense(1, dtype="float32")
# check
model = tf.keras.Sequential([first, second, last])
assert model(x).dtype == "float32"
weights = model.trainable_variables
assert len(weights) == 6

# %% scale the loss in a custom loop
optimizer = mp.LossScaleOptimizer(
    tf.keras.optimizers.SGD(0.1),
    loss_scale="dynamic")
with tf.GradientTape() as tape:
    loss = loss_fn(y, model(x, training=True))
    scaled_loss = optimizer.get_scaled_loss(loss)
scaled = tape.gradient(scaled_loss, weights)
# check
assert float(scaled_loss) == float(loss) * 2**15

# %% unscale the gradients
grads = optimizer.get_unscaled_gradients(scaled)
# check
with tf.GradientTape() as tape:
    loss = loss_fn(y, model(x, training=True))
assert close(values(tape.gradient(loss, weights)), values(grads))

# %% apply the step, or skip it on overflow
optimizer.apply_gradients(zip(grads, weights))
# note: Takes unscaled gradients. Where one is not finite it skips and halves the scale;
# note: iterations goes on.
# check
before = values(weights)
optimizer.apply_gradients(zip(grads, weights))
assert close(values(weights), [w - 0.1 * g for w, g in zip(before, values(grads))])
before, done = values(weights), int(optimizer.iterations)
optimizer.apply_gradients(zip([g * np.inf for g in grads], weights))
assert all((a == b).all() for a, b in zip(before, values(weights)))
assert int(optimizer.iterations) == done + 1

# %% read the current scale
float(optimizer.loss_scale())
# check
assert float(optimizer.loss_scale()) == 2**14

# %% keep the scale fixed
fixed = mp.LossScaleOptimizer(
    tf.keras.optimizers.SGD(0.1), loss_scale=1024)
# note: Nothing is skipped: an infinite gradient reaches the weights.
# check
assert float(fixed.get_scaled_loss(tf.constant(2.0))) == 2048
variable = tf.Variable(1.0)
fixed.apply_gradients([(tf.constant(np.inf), variable)])
assert not np.isfinite(variable.numpy())
assert float(fixed.loss_scale()) == 1024

# %% clip the gradients in the right place
grads = optimizer.get_unscaled_gradients(scaled)
grads, norm = tf.clip_by_global_norm(grads, 0.1)
optimizer.apply_gradients(zip(grads, weights))
# note: After unscaling, before applying.
# check
assert float(norm) > 0.2
assert abs(float(tf.linalg.global_norm(grads)) - 0.1) < 1e-3

# %% save and restore the scale
state = dict(model=model, optimizer=optimizer)
path = tf.train.Checkpoint(**state).save(folder)
tf.train.Checkpoint(**state).restore(path)
# check
fresh = mp.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1), "dynamic")
assert float(fresh.loss_scale()) == 2**15
tf.train.Checkpoint(model=model, optimizer=fresh).restore(path)
assert float(fresh.loss_scale()) == 2**14

# %% ask for bfloat16 hardware
gpus = tf.config.list_physical_devices("GPU")
ask = tf.config.experimental.get_device_details
[ask(gpu)["compute_capability"] for gpu in gpus]
# source: https://tensorflow.org/versions/r2.3/api_docs/python/tf/config/experimental/get_device_details
# note: NVIDIA GPUs from (8, 0) on have it. For other devices TensorFlow has no call that tells.

# %% train with an overflow on the way
scales, losses = [], []
for step in range(30):
    batch = x * np.float32(1e6 if step == 9 else 1)
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(batch, training=True))
        scaled_loss = optimizer.get_scaled_loss(loss)
    grads = optimizer.get_unscaled_gradients(tape.gradient(scaled_loss, weights))
    optimizer.apply_gradients(zip(grads, weights))
    scales.append(float(optimizer.loss_scale()))
    losses.append(float(loss))
assert scales == [2**14] * 9 + [2**13] * 21, scales
assert not np.isfinite(losses[9]) and losses[-1] < losses[0], losses
"""

SCRIPTS["TF 2.4–2.15"] = """
# %% set up
import os
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.random.set_seed(0)
rng = np.random.RandomState(0)
x = 0.3 * rng.randn(16, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)
loss_fn = tf.keras.losses.MeanSquaredError()
folder = os.path.join(tempfile.mkdtemp(), "state")

def values(tensors):
    return [tf.convert_to_tensor(t).numpy() for t in tensors]

def close(these, those):
    return all(np.allclose(a, b, rtol=1e-2, atol=1e-4) for a, b in zip(these, those))

# %% set the policy
mp = tf.keras.mixed_precision
mp.set_global_policy("mixed_float16")
# check
first = layers.Dense(8, activation="relu")
assert first(x).dtype == "float16" and first.kernel.dtype == "float32"

# %% give one layer another dtype
second = layers.Dense(8, dtype="float32")
# check
assert second(first(x)).dtype == "float32"

# %% keep the output in float32
last = layers.Dense(1, dtype="float32")
# check
model = tf.keras.Sequential([first, second, last])
assert model(x).dtype == "float32"
weights = model.trainable_variables
assert len(weights) == 6

# %% scale the loss in a custom loop
optimizer = mp.LossScaleOptimizer(
    tf.keras.optimizers.SGD(0.1))
with tf.GradientTape() as tape:
    loss = loss_fn(y, model(x, training=True))
    scaled_loss = optimizer.get_scaled_loss(loss)
scaled = tape.gradient(scaled_loss, weights)
# check
assert float(scaled_loss) == float(loss) * 2**15

# %% unscale the gradients
grads = optimizer.get_unscaled_gradients(scaled)
# check
with tf.GradientTape() as tape:
    loss = loss_fn(y, model(x, training=True))
assert close(values(tape.gradient(loss, weights)), values(grads))

# %% apply the step, or skip it on overflow
optimizer.apply_gradients(zip(grads, weights))
# note: Takes unscaled gradients. Where one is not finite it skips and halves the scale;
# note: iterations goes on.
# check
before = values(weights)
optimizer.apply_gradients(zip(grads, weights))
assert close(values(weights), [w - 0.1 * g for w, g in zip(before, values(grads))])
before, done = values(weights), int(optimizer.iterations)
optimizer.apply_gradients(zip([g * np.inf for g in grads], weights))
assert all((a == b).all() for a, b in zip(before, values(weights)))
assert int(optimizer.iterations) == done + 1

# %% read the current scale
float(optimizer.loss_scale)
# check
assert float(optimizer.loss_scale) == 2**14

# %% keep the scale fixed
fixed = mp.LossScaleOptimizer(
    tf.keras.optimizers.SGD(0.1),
    dynamic=False, initial_scale=1024)
# note: Nothing is skipped: an infinite gradient reaches the weights.
# check
assert float(fixed.get_scaled_loss(tf.constant(2.0))) == 2048
variable = tf.Variable(1.0)
fixed.apply_gradients([(tf.constant(np.inf), variable)])
assert not np.isfinite(variable.numpy())
assert float(fixed.loss_scale) == 1024

# %% clip the gradients in the right place
grads = optimizer.get_unscaled_gradients(scaled)
grads, norm = tf.clip_by_global_norm(grads, 0.1)
optimizer.apply_gradients(zip(grads, weights))
# note: After unscaling, before applying.
# check
assert float(norm) > 0.2
assert abs(float(tf.linalg.global_norm(grads)) - 0.1) < 1e-3

# %% save and restore the scale
state = dict(model=model, optimizer=optimizer)
path = tf.train.Checkpoint(**state).save(folder)
tf.train.Checkpoint(**state).restore(path)
# check
fresh = mp.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))
assert float(fresh.loss_scale) == 2**15
tf.train.Checkpoint(model=model, optimizer=fresh).restore(path)
assert float(fresh.loss_scale) == 2**14

# %% ask for bfloat16 hardware
gpus = tf.config.list_physical_devices("GPU")
ask = tf.config.experimental.get_device_details
[ask(gpu)["compute_capability"] for gpu in gpus]
# source: https://tensorflow.org/versions/r2.14/api_docs/python/tf/config/experimental/get_device_details
# note: NVIDIA GPUs from (8, 0) on have it. For other devices TensorFlow has no call that tells.

# %% train with an overflow on the way
scales, losses = [], []
for step in range(30):
    batch = x * np.float32(1e6 if step == 9 else 1)
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(batch, training=True))
        scaled_loss = optimizer.get_scaled_loss(loss)
    grads = optimizer.get_unscaled_gradients(tape.gradient(scaled_loss, weights))
    optimizer.apply_gradients(zip(grads, weights))
    scales.append(float(optimizer.loss_scale))
    losses.append(float(loss))
assert scales == [2**14] * 9 + [2**13] * 21, scales
assert not np.isfinite(losses[9]) and losses[-1] < losses[0], losses
"""

SCRIPTS["Keras 3"] = """
# %% set up
import os
import tempfile

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.RandomState(0)
x = 0.3 * rng.randn(16, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)
loss_fn = keras.losses.MeanSquaredError()
path = os.path.join(tempfile.mkdtemp(), "model.keras")

def values(tensors):
    return [tf.convert_to_tensor(t).numpy() for t in tensors]

def close(these, those):
    return all(np.allclose(a, b, rtol=1e-2, atol=1e-4) for a, b in zip(these, those))

# %% set the policy
keras.config.set_dtype_policy("mixed_float16")
# note: For layers made after it.
# check
first = layers.Dense(8, activation="relu")
assert first(x).dtype == "float16" and first.kernel.dtype == "float32"

# %% give one layer another dtype
second = layers.Dense(8, dtype="float32")
# check
assert second(first(x)).dtype == "float32"

# %% keep the output in float32
last = layers.Dense(1, dtype="float32")
# check
model = keras.Sequential([first, second, last])
assert model(x).dtype == "float32"
weights = model.trainable_variables
assert len(weights) == 6

# %% scale the loss in a custom loop
optimizer = keras.optimizers.LossScaleOptimizer(
    keras.optimizers.SGD(0.1))
optimizer.build(weights)
with tf.GradientTape() as tape:
    loss = loss_fn(y, model(x, training=True))
    scaled_loss = optimizer.scale_loss(loss)
scaled = tape.gradient(scaled_loss, weights)
# check
assert float(scaled_loss) == float(loss) * 2**15

# %% unscale the gradients
scale = optimizer.dynamic_scale
grads = [g / scale for g in scaled]
# note: For looking at them only: apply unscales by itself.
# check
with tf.GradientTape() as tape:
    loss = loss_fn(y, model(x, training=True))
assert close(values(tape.gradient(loss, weights)), values(grads))

# %% apply the step, or skip it on overflow
optimizer.apply(scaled, weights)
# note: Takes scaled gradients. Where one is not finite it skips and halves the scale;
# note: iterations stays.
# check
before = values(weights)
optimizer.apply(scaled, weights)
assert close(values(weights), [w - 0.1 * g for w, g in zip(before, values(grads))])
before, done = values(weights), int(optimizer.iterations.numpy())
optimizer.apply([g * np.inf for g in scaled], weights)
assert all((a == b).all() for a, b in zip(before, values(weights)))
assert int(optimizer.iterations.numpy()) == done

# %% read the current scale
float(optimizer.dynamic_scale.numpy())
# note: Once the optimizer is built.
# check
assert float(optimizer.dynamic_scale.numpy()) == 2**14

# %% keep the scale fixed
fixed = keras.optimizers.SGD(
    0.1, loss_scale_factor=1024)
model.compile(fixed, "mse", auto_scale_loss=False)
# note: Nothing is skipped: an infinite gradient reaches the weights.
# check
assert model.optimizer is fixed and float(fixed.scale_loss(tf.constant(2.0))) == 2048
variable = keras.Variable(1.0)
fixed.apply([tf.constant(1024.0)], [variable])
assert np.isclose(variable.numpy(), 0.9)
fixed = keras.optimizers.SGD(0.1, loss_scale_factor=1024)
fixed.apply([tf.constant(np.inf)], [variable])
assert not np.isfinite(variable.numpy()) and fixed.loss_scale_factor == 1024

# %% clip the gradients in the right place
clipping = keras.optimizers.LossScaleOptimizer(
    keras.optimizers.SGD(
        0.1, global_clipnorm=0.1))
# note: On the inner optimizer, which gets the unscaled gradients.
# check
clipping.build(weights)
before, norm = values(weights), float(tf.linalg.global_norm(grads))
clipping.apply([g * clipping.dynamic_scale for g in grads], weights)
expected = [w - 0.1 * g * 0.1 / norm for w, g in zip(before, values(grads))]
assert norm > 0.2 and close(values(weights), expected)

# %% save and restore the scale
model.compile(optimizer, "mse")
model.save(path)
model = keras.saving.load_model(path)
# note: Where compile made the loss scale, set the policy before you load, or it is lost.
# check
assert float(model.optimizer.dynamic_scale.numpy()) == 2**14
optimizer, weights = model.optimizer, model.trainable_variables
model.compile(keras.optimizers.SGD(0.1), "mse")
assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
model.save(path)
keras.config.set_dtype_policy("float32")
lost = keras.saving.load_model(path)
assert isinstance(lost.optimizer, keras.optimizers.SGD)
keras.config.set_dtype_policy("mixed_float16")

# %% ask for bfloat16 hardware
gpus = tf.config.list_physical_devices("GPU")
ask = tf.config.experimental.get_device_details
[ask(gpu)["compute_capability"] for gpu in gpus]
# source: https://www.tensorflow.org/api_docs/python/tf/config/experimental/get_device_details
# note: NVIDIA GPUs from (8, 0) on have it. For CPUs and TPUs: hardware.detect() of this course.

# %% train with an overflow on the way
scales, losses = [], []
for step in range(30):
    batch = x * np.float32(1e6 if step == 9 else 1)
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(batch, training=True))
        scaled_loss = optimizer.scale_loss(loss)
    optimizer.apply(tape.gradient(scaled_loss, weights), weights)
    scales.append(float(optimizer.dynamic_scale.numpy()))
    losses.append(float(loss))
assert scales == [2**14] * 9 + [2**13] * 21, scales
assert not np.isfinite(losses[9]) and losses[-1] < losses[0], losses
"""

SCRIPTS["PyTorch"] = """
# %% set up
import os
import tempfile

import torch

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
x = 0.3 * torch.randn(16, 4, device=device)
y = x.sum(dim=1, keepdim=True)
loss_fn = torch.nn.MSELoss()
first = torch.nn.Linear(4, 8, device=device)
second = torch.nn.Linear(8, 8, device=device)
last = torch.nn.Linear(8, 1, device=device)
path = os.path.join(tempfile.mkdtemp(), "scaler.pt")

# %% set the policy
with torch.autocast(device, dtype=torch.float16):
    h = torch.relu(first(x))
# note: No policy: a region. The weights stay in float32.
# check
assert h.dtype == torch.float16 and first.weight.dtype == torch.float32

# %% give one layer another dtype
with torch.autocast(device, dtype=torch.float16):
    h = torch.relu(first(x))
    with torch.autocast(device, enabled=False):
        h = second(h.float())
# check
assert h.dtype == torch.float32

# %% keep the output in float32
with torch.autocast(device, dtype=torch.float16):
    out = last(h).float()
    loss = loss_fn(out, y)
# check
assert out.dtype == loss.dtype == torch.float32

def model(x):
    with torch.autocast(device, dtype=torch.float16):
        h = torch.relu(first(x))
        with torch.autocast(device, enabled=False):
            h = second(h.float())
        return last(h).float()

weights = [p for layer in (first, second, last) for p in layer.parameters()]

def moved(weights, before, by):
    pairs = zip(weights, before, by)
    return all(torch.allclose(w, b - 0.1 * g, rtol=1e-2, atol=1e-4) for w, b, g in pairs)

# %% scale the loss in a custom loop
optimizer = torch.optim.SGD(weights, 0.1)
scaler = torch.amp.GradScaler(device)
optimizer.zero_grad()
loss = loss_fn(model(x), y)
scaler.scale(loss).backward()
# note: Starts at 65536.
# check
true = torch.autograd.grad(loss_fn(model(x), y), weights)
for weight, gradient in zip(weights, true):
    assert torch.allclose(weight.grad / 2**16, gradient, rtol=1e-2, atol=1e-4)

# %% unscale the gradients
scaler.unscale_(optimizer)
# note: In place, once a step. Only needed to look at them or to clip.
# check
for weight, gradient in zip(weights, true):
    assert torch.allclose(weight.grad, gradient, rtol=1e-2, atol=1e-4)

# %% apply the step, or skip it on overflow
scaler.step(optimizer)
scaler.update()
# note: step unscales if nobody did, and skips; update moves the scale.
# check
optimizer.zero_grad()
before = [w.detach().clone() for w in weights]
true = torch.autograd.grad(loss_fn(model(x), y), weights)
scaler.scale(loss_fn(model(x), y)).backward()
scaler.step(optimizer)
scaler.update()
assert moved(weights, before, true) and scaler.get_scale() == 2**16
before = [w.detach().clone() for w in weights]
optimizer.zero_grad()
scaler.scale(loss_fn(model(x * 1e6), y)).backward()
scaler.step(optimizer)
scaler.update()
assert all(torch.equal(w, b) for w, b in zip(weights, before))

# %% read the current scale
scaler.get_scale()
# check
assert scaler.get_scale() == 2**15

# %% keep the scale fixed
fixed = torch.amp.GradScaler(device, 1024.0)
optimizer.zero_grad()
fixed.scale(loss_fn(model(x), y)).backward()
fixed.step(optimizer)
fixed.update(new_scale=1024.0)
# note: Still skips a step that overflows.
# check
before = [w.detach().clone() for w in weights]
optimizer.zero_grad()
fixed.scale(loss_fn(model(x * 1e6), y)).backward()
fixed.step(optimizer)
fixed.update(new_scale=1024.0)
assert fixed.get_scale() == 1024 and all(torch.equal(w, b) for w, b in zip(weights, before))
optimizer.zero_grad()
true = torch.autograd.grad(loss_fn(model(x), y), weights)
fixed.scale(loss_fn(model(x), y)).backward()
fixed.step(optimizer)
assert moved(weights, before, true)

# %% clip the gradients in the right place
optimizer.zero_grad()
scaler.scale(loss_fn(model(x), y)).backward()
scaler.unscale_(optimizer)
clip = torch.nn.utils.clip_grad_norm_
norm = clip(weights, 0.1)
scaler.step(optimizer)
scaler.update()
# check
after = sum(float((w.grad ** 2).sum()) for w in weights) ** 0.5
assert float(norm) > 0.11 and abs(after - 0.1) < 1e-3 and scaler.get_scale() == 2**15

# %% save and restore the scale
torch.save(scaler.state_dict(), path)
scaler = torch.amp.GradScaler(device)
scaler.load_state_dict(torch.load(path))
# check
assert torch.amp.GradScaler(device).get_scale() == 2**16 and scaler.get_scale() == 2**15

# %% ask for bfloat16 hardware
torch.cuda.is_bf16_supported(
    including_emulation=False)
torch.cpu.get_capabilities()["avx512_bf16"]
# note: The first is for GPUs; without one here it said False. The second is for x86 processors.
# check
assert torch.cuda.is_available() or not torch.cuda.is_bf16_supported(including_emulation=False)
assert torch.cpu.get_capabilities()["avx512_bf16"] in (True, False)

# %% train with an overflow on the way
scales, losses = [], []
for step in range(30):
    optimizer.zero_grad()
    loss = loss_fn(model(x * (1e6 if step == 9 else 1)), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(weights, 0.1)
    scaler.step(optimizer)
    scaler.update()
    scales.append(scaler.get_scale())
    losses.append(loss.item())
assert scales == [2**15] * 9 + [2**14] * 21, scales
assert losses[9] - losses[9] != 0 and losses[-1] < losses[0], losses
"""

SCRIPTS["JAX"] = """
# %% set up
import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.RandomState(0)
x = 0.3 * rng.randn(16, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)
shapes = {"first": (4, 8), "second": (8, 8), "last": (8, 1)}
params = {k: jnp.asarray(0.5 * rng.randn(*s), jnp.float32) for k, s in shapes.items()}
path = os.path.join(tempfile.mkdtemp(), "scale.npz")

def close(these, those):
    pairs = zip(jax.tree.leaves(these), jax.tree.leaves(those))
    return all(np.allclose(a, b, rtol=1e-2, atol=1e-4) for a, b in pairs)

# %% set the policy
def half(a):
    return a.astype(jnp.float16)

h = jax.nn.relu(half(x) @ half(params["first"]))
# note: No policy: cast inside the function that is differentiated, then gradients are float32.
# check
assert h.dtype == jnp.float16 and params["first"].dtype == jnp.float32

# %% give one layer another dtype
h = h.astype(jnp.float32) @ params["second"]
# check
assert h.dtype == jnp.float32

# %% keep the output in float32
out = half(h) @ half(params["last"])
out = out.astype(jnp.float32)
# check
assert out.dtype == jnp.float32

def loss_fn(params, x, y):
    h = jax.nn.relu(half(x) @ half(params["first"]))
    h = h.astype(jnp.float32) @ params["second"]
    out = (half(h) @ half(params["last"])).astype(jnp.float32)
    return jnp.mean((out - y) ** 2)

# %% scale the loss in a custom loop
def scaled_loss(params, scale, x, y):
    return scale * loss_fn(params, x, y)

scale, good = jnp.float32(2**15), jnp.int32(0)
gradient = jax.grad(scaled_loss)
scaled = gradient(params, scale, x, y)
# note: The scale is a number of yours.
# check
assert scaled_loss(params, scale, x, y) == 2**15 * loss_fn(params, x, y)
assert all(g.dtype == jnp.float32 for g in scaled.values())

# %% unscale the gradients
grads = jax.tree.map(lambda g: g / scale, scaled)
# check
assert close(grads, jax.grad(loss_fn)(params, x, y))

# %% apply the step, or skip it on overflow
optimizer = optax.apply_if_finite(
    optax.sgd(0.1), 1000)
state = optimizer.init(params)

def apply(params, state, grads, scale, good):
    updates, state = optimizer.update(
        grads, state, params)
    params = optax.apply_updates(params, updates)
    finite = state.last_finite
    good = jnp.where(finite, good % 2000 + 1, 0)
    factor = jnp.where(good == 2000, 2.0, 1.0)
    scale = scale * jnp.where(finite, factor, 0.5)
    return params, state, scale, good
# note: Optax skips; moving the scale is yours. After 1000 bad steps in a row Optax applies one.
# check
before = params
params, state, scale, good = apply(params, state, grads, scale, good)
assert close(params, jax.tree.map(lambda w, g: w - 0.1 * g, before, grads))
assert (float(scale), int(good)) == (2**15, 1)
bad, before = jax.tree.map(lambda g: g * jnp.inf, grads), params
params, state, scale, good = apply(params, state, bad, scale, good)
assert all((params[k] == before[k]).all() for k in params)
assert (float(scale), int(good)) == (2**14, 0)
assert float(apply(params, state, grads, scale, jnp.int32(1999))[2]) == 2 * float(scale)

patient = optax.apply_if_finite(optax.sgd(0.1), 2)
waiting, finite = patient.init(params), []
for _ in range(3):
    updates, waiting = patient.update(bad, waiting, params)
    finite.append(bool(jnp.isfinite(updates["last"]).all()))
assert finite == [True, True, False]

# %% read the current scale
float(scale)
# check
assert float(scale) == 2**14

# %% keep the scale fixed
fixed = jnp.float32(1024)
scaled = gradient(params, fixed, x, y)
grads = jax.tree.map(lambda g: g / fixed, scaled)
updates, state = optimizer.update(
    grads, state, params)
params = optax.apply_updates(params, updates)
# note: Leave the scale alone. Optax still skips a step that overflows.
# check
assert close(grads, jax.grad(loss_fn)(before, x, y))
bad, before = jax.tree.map(lambda g: g * jnp.inf, grads), params
updates, state = optimizer.update(bad, state, params)
assert all((u == 0).all() for u in updates.values())

# %% clip the gradients in the right place
clip = optax.clip_by_global_norm(0.1)
optimizer = optax.apply_if_finite(
    optax.chain(clip, optax.sgd(0.1)), 1000)
# note: In the optimizer, which gets the unscaled gradients.
# check
large = jax.tree.map(lambda g: 1e3 * g, grads)
updates, state = optimizer.update(large, optimizer.init(params), params)
assert optax.global_norm(large) > 1 and abs(optax.global_norm(updates) - 0.01) < 1e-4

# %% save and restore the scale
np.savez(path, scale=scale, good=good)
saved = np.load(path)
scale = jnp.float32(saved["scale"])
good = jnp.int32(saved["good"])
# note: Or beside the parameters, in the checkpoint that you write anyway.
# check
assert (float(scale), int(good)) == (2**14, 0)

# %% ask for bfloat16 hardware
jax.devices()[0].device_kind
# note: JAX names the device; what it can is in the maker's table.
# check
assert isinstance(jax.devices()[0].device_kind, str)

# %% train with an overflow on the way
state, scales, losses = optimizer.init(params), [], []

@jax.jit
def step(params, state, scale, good, x):
    loss, scaled = jax.value_and_grad(scaled_loss)(params, scale, x, y)
    grads = jax.tree.map(lambda g: g / scale, scaled)
    return loss / scale, apply(params, state, grads, scale, good)

for number in range(30):
    batch = x * np.float32(1e6 if number == 9 else 1)
    loss, (params, state, scale, good) = step(params, state, scale, good, batch)
    scales.append(float(scale))
    losses.append(float(loss))
assert scales == [2**14] * 9 + [2**13] * 21, scales
assert not np.isfinite(losses[9]) and losses[-1] < losses[0], losses
"""

LIBRARIES = {
    "TF 2.3": ["tensorflow"],
    "TF 2.4–2.15": ["tensorflow"],
    "Keras 3": ["keras", "tensorflow"],
    "PyTorch": ["torch"],
    "JAX": ["jax", "optax"],
}


def parts(column):
    """The parts of a column's script.

    Returns:
        A dict from the name of a part to a dict: script (all its lines), code (what the table
        shows), note and source (text, "" if there is none).
    """
    found = {}
    for text in SCRIPTS[column].split("# %% ")[1:]:
        name, script = text.split("\n", 1)
        shown = script.split("# check\n")[0]
        said = {key: re.findall(f"^# {key}: (.*)$", shown, re.M) for key in ("note", "source")}
        code = re.sub("^# .*\n", "", shown, flags=re.M).strip()
        found[name] = {"script": script, "code": code}
        found[name].update((key, " ".join(lines)) for key, lines in said.items())
    return found


def rows(column):
    """The rows of the table: the parts of a script without the first and the last."""
    return [name for name in parts(column) if name not in (SETUP, TRAIN)]


def numbers(text):
    """The whole numbers in a text, which put versions in order."""
    return [int(number) for number in re.findall(r"\d+", text)]


def version(library):
    """The version of an installed library as a tuple of its first two numbers, or None."""
    try:
        return tuple(int(n) for n in importlib.metadata.version(library).split(".")[:2])
    except importlib.metadata.PackageNotFoundError:
        return None


def columns_here():
    """The columns whose libraries this Python has."""
    here = [c for c, names in LIBRARIES.items() if None not in map(version, names)]
    tensorflow = version("tensorflow") or (0, 0)
    fits = {
        "TF 2.3": tensorflow == (2, 3),
        "TF 2.4–2.15": (2, 4) <= tensorflow <= (2, 15),
        "Keras 3": (2, 16) <= tensorflow,
    }
    return [column for column in here if fits.get(column, True)]


def run(column):
    """Runs a column, part after part.

    Returns:
        A dict from the name of a part to its verdict: "run", "documented" for a part that has a
        source (it went through, but the hardware that it asks is not there), or what went wrong.
        After a part that failed, those that need it fail too.
    """
    verdicts, names = {}, {}
    for name, part in parts(column).items():
        try:
            exec(compile(part["script"], f"{column}: {name}", "exec"), names)
            verdicts[name] = "documented" if part["source"] else "run"
        except Exception as error:
            verdicts[name] = "".join(traceback.format_exception_only(type(error), error)).strip()
    return verdicts


def described(column):
    """The libraries of a column, the Python and the day, as text."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES[column]]
    return ", ".join([*versions, f"Python {platform.python_version()}", f"{datetime.date.today()}"])


def record(column, verdicts):
    """Writes the cells of a column that ran into data/migration.json.

    A cell keeps what it was checked with before, if its code is the same and the versions differ.
    """
    data = json.loads(RECORD.read_text(encoding="utf-8"))
    libraries = described(column).split(", Python")[0]
    table = {row["row"]: row["cells"] for row in data["rows"]}
    found, data["rows"] = parts(column), []
    for name in rows(column):
        part, cells = found[name], table.get(name, {})
        old = cells.get(column, {})
        kept = old["with"].split("; ") if old.get("code") == part["code"] else []
        kept = [run for run in kept if not run.startswith(libraries + ",")]
        by_version = sorted([*kept, described(column)], key=numbers)
        cells[column] = {
            "code": part["code"],
            "checked": verdicts[name],
            "with": "; ".join(by_version),
            "note": part["note"],
        }
        if part["source"]:
            cells[column]["source"] = part["source"]
        cells = {column: cells[column] for column in SCRIPTS if column in cells}
        data["rows"].append({"row": name, "cells": cells})
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    RECORD.write_text(text, encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Runs the code of the migration table.")
    parser.add_argument("columns", nargs="*", help="such as 'Keras 3'; those that can run here")
    parser.add_argument("--record", action="store_true", help="write them into the table's data")
    options = parser.parse_args(arguments)
    here = columns_here()
    wanted = options.columns or here
    for column in wanted:
        if column not in here:
            parser.error(f"{column} cannot run here: this Python has {', '.join(here) or 'none'}.")
    if not wanted:
        parser.error("This Python has none of the libraries: install TensorFlow, PyTorch or JAX.")
    status = 0
    for column in wanted:
        verdicts = run(column)
        print(f"{column} ({described(column)})")
        for name, verdict in verdicts.items():
            print(f"  {name}: {verdict}")
        if not set(verdicts.values()) <= {"run", "documented"}:
            status = 1
        elif options.record:
            record(column, verdicts)
    return status


if __name__ == "__main__":
    sys.exit(main())
