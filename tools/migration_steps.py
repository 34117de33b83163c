"""Run the rows of data/migration.json with one library, by that library's own Python,
which needs no more than the library:

    python tools/migration_steps.py "PyTorch"

It runs the rows in the order in which they build on each other, asserts what each does,
and prints, as JSON, the versions and which rows did so. A row that does not is told on
the error stream and left out.
"""

# Python 3.8 knows no zip(strict=True).
# ruff: noqa: B905

import ast
import contextlib
import json
import platform
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np

CODE = json.loads(
    (Path(__file__).parents[1] / "data/migration.json").read_text(encoding="utf-8")
)["code"]
POLICY, WIDER = "set the policy", "give one layer another dtype"
OUTPUT, SCALED = "keep the output in float32", "scale the loss in a custom loop"
UNSCALED, STEP = "unscale the gradients", "apply the step, or skip it on overflow"
READ, FIXED = "read the current scale", "keep the scale fixed"
CLIPPED, SAVED = "clip the gradients in the right place", "save and restore the scale"
HARDWARE, BFLOAT16 = "ask for bfloat16 hardware", "train in bfloat16"
SUMS, ENDS = "accumulate gradients", "see where the scale ends"
HALF_LOSS, FP8 = "multiply a float16 loss by the scale", "cast to FP8"
RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(32, 8)).astype("float32")
Y = RANDOM.normal(size=(32, 1)).astype("float32")


class Rows:
    """The rows of one library, run in `names`, and which of them did what is said."""

    def __init__(self, library, **names):
        self.code, self.names, self.done = CODE[library], names, []

    def run(self, task, code=None):
        """Run a row; the value of its last line, if that is an expression."""
        tree = ast.parse(self.code[task] if code is None else code)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, task, "exec"), self.names)
        if last:
            return eval(compile(ast.Expression(last.value), task, "eval"), self.names)
        return None

    @contextlib.contextmanager
    def asserting(self, *tasks):
        """Note that these rows did what the block asserts, or tell why not."""
        try:
            yield
        except Exception:
            print("not so:", *tasks, file=sys.stderr)
            traceback.print_exc()
        else:
            self.done.extend(tasks)


def is_rounded(out):
    """Whether all numbers are float16's."""
    out = np.asarray(out)
    assert out.dtype == np.float32
    return bool((out == out.astype(np.float16)).all())


def quarters(convert=lambda a: a):
    return [(convert(X[n::4]), convert(Y[n::4])) for n in range(4)]


def near(ours, right):
    for one, other in zip(ours, right):
        assert np.allclose(one, other, rtol=0.02, atol=1e-3)
        assert np.any(np.asarray(one) != 0)


def norm_of(arrays):
    return float(np.sqrt(sum(np.sum(np.square(np.asarray(a))) for a in arrays)))


def finite(arrays):
    return all(np.isfinite(np.asarray(a)).all() for a in arrays)


