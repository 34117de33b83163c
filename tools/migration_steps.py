"""Run rows of data/migration.json with one library, by that library's own Python, which
needs no more than the library:

    python tools/migration_steps.py "PyTorch"

It runs the rows on the output, on bfloat16 and on accumulation in the order of the page,
after those that they build on, and asserts what each does.
"""

# Python 3.8 knows no zip(strict=True).
# ruff: noqa: B905

import json
import platform
import sys
from pathlib import Path

import numpy as np

CODE = json.loads(
    (Path(__file__).parents[1] / "data/migration.json").read_text(encoding="utf-8")
)["code"]
POLICY, WIDER = "set the policy", "give one layer another dtype"
OUTPUT, SCALED = "keep the output in float32", "scale the loss in a custom loop"
STEP, BFLOAT16 = "apply the step, or skip it on overflow", "train in bfloat16"
SUMS = "accumulate gradients"
RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(32, 8)).astype("float32")
Y = RANDOM.normal(size=(32, 1)).astype("float32")


def is_rounded(out):
    """Whether all numbers are float16's."""
    out = np.asarray(out)
    assert out.dtype == np.float32
    return bool((out == out.astype(np.float16)).all())


def quarters(convert=lambda a: a):
    return [(convert(X[n::4]), convert(Y[n::4])) for n in range(4)]


def near(sums, whole):
    for ours, right in zip(sums, whole):
        assert np.allclose(ours, right, rtol=0.02, atol=1e-3)
        assert np.any(np.asarray(ours) != 0)


def keras_rows(code, names):
    """The rows of a Keras, of whichever generation."""
    tf, keras = names["tf"], names["keras"]
    names.update(layers=keras.layers, loss_fn=keras.losses.MeanSquaredError())
    exec(code[POLICY], names)
    exec(code[OUTPUT], names)

    def make_model(last=None):
        tf.random.set_seed(0)
        head = last or keras.layers.Dense(1, dtype="float32")
        first = keras.layers.Dense(16, activation="relu", input_shape=(8,))
        return keras.Sequential([first, head])

    model = make_model(names["last"])
    assert not is_rounded(model(X))
    names.update(model=model, make_model=make_model, x=tf.constant(X), y=tf.constant(Y))
    names["weights"] = weights = model.trainable_variables
    exec(code[SCALED], names)
    before = model.get_weights()
    if "accumulating" in code[SUMS]:
        exec(code[SUMS], names)
        assert type(model.optimizer).__name__ == "LossScaleOptimizer"
        for _ in range(2):  # the first steps may be skipped
            for x, y in quarters():
                model.train_on_batch(x, y)
        moved = model.get_weights()
        assert any(np.any(a != b) for a, b in zip(before, moved))
        model.set_weights(before)
        for n, (x, y) in enumerate(quarters()):
            model.train_on_batch(x, y)
            same = all(np.array_equal(*p) for p in zip(before, model.get_weights()))
            assert same == (n < 3)
        sums = [(b - a) / -0.1 for a, b in zip(before, model.get_weights())]
    else:
        names["parts"] = quarters(tf.constant)
        exec(code[SUMS], names)
        sums = [(b - a) / -0.1 for a, b in zip(before, model.get_weights())]
    model.set_weights(before)
    with tf.GradientTape() as tape:
        loss = names["loss_fn"](Y, model(X))
    near(sums, [g.numpy() for g in tape.gradient(loss, weights)])
    exec(code[BFLOAT16], names)
    model = names["model"]
    assert "LossScale" not in type(model.optimizer).__name__
    start = model.evaluate(X, Y, verbose=0)
    model.fit(X, Y, epochs=20, verbose=0)
    assert model.evaluate(X, Y, verbose=0) < start
    assert "bfloat16" in str(model.layers[0](X).dtype)


