"""The same loss scale in eight libraries, and what Optax has beside it.

    python -m tools.scalers            make data/scalers.json, with a virtual environment
                                       for each library (some 5 GB at most, gone afterwards)
    python -m tools.scalers LIBRARY    make this library's part of it anew
    python tools/scalers.py LIBRARY    print what one library does, by its own Python

Every library trains one weight of 1 by SGD with momentum, whose gradient is a number that
is given: 1 in a good step, infinity or NaN in a bad one. It is multiplied by the library's
scale in the library's way, and so unscaled and applied, or not. What is written down is
the scale after each step, the weight, the optimizer's count of steps and its momentum.
"""

# Chainer runs under Python 3.8 at the latest, which knows no zip(strict=True).
# ruff: noqa: B905

import datetime
import itertools
import json
import math
import os
import platform
import random
import subprocess
import sys
import tempfile
from pathlib import Path

INF, NAN = math.inf, math.nan
RATE, MOMENTUM = 0.125, 0.5


def hundred_broken():
    """The gradients of exercise 2.1: 100 broken batches, then one step of 50 overflows."""
    for n in range(900):
        if n < 100:
            yield NAN
        else:
            yield INF if n % 50 == 27 else 1.0


def mixed():
    """Good and bad steps as they come, in three parts with other shares of good ones."""
    chance = random.Random(2017)
    for share in (0.85, 0.7, 0.8):
        for _ in range(200):
            bad = chance.random() >= share
            yield chance.choice([INF, -INF, NAN]) if bad else 1.0


# name: (the scale to start from, good steps until it grows, the gradients)
TRACES = {
    "100 broken batches": (2.0**15, 10, lambda: list(hundred_broken())),
    "mixed": (2.0**15, 3, lambda: list(mixed())),
    "down": (2.0**15, 10, lambda: [INF] * 200),
    "up": (2.0**120, 2, lambda: [0.0] * 40 + [INF] * 3 + [0.0] * 7),
}


class Keras3:
    """keras.optimizers.LossScaleOptimizer, on TensorFlow."""

    def __init__(self, **options):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import keras
        import tensorflow as tf

        named = {"initial": "initial_scale", "every": "dynamic_growth_steps"}
        options = {named[name]: value for name, value in options.items()}
        self.versions = {"keras": keras.__version__, "tensorflow": tf.__version__}
        self.keras, self.variable = keras, keras.Variable([1.0])
        self.inner = keras.optimizers.SGD(RATE, momentum=MOMENTUM)
        self.scaler = keras.optimizers.LossScaleOptimizer(self.inner, **options)
        self.scaler.build([self.variable])
        self.every = self.scaler.dynamic_growth_steps

    def step(self, gradient):
        scaled = self.scaler.scale_loss(self.keras.ops.full((1,), gradient))
        self.scaler.apply([scaled], [self.variable])

    @property
    def scale(self):
        return float(self.scaler.dynamic_scale.numpy())

    def state(self):
        return {
            "the weight": float(self.variable.numpy()[0]),
            "the optimizer's count of steps": int(self.inner.iterations.numpy()),
            "the momentum": float(self.inner.momentums[0].numpy()[0]),
        }

    def nested(self):
        """The scale of the loss, and the first step of a wrapper in a wrapper."""
        self.scaler = self.keras.optimizers.LossScaleOptimizer(self.scaler)
        self.scaler.build([self.variable])
        self.step(1.0)
        return f"accepted; the first step is {moved(self):g} times the right one"