class Keras:
    """The rows of a Keras, of whichever generation."""

    def __init__(self, library, tf, keras):
        self.tf, self.new = tf, library == "Keras 3"
        names = {"tf": tf, "keras": keras, "layers": keras.layers}
        names["loss_fn"] = keras.losses.MeanSquaredError()
        self.rows = Rows(library, **names)
        self.names, self.keras = self.rows.names, keras

    def model(self, last=None):
        self.tf.random.set_seed(0)
        head = last or self.keras.layers.Dense(1, dtype="float32")
        first = self.keras.layers.Dense(16, activation="relu", input_shape=(8,))
        model = self.keras.Sequential([first, head])
        model(X[:1])
        return model

    def true(self):
        """The gradients without any scale."""
        model, names = self.names["model"], self.names
        with self.tf.GradientTape() as tape:
            loss = names["loss_fn"](Y, model(X))
        return [g.numpy() for g in tape.gradient(loss, names["weights"])]

    def moves(self, run):
        """The steps of all weights that `run` takes, and the weights put back."""
        model = self.names["model"]
        before = model.get_weights()
        run()
        after = model.get_weights()
        model.set_weights(before)
        return [b - a for a, b in zip(before, after)]

    def scale(self, optimizer):
        if self.new:
            return float(optimizer.dynamic_scale.numpy())
        scale = optimizer.loss_scale
        return float(scale() if callable(scale) else scale)

    def apply(self, grads, weights):
        optimizer = self.names["optimizer"]
        if self.new:
            optimizer.apply(grads, weights)
        else:
            optimizer.apply_gradients(zip(grads, weights))

    def run(self):
        rows, names, tf = self.rows, self.names, self.tf
        with rows.asserting(POLICY):
            rows.run(POLICY)
            first = self.keras.layers.Dense(4)
            assert first(X[:1]).dtype == "float16"
        with rows.asserting(WIDER):
            rows.run(WIDER)
            assert names["second"](first(X[:1])).dtype == "float32"
        with rows.asserting(OUTPUT):
            rows.run(OUTPUT)
            names["model"] = model = self.model(names["last"])
            assert not is_rounded(model(X))
        names.update(make_model=self.model, x=tf.constant(X), y=tf.constant(Y))
        names["weights"] = weights = model.trainable_variables
        with rows.asserting(SCALED, UNSCALED):
            rows.run(SCALED)
            rows.run(UNSCALED)
            near([g.numpy() for g in names["grads"]], self.true())
        with rows.asserting(READ):
            assert rows.run(READ) == 2.0**15
        with rows.asserting(STEP):
            self.step()
        with rows.asserting(CLIPPED):
            self.clip()
        with rows.asserting(SUMS):
            self.accumulate()
        with rows.asserting(FIXED):
            self.fixed()
        with rows.asserting(HALF_LOSS):
            rows.run(SCALED)
            product = rows.run(HALF_LOSS)
            if self.new:
                assert float(product) == 131072 and product.dtype == "float32"
                sgd = self.keras.optimizers.SGD()
                fresh = self.keras.optimizers.LossScaleOptimizer(sgd)
                product = fresh.scale_loss(names["loss"])
            assert np.isinf(float(product)) and product.dtype == "float16"
        with rows.asserting(SAVED):
            self.save()
        with rows.asserting(ENDS):
            rows.run(SCALED)
            rows.run(UNSCALED)
            before = model.get_weights()
            ended = rows.run(ENDS)
            assert ended == (0 if self.new else 1)
            assert all(map(np.array_equal, before, model.get_weights()))
            self.apply([tf.zeros_like(w) for w in weights], weights)
            assert finite(model.get_weights()) != self.new
        with rows.asserting(HARDWARE):
            assert rows.run(HARDWARE) == []  # no GPU here
        if FP8 in rows.code:
            with rows.asserting(FP8):
                assert np.isnan(float(rows.run(FP8)))
        with rows.asserting(BFLOAT16):
            rows.run(BFLOAT16)
            model = names["model"]
            assert "LossScale" not in type(model.optimizer).__name__
            start = model.evaluate(X, Y, verbose=0)
            model.fit(X, Y, epochs=20, verbose=0)
            assert model.evaluate(X, Y, verbose=0) < start
            assert "bfloat16" in str(model.layers[0](X).dtype)

    def step(self):
        """A good step moves, a bad one halves the scale; iterations by generation."""
        rows, optimizer = self.rows, self.names["optimizer"]
        step = self.moves(lambda: rows.run(STEP))
        near([-s / 0.1 for s in step], self.true())
        good = self.names["grads"], self.names["scaled"]
        inf = [g * np.inf for g in good[0]]
        self.names.update(grads=inf, scaled=inf)
        inner = getattr(optimizer, "inner_optimizer", optimizer)
        scale, before = self.scale(optimizer), int(inner.iterations.numpy())
        step = self.moves(lambda: rows.run(STEP))
        assert norm_of(step) == 0 and self.scale(optimizer) == scale / 2
        assert int(inner.iterations.numpy()) - before == (0 if self.new else 1)
        self.names.update(grads=good[0], scaled=good[1])

    def clip(self):
        rows, names = self.rows, self.names
        assert norm_of(self.true()) > 0.2
        if not self.new:
            rows.run(SCALED)  # the scale has moved
            step = self.moves(lambda: rows.run(CLIPPED))
        else:
            rows.run(CLIPPED)
            clipping, weights = names["clipping"], names["weights"]
            clipping.build(weights)
            with self.tf.GradientTape() as tape:
                loss = names["loss_fn"](Y, names["model"](X, training=True))
                loss = clipping.scale_loss(loss)
            scaled = tape.gradient(loss, weights)
            step = self.moves(lambda: clipping.apply(scaled, weights))
        assert np.isclose(norm_of(step), 0.1 * 0.1, rtol=0.02)

    def accumulate(self):
        rows, names = self.rows, self.names
        model = names["model"]
        if not self.new:
            names["parts"] = quarters(self.tf.constant)
            step = self.moves(lambda: rows.run(SUMS))
            near([-s / 0.1 for s in step], self.true())
            return
        rows.run(SUMS)
        assert type(model.optimizer).__name__ == "LossScaleOptimizer"
        before = model.get_weights()

        def same():
            return all(np.array_equal(*p) for p in zip(before, model.get_weights()))

        # The first steps may be skipped, and a skipped one does not count: a new sum
        # begins after the first update.
        for _ in range(20):
            if same():
                model.train_on_batch(*quarters()[0])
        assert not same()
        model.set_weights(before)
        for n, (x, y) in enumerate(quarters()):
            model.train_on_batch(x, y)
            assert same() == (n < 3)
        step = [b - a for a, b in zip(before, model.get_weights())]
        model.set_weights(before)
        near([-s / 0.1 for s in step], self.true())

    def fixed(self):
        """A right step with a fixed scale, and infinity goes through."""
        rows, names = self.rows, self.names
        rows.run(FIXED)
        fixed, weights = names["fixed"], names["weights"]
        if self.new:
            model = names["model"]
            assert model.optimizer is fixed
            step = self.moves(lambda: model.train_on_batch(X, Y))
            inf = [np.inf * self.tf.ones_like(w) for w in weights]
            bad = self.moves(lambda: fixed.apply(inf, weights))
        else:
            assert self.scale(fixed) == 1024
            true = [self.tf.constant(g) for g in self.true()]
            pairs = lambda grads: fixed.apply_gradients(zip(grads, weights))  # noqa: E731
            step = self.moves(lambda: pairs(true))
            bad = self.moves(lambda: pairs([g * np.inf for g in true]))
        near([-s / 0.1 for s in step], self.true())
        assert not finite(bad)

    def save(self):
        """The scale comes back with the file."""
        rows, names = self.rows, self.names
        optimizer = names["optimizer"]
        inf = [g * np.inf for g in names["scaled"]]
        self.apply(inf, names["weights"])
        kept, model = self.scale(optimizer), names["model"]
        with tempfile.TemporaryDirectory() as folder:
            name = "model.keras" if self.new else "model"
            names.update(folder=folder + "/model", path=f"{folder}/{name}")
            if self.new:
                rows.run(SAVED)
                assert names["model"] is not model
                assert self.scale(names["model"].optimizer) == kept < 2.0**15
                names["model"] = model
                self.load_in_float32(names["path"])
                return
            # what was saved comes back, though it was changed in between
            save, restore = rows.code[SAVED].rsplit("\n", 1)
            rows.run(SAVED, save)
            self.apply(inf, names["weights"])
            assert self.scale(optimizer) == max(kept / 2, 1)
            rows.run(SAVED, restore)
            assert self.scale(optimizer) == kept

    def load_in_float32(self, path):
        """Who keeps the scale that `compile` made, and whose layers turn float32."""
        keras = self.keras

        class Own(keras.Model):
            def __init__(self, **options):
                super().__init__(**options)
                self.only = keras.layers.Dense(1)

            def call(self, inputs):
                return self.only(inputs)

        for model, scaled, layer in (
            (self.model(), False, "float16"),
            (Own(), True, "float32"),
        ):
            model.compile("sgd", "mse")
            model.train_on_batch(X, Y)
            model.save(path)
            keras.config.set_dtype_policy("float32")
            loaded = keras.saving.load_model(path, custom_objects={"Own": Own})
            keras.config.set_dtype_policy("mixed_float16")
            assert hasattr(loaded.optimizer, "dynamic_scale") == scaled
            assert loaded.layers[0].compute_dtype == layer
            again = keras.saving.load_model(path, custom_objects={"Own": Own})
            assert hasattr(again.optimizer, "dynamic_scale")
            assert again.layers[0].compute_dtype == "float16"