def torch_rows(code):
    import torch

    torch.manual_seed(0)
    first, second, last = (torch.nn.Linear(*n) for n in ((8, 16), (16, 16), (16, 1)))
    x, y = torch.tensor(X), torch.tensor(Y)
    names = dict(torch=torch, device="cpu", first=first, second=second, last=last)
    names.update(x=x, y=y, loss_fn=torch.nn.functional.mse_loss)
    exec(code[OUTPUT], names)
    assert not is_rounded(names["out"].detach())
    with torch.autocast("cpu", dtype=torch.float16):
        assert is_rounded(last(names["h"]).float().detach())
    net = torch.nn.Sequential(first, torch.nn.ReLU(), last)

    def model(x):
        with torch.autocast("cpu", dtype=torch.float16):
            return net(x).float()

    names.update(model=model, weights=list(net.parameters()))
    exec(code[SCALED], names)
    start = [w.detach().clone() for w in net.parameters()]
    names["parts"] = quarters(torch.tensor)
    exec(code[SUMS], names)
    sums = [((b - a) / -0.1).detach() for a, b in zip(start, net.parameters())]
    with torch.no_grad():
        for weight, old in zip(net.parameters(), start):
            weight.copy_(old)
    net.zero_grad()
    names["loss_fn"](model(x), y).backward()
    near(sums, [w.grad for w in net.parameters()])
    names.update(model=net, x=x, y=y)
    losses = []
    for _ in range(20):
        exec(code[BFLOAT16], names)
        losses.append(names["loss"].item())
    assert losses[-1] < losses[0]
    return torch.__version__


def jax_rows(code):
    import jax
    import jax.numpy as jnp
    import optax

    key = jax.random.split(jax.random.PRNGKey(0), 2)
    params = {
        "first": jax.random.normal(key[0], (8, 16)) / 3,
        "last": jax.random.normal(key[1], (16, 1)) / 4,
    }
    x, y = jnp.asarray(X), jnp.asarray(Y)
    names = dict(jax=jax, jnp=jnp, optax=optax, params=params, x=x, y=y)
    exec(code[POLICY], names)
    exec(code[OUTPUT], names)
    assert not is_rounded(names["out"])
    half = names["half"]
    narrow = (half(names["h"]) @ half(params["last"])).astype(jnp.float32)
    assert is_rounded(narrow)

    def loss_fn(params, x, y):
        half = names["half"]
        h = jax.nn.relu(half(x) @ half(params["first"]))
        out = h.astype(jnp.float32) @ params["last"]
        return jnp.mean((out - y) ** 2)

    names["loss_fn"] = loss_fn
    exec(code[SCALED], names)
    names["parts"] = quarters(jnp.asarray)
    exec(code[SUMS], names)
    whole = jax.grad(loss_fn)(params, x, y)
    near(jax.tree.leaves(names["grads"]), jax.tree.leaves(whole))
    few = code[STEP].replace("1000)", "3)")
    assert few != code[STEP]
    exec(few, names)
    bad = jax.tree.map(lambda p: jnp.full_like(p, jnp.inf), params)
    moved, state, scale, good = params, names["state"], 1.0, 0
    applied = []
    for _ in range(6):
        moved, state, scale, good = names["apply"](moved, state, bad, scale, good)
        applied.append(not bool(jnp.isfinite(moved["last"]).all()))
    assert applied == [False] * 3 + [True] * 3 and scale == 2.0**-6
    names.update(optimizer=optax.sgd(0.1), x=x, y=y, params=params)
    names["state"] = names["optimizer"].init(params)
    first = float(loss_fn(params, x, y))
    for _ in range(20):
        exec(code[BFLOAT16], names)
    assert names["half"](x).dtype == jnp.bfloat16
    assert float(loss_fn(names["params"], x, y)) < first
    return f"{jax.__version__}, optax {optax.__version__}"


def main(library):
    code = CODE[library]
    if library == "PyTorch":
        version = torch_rows(code)
    elif library == "JAX":
        version = jax_rows(code)
    else:
        import tensorflow as tf

        keras = tf.keras
        if library == "Keras 3":
            import keras
        keras_rows(code, {"tf": tf, "keras": keras})
        version = f"tensorflow {tf.__version__}"
    print(f"{library}: as the page says, {version}, Python {platform.python_version()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