class TfKeras:
    """tf_keras.mixed_precision.LossScaleOptimizer, of Keras 2."""

    def __init__(self, **options):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import tensorflow as tf
        import tf_keras

        named = {"initial": "initial_scale", "every": "dynamic_growth_steps"}
        options = {named[name]: value for name, value in options.items()}
        self.versions = {
            "tf_keras": tf_keras.__version__,
            "tensorflow": tf.__version__,
        }
        self.tf, self.wrap = tf, tf_keras.mixed_precision.LossScaleOptimizer
        self.variable = tf.Variable([1.0])
        self.inner = tf_keras.optimizers.SGD(RATE, momentum=MOMENTUM)
        self.scaler = self.wrap(self.inner, **options)
        self.inner.build([self.variable])
        self.every = self.scaler.dynamic_growth_steps

    def step(self, gradient):
        scaled = self.scaler.get_scaled_loss(self.tf.constant([gradient]))
        grads = self.scaler.get_unscaled_gradients([scaled])
        self.scaler.apply_gradients(zip(grads, [self.variable]))

    @property
    def scale(self):
        return float(self.scaler.loss_scale)

    def state(self):
        return {
            "the weight": float(self.variable.numpy()[0]),
            "the optimizer's count of steps": int(self.inner.iterations.numpy()),
            "the momentum": float(self.inner.momentums[0].numpy()[0]),
        }

    def nested(self):
        self.wrap(self.scaler)
        return "accepted"


class PyTorch:
    """torch.amp.GradScaler."""

    def __init__(self, **options):
        import torch

        named = {"initial": "init_scale", "every": "growth_interval"}
        options = {named[name]: value for name, value in options.items()}
        self.versions = {"torch": torch.__version__.partition("+")[0]}
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.inner = torch.optim.SGD([self.weight], RATE, momentum=MOMENTUM)
        self.scaler = torch.amp.GradScaler("cpu", **options)
        self.every = self.scaler.get_growth_interval()

    def step(self, gradient):
        self.inner.zero_grad()
        loss = (self.weight * gradient).sum()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.inner)
        self.scaler.update()

    @property
    def scale(self):
        return self.scaler.get_scale()

    def state(self):
        slot = self.inner.state[self.weight].get("momentum_buffer")
        return {
            "the weight": self.weight.item(),
            "the momentum": None if slot is None else slot.item(),
        }

    def nested(self):
        return None  # it wraps nothing


class Jax:
    """What Flax, jmp and Optax have in common: a function of pytrees, and no object."""

    def __init__(self, *packages):
        import jax
        import optax

        self.jax, self.jnp, self.optax = jax, jax.numpy, optax
        self.versions = {module.__name__: module.__version__ for module in packages}
        self.versions["jax"] = jax.__version__
        self.optimizer = optax.sgd(RATE, momentum=MOMENTUM)
        self.weight = jax.numpy.ones(1)
        self.slots = self.optimizer.init(self.weight)
        self.scaler = self.compiled = None

    def step(self, gradient):
        if self.compiled is None:
            self.compiled = self.jax.jit(self.after)
        self.scaler, self.weight, self.slots = self.compiled(
            self.scaler, self.weight, self.slots, gradient
        )

    def applied(self, grads, weight, slots):
        """The weight and the slots after a step."""
        updates, slots = self.optimizer.update(grads, slots, weight)
        return self.optax.apply_updates(weight, updates), slots

    def selected(self, finite, grads, *old):
        """The step where gradients are finite, else what was: the user's own line."""
        new = self.applied(grads, *old)
        return self.jax.tree.map(lambda a, b: self.jnp.where(finite, a, b), new, old)

    def state(self):
        slots = self.jax.tree.leaves(self.slots)
        return {
            "the weight": float(self.weight[0]),
            "the momentum": float(slots[0][0]),
        }

    def nested(self):
        return None


class Flax(Jax):
    """flax.training.dynamic_scale.DynamicScale."""

    def __init__(self, **options):
        import flax
        from flax.training.dynamic_scale import DynamicScale

        super().__init__(flax)
        named = {"initial": "scale", "every": "growth_interval"}
        self.scaler = DynamicScale(**{named[n]: value for n, value in options.items()})
        self.every = self.scaler.growth_interval

    def after(self, scaler, weight, slots, gradient):
        def loss(weight):
            return (weight * gradient).sum()

        whole = scaler.value_and_grad(loss)(weight)
        moved = self.selected(whole.finite, whole.grad, weight, slots)
        return whole.dynamic_scale, *moved

    @property
    def scale(self):
        return float(self.scaler.scale)