def torch_rows(library):
    import torch

    torch.manual_seed(0)
    first, last = torch.nn.Linear(8, 16), torch.nn.Linear(16, 1)
    second = torch.nn.Linear(16, 16)
    rows = Rows(library, torch=torch, device="cpu", first=first, second=second)
    names = rows.names
    names.update(last=last, x=torch.tensor(X), y=torch.tensor(Y))
    names["loss_fn"] = torch.nn.functional.mse_loss
    with rows.asserting(POLICY):
        rows.run(POLICY)
        assert names["h"].dtype == torch.float16 and first.weight.dtype == torch.float32
    with rows.asserting(WIDER):
        rows.run(WIDER)
        assert names["h"].dtype == torch.float32
    with rows.asserting(OUTPUT):
        rows.run(OUTPUT)
        assert not is_rounded(names["out"].detach())
        with torch.autocast("cpu", dtype=torch.float16):
            assert is_rounded(last(names["h"]).float().detach())
    net = torch.nn.Sequential(first, torch.nn.ReLU(), last)
    weights = list(net.parameters())

    def model(x):
        with torch.autocast("cpu", dtype=torch.float16):
            return net(x).float()

    def true():
        loss = names["loss_fn"](model(names["x"]), names["y"])
        return torch.autograd.grad(loss, weights)

    def moves(*tasks):
        start = [w.detach().clone() for w in weights]
        for task in tasks:
            rows.run(task)
        with torch.no_grad():
            steps = [w - old for w, old in zip(weights, start)]
            for weight, old in zip(weights, start):
                weight.copy_(old)
        return [s.numpy() for s in steps]

    names.update(model=model, weights=weights)
    with rows.asserting(SCALED, UNSCALED):
        rows.run(SCALED)
        near([w.grad for w in weights], [65536 * g for g in true()])
        rows.run(UNSCALED)
        near([w.grad for w in weights], true())
    with rows.asserting(READ):
        assert rows.run(READ) == 65536
    with rows.asserting(STEP):
        near([-s / 0.1 for s in moves(SCALED, STEP)], true())
        rows.run(SCALED)
        weights[0].grad[0] = np.inf
        assert norm_of(moves(STEP)) == 0 and names["scaler"].get_scale() == 32768
    with rows.asserting(CLIPPED):
        assert norm_of(true()) > 0.2
        assert np.isclose(norm_of(moves(CLIPPED)), 0.1 * 0.1, rtol=0.02)
    with rows.asserting(SUMS):
        whole, x, y = true(), names["x"], names["y"]
        names["parts"] = quarters(torch.tensor)
        near([-s / 0.1 for s in moves(SUMS)], whole)
        names.update(x=x, y=y)
    with rows.asserting(FIXED):
        near([-s / 0.1 for s in moves(FIXED)], true())
        right, names["loss_fn"] = names["loss_fn"], lambda a, b: (a - b).sum() * np.inf
        assert norm_of(moves(FIXED)) == 0
        assert names["fixed"].get_scale() == 1024
        names["loss_fn"] = right
    with rows.asserting(SAVED), tempfile.TemporaryDirectory() as folder:
        names["path"] = f"{folder}/scaler.pt"
        kept, former = names["scaler"].get_scale(), names["scaler"]
        rows.run(SAVED)
        assert names["scaler"] is not former
        assert names["scaler"].get_scale() == kept == 32768
    with rows.asserting(HALF_LOSS):
        rows.run(SCALED)
        product = rows.run(HALF_LOSS)
        assert product.dtype == torch.float32 and product.item() == 262144
        product = names["scaler"].scale(names["loss"].reshape(1))
        assert product.dtype == torch.float16 and np.isinf(product.item())
    with rows.asserting(ENDS):
        steps = moves(ENDS)
        assert norm_of(steps) == 0 and names["scaler"].get_scale() == 0
        good = "\n".join(rows.code[SCALED].split("\n")[2:])
        start = [w.detach().clone() for w in weights]
        rows.run(SCALED, good)
        rows.run(STEP)
        assert not finite([w.detach() for w in weights])
        with torch.no_grad():
            for weight, old in zip(weights, start):
                weight.copy_(old)
    with rows.asserting(HARDWARE):
        assert rows.run(HARDWARE) in (True, False)
    with rows.asserting(FP8):
        assert rows.run(FP8).item() == 448
        names["x"] = torch.tensor(X)
    with rows.asserting(BFLOAT16):
        names["model"], losses = net, []
        for _ in range(20):
            rows.run(BFLOAT16)
            losses.append(names["loss"].item())
        assert losses[-1] < losses[0]
    return rows, {"torch": torch.__version__.partition("+")[0]}