class Jmp(Jax):
    """jmp.DynamicLossScale."""

    def __init__(self, initial=None, every=None):
        import jmp

        super().__init__(jmp)
        self.jmp, self.none = jmp, initial is None  # it has no first scale of its own
        first = self.jnp.float32(2.0**15 if initial is None else initial)
        options = {} if every is None else {"period": every}
        self.scaler = jmp.DynamicLossScale(first, **options)
        self.every = self.scaler.period

    def after(self, scaler, weight, slots, gradient):
        def loss(weight):
            return scaler.scale((weight * gradient).sum())

        grads = scaler.unscale(self.jax.grad(loss)(weight))
        finite = self.jmp.all_finite(grads)
        moved = self.selected(finite, grads, weight, slots)
        return scaler.adjust(finite), *moved

    @property
    def scale(self):
        return float(self.scaler.loss_scale)


class Optax(Jax):
    """optax.apply_if_finite, which holds steps back and scales nothing."""

    scale = 1.0
    every = None

    def __init__(self, limit=5, **_):
        import optax

        super().__init__(optax)
        self.optimizer = optax.apply_if_finite(self.optimizer, limit)
        self.slots = self.optimizer.init(self.weight)

    def after(self, _, weight, slots, gradient):
        grads = self.jnp.full(1, gradient)
        return None, *self.applied(grads, weight, slots)

    def state(self):
        slots = self.slots
        while hasattr(slots, "inner_state"):
            slots = slots.inner_state
        return {
            "the weight": float(self.weight[0]),
            "the momentum": float(self.jax.tree.leaves(slots)[0][0]),
        }

    def nested(self):
        self.optimizer = self.optax.apply_if_finite(self.optimizer, 5)
        self.slots = self.optimizer.init(self.weight)
        self.step(1.0)
        return f"accepted; the first step is {moved(self):g} times the right one"


class DeepSpeed:
    """DeepSpeed's DynamicLossScaler, with the values of its configuration by default."""

    def __init__(self, initial=None, every=None):
        import deepspeed
        import torch
        from deepspeed.runtime.fp16 import loss_scaler
        from deepspeed.runtime.precision_config import DeepSpeedFP16Config

        # a process group would compile for minutes, to say that one process has rank 0
        loss_scaler.dist.get_rank = lambda: 0
        values = DeepSpeedFP16Config()
        self.every = every or values.loss_scale_window
        self.scaler = loss_scaler.DynamicLossScaler(
            initial or 2.0**values.initial_scale_power,
            self.every,
            values.min_loss_scale,
            values.hysteresis,
            values.consecutive_hysteresis,
        )
        self.bad = loss_scaler.has_inf_or_nan
        self.versions = {
            "deepspeed": deepspeed.__version__,
            "torch": torch.__version__.partition("+")[0],
        }
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.inner = torch.optim.SGD([self.weight], RATE, momentum=MOMENTUM)

    def step(self, gradient):
        self.inner.zero_grad()
        self.scaler.backward((self.weight * gradient).sum())
        scale, bad = self.scaler.loss_scale, bool(self.bad(self.weight.grad))
        self.scaler.update_scale(bad)
        if not bad:
            self.weight.grad /= scale
            self.inner.step()

    @property
    def scale(self):
        return float(self.scaler.loss_scale)

    state = PyTorch.state

    def nested(self):
        return None