def jax_rows(library):
    import jax
    import jax.numpy as jnp
    import optax

    key = jax.random.split(jax.random.PRNGKey(0), 3)
    params = {
        "first": jax.random.normal(key[0], (8, 16)) / 3,
        "last": jax.random.normal(key[1], (16, 1)) / 4,
    }
    second = {"second": jax.random.normal(key[2], (16, 16))}
    rows = Rows(library, jax=jax, jnp=jnp, optax=optax, np=np, params=params)
    names = rows.names
    names.update(x=jnp.asarray(X), y=jnp.asarray(Y))
    with rows.asserting(POLICY):
        rows.run(POLICY)
        assert names["h"].dtype == jnp.float16
    with rows.asserting(WIDER):
        h, names["params"] = names["h"], {**params, **second}
        rows.run(WIDER)
        assert names["h"].dtype == jnp.float32
        names.update(h=h, params=params)
    with rows.asserting(OUTPUT):
        rows.run(OUTPUT)
        assert not is_rounded(names["out"])
        half = names["half"]
        assert is_rounded((half(h) @ half(params["last"])).astype(jnp.float32))

    def loss_fn(params, x, y):
        half = names["half"]
        h = jax.nn.relu(half(x) @ half(params["first"]))
        return jnp.mean((h.astype(jnp.float32) @ params["last"] - y) ** 2)

    def leaves(tree):
        return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]

    def step(new):
        return [(a - b) / 0.1 for a, b in zip(leaves(params), leaves(new))]

    names["loss_fn"] = loss_fn
    whole = leaves(jax.grad(loss_fn)(params, names["x"], names["y"]))
    with rows.asserting(SCALED, UNSCALED):
        rows.run(SCALED)
        rows.run(UNSCALED)
        near(leaves(names["grads"]), whole)
    with rows.asserting(READ):
        assert rows.run(READ) == 2.0**15
    with rows.asserting(STEP):
        few = rows.code[STEP].replace("1000)", "3)")
        assert few != rows.code[STEP]
        rows.run(STEP, few)
        start = (names["state"], names["scale"], names["good"])
        good = names["apply"](params, start[0], names["grads"], *start[1:])
        near(step(good[0]), whole)
        assert good[2] == 2.0**15 and good[3] == 1
        bad = jax.tree.map(lambda p: jnp.full_like(p, jnp.inf), params)
        moved, state, scale, row = params, start[0], 1.0, 0
        applied = []
        for _ in range(6):
            moved, state, scale, row = names["apply"](moved, state, bad, scale, row)
            applied.append(not finite(leaves(moved)))
        assert applied == [False] * 3 + [True] * 3 and scale == 2.0**-6
        rows.run(STEP)
    with rows.asserting(SUMS):
        x, y = names["x"], names["y"]
        names["parts"] = quarters(jnp.asarray)
        rows.run(SUMS)
        near(leaves(names["grads"]), whole)
        names.update(x=x, y=y)
    with rows.asserting(FIXED):
        rows.run(FIXED)
        near(step(names["params"]), whole)
        names["params"] = params
        update = names["optimizer"].update
        updates, _ = update(bad, names["optimizer"].init(params), params)
        assert norm_of(leaves(updates)) == 0
    with rows.asserting(ENDS):
        names.update(bad=bad, state=names["optimizer"].init(params))
        assert rows.run(ENDS) == 2.0**-84
        assert finite(leaves(names["params"]))
        names["params"] = params
    with rows.asserting(HALF_LOSS):
        rows.run(SCALED)
        product = rows.run(HALF_LOSS)
        assert product.dtype == jnp.float32 and float(product) == 131072
        product = 2.0**15 * names["loss"]
        assert product.dtype == jnp.float16 and np.isinf(float(product))
    with rows.asserting(SAVED), tempfile.TemporaryDirectory() as folder:
        names.update(path=f"{folder}/scale.npz", scale=jnp.float32(64))
        names["good"] = jnp.int32(7)
        rows.run(SAVED)
        assert names["scale"] == 64 and names["good"] == 7
    with rows.asserting(HARDWARE):
        assert rows.run(HARDWARE) == "cpu"
    with rows.asserting(FP8):
        assert np.isnan(float(rows.run(FP8)))
        names["x"] = jnp.asarray(X)
    with rows.asserting(CLIPPED):
        rows.run(CLIPPED)
        optimizer = names["optimizer"]
        grads = jax.grad(loss_fn)(params, names["x"], names["y"])
        assert norm_of(whole) > 0.2
        updates, _ = optimizer.update(grads, optimizer.init(params), params)
        assert np.isclose(norm_of(leaves(updates)), 0.1 * 0.1, rtol=0.02)
    with rows.asserting(BFLOAT16):
        names.update(optimizer=optax.sgd(0.1))
        names["state"] = names["optimizer"].init(params)
        first = float(loss_fn(params, names["x"], names["y"]))
        for _ in range(20):
            rows.run(BFLOAT16)
        assert names["half"](names["x"]).dtype == jnp.bfloat16
        assert float(loss_fn(names["params"], names["x"], names["y"])) < first
    return rows, {"jax": jax.__version__, "optax": optax.__version__}


def keras_rows(library):
    import tensorflow as tf

    keras, versions = tf.keras, {"tensorflow": tf.__version__}
    if library == "Keras 3":
        import keras

        versions = {"keras": keras.__version__, **versions}
    both = Keras(library, tf, keras)
    both.run()
    return both.rows, versions


def report(library):
    """The versions, and the rows that did what is said of them."""
    run = {"PyTorch": torch_rows, "JAX": jax_rows}.get(library, keras_rows)
    rows, versions = run(library)
    versions["python"] = platform.python_version()
    return {"versions": versions, "rows": [t for t in CODE[library] if t in rows.done]}


if __name__ == "__main__":
    print(json.dumps(report(*sys.argv[1:])))