class Chainer:
    """The dynamic loss scale of Chainer's optimizers, which starts at 1."""

    def __init__(self, every=None, **_):
        import chainer
        import numpy as np

        self.versions = {"chainer": chainer.__version__, "numpy": np.__version__}
        self.link = chainer.Link()
        with self.link.init_scope():
            self.link.weight = chainer.Parameter(np.ones(1, np.float32))
        self.inner = chainer.optimizers.MomentumSGD(RATE, MOMENTUM).setup(self.link)
        self.inner.loss_scaling(**({} if every is None else {"interval": every}))
        # the square of a growth is what it grows by in two steps, and so on
        self.every = round(1 / math.log2(self.inner._loss_scaling_multiplier))
        self.functions = chainer.functions

    def step(self, gradient):
        self.inner.update(lambda: self.functions.sum(self.link.weight * gradient))

    @property
    def scale(self):
        return float(self.inner._loss_scale)

    def state(self):
        slots = self.link.weight.update_rule.state
        return {
            "the weight": float(self.link.weight.array[0]),
            "the optimizer's count of steps": self.inner.t,
            "the momentum": float(slots["v"][0]) if slots else None,
        }

    def nested(self):
        return None


class MindSpore:
    """mindspore.amp.DynamicLossScaler; the first scale is that of the manager."""

    def __init__(self, initial=None, every=None):
        import mindspore
        import numpy as np
        from mindspore import amp, nn

        mindspore.set_device("CPU")
        manager = amp.DynamicLossScaleManager()
        self.every = every or manager.scale_window
        self.versions = {"mindspore": mindspore.__version__, "numpy": np.__version__}
        self.amp = amp
        self.scaler = amp.DynamicLossScaler(
            float(initial or manager.get_loss_scale()), 2, self.every
        )
        ones = mindspore.Tensor(np.ones(1, np.float32))
        self.weight = mindspore.Parameter(ones, name="weight")
        self.inner = nn.Momentum([self.weight], RATE, MOMENTUM)
        self.number = lambda value: mindspore.Tensor(np.float32(value))

        def loss(weight, gradient):
            return self.scaler.scale((weight * gradient).sum())

        self.derivative = mindspore.grad(loss)

    def step(self, gradient):
        scaled = self.derivative(self.weight, self.number(gradient))
        grads = self.scaler.unscale((scaled,))
        finite = self.amp.all_finite(grads)
        self.scaler.adjust(finite)
        if finite:
            self.inner(grads)

    @property
    def scale(self):
        return float(self.scaler.scale_value.asnumpy())

    def state(self):
        return {
            "the weight": float(self.weight.asnumpy()[0]),
            "the optimizer's count of steps": int(self.inner.global_step.asnumpy()[0]),
            "the momentum": float(self.inner.moments[0].asnumpy()[0]),
        }

    def nested(self):
        return None


# name: (its class, Python, what pip installs, one after the other)
JAX, TF = "jax==0.12.0.1 optax==0.2.8", "tensorflow==2.21.0"
LIBRARIES = {
    "Keras 3": (Keras3, "3.12", [f"{TF} keras==3.15.1"]),
    "tf_keras": (TfKeras, "3.12", [f"{TF} tf_keras==2.21.0"]),
    "PyTorch": (PyTorch, "3.12", ["numpy torch==2.15.0"]),
    "Flax": (Flax, "3.12", [f"{JAX} flax==0.12.12"]),
    "jmp": (Jmp, "3.12", [f"{JAX} jmp==0.0.4"]),
    "MindSpore": (MindSpore, "3.12", ["mindspore==2.10.0"]),
    "DeepSpeed": (
        DeepSpeed,
        "3.12",
        ["torch==2.15.0 numpy setuptools wheel", "deepspeed==0.19.8"],
    ),
    "Chainer": (
        Chainer,
        "3.8",
        ["setuptools<58 wheel numpy<1.24 cython<3", "chainer==7.8.1"],
    ),
    "Optax": (Optax, "3.12", [JAX]),
}


def moved(run):
    """How far the weight moved, as a share of the first right step."""
    return (1 - run.state()["the weight"]) / RATE


def written(number):
    """A number for JSON."""
    if number is None or math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else ("infinity" if number > 0 else "-infinity")


def packed(scales):
    """[scale, how many steps it stays] in turn."""
    return [[written(scale), len([*row])] for scale, row in itertools.groupby(scales)]


def traced(make, initial, every, gradients):
    """A run, its scales before and after each step, and the error that ended it."""
    run, error = make(initial=initial, every=every), None
    scales = [run.scale]
    for gradient in gradients:
        try:
            run.step(gradient)
        except Exception as stopped:  # libraries stop in many ways
            error = said(stopped)
            break
        scales.append(run.scale)
    return run, packed(scales), error


def said(error):
    """An error's words, without the address of an object."""
    text = f"{type(error).__name__}: {error}".partition(", but got")[0]
    return text.strip()


def report(library):
    """All that one library does, for the record."""
    make = LIBRARIES[library][0]
    default = make()
    found = {"versions": {**default.versions, "python": platform.python_version()}}
    found["a bad step"] = {str(bad): changes(make, bad) for bad in (INF, -INF, NAN)}
    if hasattr(default, "nested"):
        try:
            found["nested"] = default.nested()
        except Exception as refused:
            found["nested"] = said(refused)
    if library == "Optax":
        return {**found, "after a limit of 5": held_back()}
    default = make()
    found["first"] = None if getattr(default, "none", False) else default.scale
    found["every"] = default.every
    found["traces"] = {}
    for name, (initial, every, gradients) in TRACES.items():
        run, scales, error = traced(make, initial, every, gradients())
        found["traces"][name] = {"scales": scales, "error": error}
        if name == "down":
            run.step(1.0)
            ends = {"scale": run.scale, "weight": run.state()["the weight"]}
            found["a good step at the lowest"] = {
                name: written(value) for name, value in ends.items()
            }
    try:
        _, found["two bad steps from 1/4"], _ = traced(make, 0.25, 3, [INF, INF])
    except ValueError as refused:
        found["two bad steps from 1/4"] = said(refused)
    return found


def changes(make, gradient):
    """What a step with this gradient moves, after two good ones."""
    run = make(initial=2.0**10, every=2000)
    run.step(1.0)
    run.step(1.0)
    before = {**run.state(), "the scale": run.scale}
    run.step(gradient)
    after = {**run.state(), "the scale": run.scale}
    return {
        name: [written(before[name]), written(after[name])]
        for name in before
        if before[name] != after[name]
    }


def held_back():
    """The weight after each of eight bad steps in a row, a good one, and a bad one."""
    run, weights = Optax(limit=5), []
    for gradient in [INF] * 8 + [1.0, INF]:
        run.step(gradient)
        weights.append(written(run.state()["the weight"]))
    return weights


def recorded(library):
    """`report` from an environment that has the library and is gone afterwards."""
    from course_utils import hardware
    from tools.casts import python_of

    _, version, packages = LIBRARIES[library]
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin/python"
        uv = Path(sys.executable).with_name("uv")
        make = [uv, "venv", "-q", "--python", python_of(version), folder]
        subprocess.run(make, check=True)
        # what has no wheel is built with what was installed before it
        install = [uv, "pip", "install", "-q", "--no-build-isolation"]
        for names in packages:
            subprocess.run([*install, "--python", python, *names.split()], check=True)
        command = [python, Path(__file__).resolve(), library]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    made = {"cpu": str(hardware.detect()), "date": datetime.date.today().isoformat()}
    return made | json.loads(done.stdout.splitlines()[-1])


def main(*asked):
    from course_utils import paths, records

    path = paths.data("scalers.json")
    libraries = {}
    if path.exists():
        libraries = json.loads(path.read_text(encoding="utf-8"))["libraries"]
    for library in asked or LIBRARIES:
        libraries[library] = recorded(library)
        ordered = {name: libraries[name] for name in LIBRARIES if name in libraries}
        records.save({"kind": "scalers", "libraries": ordered}, path)
        print(f"{library}: written to {path}")


if __name__ == "__main__":
    if __package__:
        main(*sys.argv[1:])
    else:
        print(json.dumps(report(*sys.argv[1:])))
