"""Sums in ten engines, each a function of terms that stand in an array of NumPy.

A library is a function that imports it and returns its sums, {operation: function(terms,
width)}, and its versions. Terms are of float16 or bfloat16; where an operation adds up
columns, it has `width` of them, each with the same terms, and what it returns holds a
total for each. A gradient is asked for with the terms as what arrives from above.
"""

import math
import os

import ml_dtypes  # (bfloat16 for NumPy)
import numpy as np

SUM, COLUMNS, MEAN, MEANS = "sum", "sum, axis 0", "mean", "mean, axis 0"
CUMSUM, DOT, MATMUL = "cumsum", "dot", "matmul"
EINSUM, PRODUCT = "einsum i,i->", "einsum ij,jk->ik"
POOL, DEPTHWISE = "average pooling", "depthwise convolution"
GROUPS, INDEXED, NUMBERS = "sum by group", "add rows by index", "add numbers by index"
SCATTERED = "scatter along an axis"
TABLE, BY_INDEX, TAKEN = "embedding", "x[i]", "rows taken"
GATHERED, BIAS, PLUS = "gather along an axis", "bias of a layer", "x + b"
LOOP, NORM, KERNEL = "a weight used n times", "layer norm: bias", "convolution: filter"

PRECISION = "INFERENCE_PRECISION_HINT"  # a property of OpenVINO's, no switch of its own


def sides(count):
    """Height and width of a picture of so many pixels, as near to a square as it can be."""
    high = next(n for n in range(math.isqrt(count), 0, -1) if count % n == 0)
    return high, count // high


def columns(terms, width):
    return np.repeat(terms[:, None], width, 1)


def ones(like, *shape):
    return np.ones(shape, like.dtype)


def numpy():
    def added(terms):
        total = ones(terms, 1, *terms.shape[1:]) * 0
        np.add.at(total, np.zeros(len(terms), int), terms)
        return total

    sums = {
        SUM: lambda t, w: t.sum(),
        COLUMNS: lambda t, w: columns(t, w).sum(0),
        MEAN: lambda t, w: t.mean(),
        MEANS: lambda t, w: columns(t, w).mean(0),
        CUMSUM: lambda t, w: t.cumsum()[-1],
        DOT: lambda t, w: np.dot(t, ones(t, len(t))),
        MATMUL: lambda t, w: columns(t, w).T @ ones(t, len(t), w),
        EINSUM: lambda t, w: np.einsum("i,i->", t, ones(t, len(t))),
        PRODUCT: lambda t, w: np.einsum(
            "ij,jk->ik", columns(t, w).T, ones(t, len(t), w)
        ),
        NUMBERS: lambda t, w: added(t),
        INDEXED: lambda t, w: added(columns(t, w)),
    }
    return sums, {"ml_dtypes": ml_dtypes.__version__, "numpy": np.__version__}


def pandas():
    import pandas as pd

    sums = {
        SUM: lambda t, w: pd.Series(t).sum(),
        COLUMNS: lambda t, w: pd.DataFrame(columns(t, w)).sum(),
        MEAN: lambda t, w: pd.Series(t).mean(),
        MEANS: lambda t, w: pd.DataFrame(columns(t, w)).mean(),
        CUMSUM: lambda t, w: pd.Series(t).cumsum().iloc[-1],
        DOT: lambda t, w: pd.Series(t).dot(pd.Series(ones(t, len(t)))),
        MATMUL: lambda t, w: (
            pd.DataFrame(columns(t, w)).T @ pd.DataFrame(ones(t, len(t), w))
        ),
        GROUPS: lambda t, w: pd.Series(t).groupby(np.zeros(len(t), int)).sum(),
    }
    versions = {"pandas": pd.__version__, "numpy": np.__version__}
    return sums, versions | {"ml_dtypes": ml_dtypes.__version__}


def tensorflow(jit_compile=None):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    import tensorflow as tf

    def gradient(function, at, upstream):
        with tf.GradientTape() as tape:
            tape.watch(at)
            result = function(at)
        return tf.convert_to_tensor(tape.gradient(result, at, upstream))

    def many(t, w):
        return tf.tile(t[:, None], (1, w))

    def filled(t, *shape):
        return tf.ones(shape, t.dtype)

    def nowhere(t):
        return tf.zeros(t.shape[0], "int32")

    def picture(t, w):
        return tf.reshape(many(t, w), (1, *sides(t.shape[0]), w))

    def pooled(t, w):
        size = sides(t.shape[0])
        return tf.nn.avg_pool2d(picture(t, w), size, size, "VALID")

    def depthwise(t, w):
        kernel = filled(t, *sides(t.shape[0]), w, 1)
        return tf.nn.depthwise_conv2d(picture(t, w), kernel, [1] * 4, "VALID")

    def of_a_filter(t, w):
        image = filled(t, 1, *sides(t.shape[0]), 3)
        kernel = filled(t, 1, 1, 3, w)
        return gradient(
            lambda k: tf.nn.conv2d(image, k, 1, "VALID"), kernel, picture(t, w)
        )

    def of_b(add):
        def sums(t, w):
            x = filled(t, t.shape[0], w)
            return gradient(lambda b: add(x, b), filled(t, w), many(t, w))

        return sums

    def of_a_table(look_up):
        def sums(t, w):
            places = nowhere(t)
            return gradient(
                lambda table: look_up(table, places), filled(t, 2, w), many(t, w)
            )[0]

        return sums

    def in_a_loop(t, w):
        def total_of(weight):
            def body(n, total):
                return n + 1, total + weight * t[n]

            start = (0, tf.zeros((), t.dtype))
            return tf.while_loop(
                lambda n, _: n < t.shape[0], body, start, maximum_iterations=t.shape[0]
            )[1]

        return gradient(total_of, filled(t), filled(t))

    def norm(dtype, w):
        layer = keras.layers.LayerNormalization(dtype=f"mixed_{dtype}")
        layer.build((None, w))
        return layer

    # a compiled function may not make variables
    norms = {(d, w): norm(d, w) for d in ("float16", "bfloat16") for w in (1, 4, 64)}

    def of_a_norm(t, w):
        layer = norms[t.dtype.name, w]
        with tf.GradientTape() as tape:
            result = layer(many(t, w))
        return tape.gradient(result, layer.beta, many(t, w))

    def added(terms):
        total = filled(terms, 1, *terms.shape[1:]) * 0
        return tf.tensor_scatter_nd_add(total, nowhere(terms)[:, None], terms)

    sums = {
        SUM: lambda t, w: tf.reduce_sum(t),
        COLUMNS: lambda t, w: tf.reduce_sum(many(t, w), 0),
        MEAN: lambda t, w: tf.reduce_mean(t),
        MEANS: lambda t, w: tf.reduce_mean(many(t, w), 0),
        CUMSUM: lambda t, w: tf.cumsum(t)[-1],
        DOT: lambda t, w: tf.tensordot(t, filled(t, *t.shape), 1),
        MATMUL: lambda t, w: tf.matmul(
            many(t, w), filled(t, t.shape[0], w), transpose_a=True
        ),
        EINSUM: lambda t, w: tf.einsum("i,i->", t, filled(t, *t.shape)),
        PRODUCT: lambda t, w: tf.einsum(
            "ij,jk->ik", tf.transpose(many(t, w)), filled(t, t.shape[0], w)
        ),
        POOL: pooled,
        DEPTHWISE: depthwise,
        GROUPS: lambda t, w: tf.math.unsorted_segment_sum(many(t, w), nowhere(t), 1),
        NUMBERS: lambda t, w: added(t),
        INDEXED: lambda t, w: added(many(t, w)),
        TABLE: of_a_table(tf.nn.embedding_lookup),
        TAKEN: of_a_table(tf.gather),
        BIAS: of_b(tf.nn.bias_add),
        PLUS: of_b(tf.add),
        LOOP: tf.function(in_a_loop, autograph=False),
        NORM: of_a_norm,
        KERNEL: of_a_filter,
    }
    if jit_compile:
        for name, eager in sums.items():
            sums[name] = tf.function(eager, jit_compile=True, autograph=False)
    sums = {
        name: lambda t, w, run=run: run(tf.constant(t), w).numpy()
        for name, run in sums.items()
    }
    return sums, {"tensorflow": tf.__version__, "keras": keras.__version__}


def xla():
    return tensorflow(jit_compile=True)


def jax():
    import flax
    import jax
    import jax.numpy as jnp
    from flax import linen

    def many(t, w):
        return jnp.tile(t[:, None], (1, w))

    def filled(t, *shape):
        return jnp.ones(shape, t.dtype)

    def nowhere(t):
        return jnp.zeros(len(t), "int32")

    def gradient(function, at, upstream):
        return jax.vjp(function, at)[1](upstream)[0]

    def picture(t, w):
        return many(t, w).reshape(1, *sides(len(t)), w)

    def depthwise(t, w):
        kernel = filled(t, *sides(len(t)), 1, w)
        return convolved(picture(t, w), kernel, w)

    def convolved(x, kernel, groups=1):
        return jax.lax.conv_general_dilated(
            x,
            kernel,
            (1, 1),
            "VALID",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
        )

    def pooled(t, w):
        return linen.avg_pool(picture(t, w), sides(len(t)), sides(len(t)))

    def of_a_bias(t, w):
        layer, x = linen.Dense(w, dtype=t.dtype), filled(t, len(t), 3)

        def applied(bias):
            return layer.apply({"params": {"kernel": filled(t, 3, w), "bias": bias}}, x)

        return gradient(applied, filled(t, w), many(t, w))

    def of_a_norm(t, w):
        layer, x = linen.LayerNorm(dtype=t.dtype), many(t, w)

        def applied(bias):
            return layer.apply({"params": {"scale": filled(t, w), "bias": bias}}, x)

        return gradient(applied, filled(t, w), many(t, w))

    def of_a_table(look_up):
        def sums(t, w):
            return gradient(
                lambda table: look_up(table, nowhere(t)), filled(t, 2, w), many(t, w)
            )[0]

        return sums

    def added(terms):
        return (filled(terms, 1, *terms.shape[1:]) * 0).at[nowhere(terms)].add(terms)

    def along(table, places):
        return jnp.take_along_axis(table, jnp.tile(places[:, None], table.shape[1:]), 0)

    def embedded(table, places):
        layer = linen.Embed(*table.shape, dtype=table.dtype)
        return layer.apply({"params": {"embedding": table}}, places)

    def of_a_filter(t, w):
        image = filled(t, 1, *sides(len(t)), 3)
        return gradient(
            lambda k: convolved(image, k), filled(t, 1, 1, 3, w), picture(t, w)
        )

    def in_a_loop(t, w):
        def total_of(weight):
            step = lambda total, term: (total + weight * term, None)  # noqa: E731
            return jax.lax.scan(step, filled(t) * 0, t)[0]

        return gradient(total_of, filled(t), filled(t))

    sums = {
        SUM: lambda t, w: t.sum(),
        COLUMNS: lambda t, w: many(t, w).sum(0),
        MEAN: lambda t, w: t.mean(),
        MEANS: lambda t, w: many(t, w).mean(0),
        CUMSUM: lambda t, w: t.cumsum()[-1],
        DOT: lambda t, w: jnp.dot(t, filled(t, len(t))),
        MATMUL: lambda t, w: many(t, w).T @ filled(t, len(t), w),
        EINSUM: lambda t, w: jnp.einsum("i,i->", t, filled(t, len(t))),
        PRODUCT: lambda t, w: jnp.einsum(
            "ij,jk->ik", many(t, w).T, filled(t, len(t), w)
        ),
        POOL: pooled,
        DEPTHWISE: depthwise,
        GROUPS: lambda t, w: jax.ops.segment_sum(many(t, w), nowhere(t), 1),
        NUMBERS: lambda t, w: added(t),
        INDEXED: lambda t, w: added(many(t, w)),
        TABLE: of_a_table(embedded),
        BY_INDEX: of_a_table(lambda table, places: table[places]),
        TAKEN: of_a_table(lambda table, places: jnp.take(table, places, 0)),
        GATHERED: of_a_table(along),
        BIAS: of_a_bias,
        PLUS: lambda t, w: gradient(
            lambda b: filled(t, len(t), w) + b, filled(t, w), many(t, w)
        ),
        LOOP: in_a_loop,
        NORM: of_a_norm,
        KERNEL: of_a_filter,
    }
    compiled = {name: jax.jit(run, static_argnums=1) for name, run in sums.items()}
    sums = {
        name: lambda t, w, run=run: np.asarray(run(jnp.asarray(t), w))
        for name, run in compiled.items()
    }
    return sums, {"jax": jax.__version__, "flax": flax.__version__}


def torch():
    import torch
    from torch.nn import functional

    def given(terms):
        return torch.from_numpy(terms.view("int16")).view(
            getattr(torch, str(terms.dtype))
        )

    def many(t, w):
        return t[:, None].repeat(1, w)

    def filled(t, *shape):
        return torch.ones(shape, dtype=t.dtype)

    def nowhere(t):
        return torch.zeros(len(t), dtype=torch.int64)

    def gradient(function, at, upstream):
        at.requires_grad_()
        return torch.autograd.grad(function(at), at, upstream)[0]

    def picture(t, w):
        return many(t, w).T.reshape(1, w, *sides(len(t)))

    def depthwise(t, w):
        kernel = filled(t, w, 1, *sides(len(t)))
        return functional.conv2d(picture(t, w), kernel, groups=w)

    def of_a_table(look_up):
        def sums(t, w):
            return gradient(
                lambda table: look_up(table, nowhere(t)), filled(t, 2, w), many(t, w)
            )[0]

        return sums

    def along(table, places):
        return torch.gather(table, 0, places[:, None].repeat(1, table.shape[1]))

    def added(terms):
        total = filled(terms, 1, *terms.shape[1:]) * 0
        return total.index_add(0, nowhere(terms), terms)

    def of_a_filter(t, w):
        image = filled(t, 1, 3, *sides(len(t)))
        return gradient(
            lambda k: functional.conv2d(image, k), filled(t, w, 3, 1, 1), picture(t, w)
        )

    def of_a_bias(t, w):
        x, kernel = filled(t, len(t), 3), filled(t, w, 3)
        return gradient(
            lambda b: functional.linear(x, kernel, b), filled(t, w), many(t, w)
        )

    def of_a_norm(t, w):
        x, gain = many(t, w), filled(t, w)
        return gradient(
            lambda b: functional.layer_norm(x, (w,), gain, b), filled(t, w), many(t, w)
        )

    def in_a_loop(t, w):
        def total_of(weight):
            total = torch.zeros((), dtype=t.dtype)
            for term in t:
                total = total + weight * term
            return total

        return gradient(total_of, filled(t)[()], filled(t)[()])

    sums = {
        SUM: lambda t, w: t.sum(),
        COLUMNS: lambda t, w: many(t, w).sum(0),
        MEAN: lambda t, w: t.mean(),
        MEANS: lambda t, w: many(t, w).mean(0),
        CUMSUM: lambda t, w: t.cumsum(0)[-1],
        DOT: lambda t, w: torch.dot(t, filled(t, len(t))),
        MATMUL: lambda t, w: many(t, w).T @ filled(t, len(t), w),
        EINSUM: lambda t, w: torch.einsum("i,i->", t, filled(t, len(t))),
        PRODUCT: lambda t, w: torch.einsum(
            "ij,jk->ik", many(t, w).T, filled(t, len(t), w)
        ),
        POOL: lambda t, w: functional.avg_pool2d(picture(t, w), sides(len(t))),
        DEPTHWISE: depthwise,
        NUMBERS: lambda t, w: added(t),
        INDEXED: lambda t, w: added(many(t, w)),
        SCATTERED: lambda t, w: (filled(t, 1, w) * 0).scatter_add(
            0, nowhere(t)[:, None].repeat(1, w), many(t, w)
        ),
        TABLE: of_a_table(lambda table, places: functional.embedding(places, table)),
        BY_INDEX: of_a_table(lambda table, places: table[places]),
        TAKEN: of_a_table(lambda table, places: table.index_select(0, places)),
        GATHERED: of_a_table(along),
        BIAS: of_a_bias,
        PLUS: lambda t, w: gradient(
            lambda b: filled(t, len(t), w) + b, filled(t, w), many(t, w)
        ),
        LOOP: in_a_loop,
        NORM: of_a_norm,
        KERNEL: of_a_filter,
    }
    sums = {
        name: lambda t, w, run=run: run(given(t), w).detach().double().numpy()
        for name, run in sums.items()
    }
    return sums, {"torch": torch.__version__.partition("+")[0]}


def onnx():
    import ctypes

    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    def run(operation, *inputs, **attributes):
        """What a node of a graph makes of its inputs, the first of them given in a call."""
        like = inputs[0]
        kind = getattr(TensorProto, str(like.dtype).upper())
        names = [f"x{n}" for n in range(len(inputs))]
        node = helper.make_node(operation, names, ["y"], **attributes)
        # arrays of numbers are given, positions and axes are written in the graph
        free = [n for n, x in enumerate(inputs) if x.dtype == like.dtype]
        ends = [
            helper.make_tensor_value_info(names[n], kind, inputs[n].shape) for n in free
        ]
        fixed = [
            numpy_helper.from_array(x, names[n])
            for n, x in enumerate(inputs)
            if n not in free
        ]
        result = helper.make_tensor_value_info("y", kind, None)
        graph = helper.make_graph([node], "sum", ends, [result], fixed)
        opset = [helper.make_opsetid("", 21)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=10)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        value = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
        given = {
            names[n]: value(np.ascontiguousarray(inputs[n]).view("u2"), kind)
            for n in free
        }
        (out,) = session.run_with_ort_values(["y"], given)
        count = math.prod(out.shape())
        raw = ctypes.string_at(out.data_ptr(), 2 * count)
        return np.frombuffer(raw, like.dtype)

    axis = np.array([0])

    def pictures(t, w):
        return columns(t, w).T.reshape(1, w, *sides(len(t)))

    def added(terms):
        places = np.zeros((len(terms), 1), "int64")
        total = ones(terms, 1, *terms.shape[1:]) * 0
        return run("ScatterND", total, places, terms, reduction="add")

    def scattered(t, w):
        return run(
            "ScatterElements",
            ones(t, 1, w) * 0,
            np.zeros((len(t), w), "int64"),
            columns(t, w),
            reduction="add",
        )

    def depthwise(t, w):
        return run("Conv", pictures(t, w), ones(t, w, 1, *sides(len(t))), group=w)

    sums = {
        SUM: lambda t, w: run("ReduceSum", t, axis, keepdims=0),
        COLUMNS: lambda t, w: run("ReduceSum", columns(t, w), axis, keepdims=0),
        MEAN: lambda t, w: run("ReduceMean", t, axis, keepdims=0),
        MEANS: lambda t, w: run("ReduceMean", columns(t, w), axis, keepdims=0),
        CUMSUM: lambda t, w: run("CumSum", t, axis[0])[-1],
        DOT: lambda t, w: run("MatMul", t, ones(t, len(t))),
        MATMUL: lambda t, w: run("MatMul", columns(t, w).T, ones(t, len(t), w)),
        EINSUM: lambda t, w: run("Einsum", t, ones(t, len(t)), equation="i,i->"),
        PRODUCT: lambda t, w: run(
            "Einsum",
            columns(t, w).T,
            ones(t, len(t), w),
            equation="ij,jk->ik",
        ),
        POOL: lambda t, w: run(
            "AveragePool", pictures(t, w), kernel_shape=sides(len(t))
        ),
        DEPTHWISE: depthwise,
        NUMBERS: lambda t, w: added(t),
        INDEXED: lambda t, w: added(columns(t, w)),
        SCATTERED: scattered,
    }
    return sums, {"onnxruntime": onnxruntime.__version__}


def mlx():
    import importlib.metadata

    import mlx.core as mx
    from mlx import nn

    mx.set_default_device(mx.cpu)

    def given(terms):
        return mx.array(terms.astype("f4")).astype(getattr(mx, str(terms.dtype)))

    def many(t, w):
        return mx.repeat(t[:, None], w, 1)

    def filled(t, *shape):
        return mx.ones(shape, t.dtype)

    def nowhere(t):
        return mx.zeros(len(t), mx.int32)

    def gradient(function, at, upstream):
        return mx.vjp(function, [at], [upstream])[1][0]

    def picture(t, w):
        return many(t, w).reshape(1, *sides(len(t)), w)

    def depthwise(t, w):
        return mx.conv2d(picture(t, w), filled(t, w, *sides(len(t)), 1), groups=w)

    def of_a_table(look_up):
        def sums(t, w):
            return gradient(
                lambda table: look_up(table, nowhere(t)), filled(t, 2, w), many(t, w)
            )[0]

        return sums

    def along(table, places):
        return mx.take_along_axis(
            table, mx.repeat(places[:, None], table.shape[1], 1), 0
        )

    def embedded(table, places):
        layer = nn.Embedding(*table.shape)
        layer.weight = table
        return layer(places)

    def added(terms):
        return (filled(terms, 1, *terms.shape[1:]) * 0).at[nowhere(terms)].add(terms)

    def of_a_filter(t, w):
        image = filled(t, 1, *sides(len(t)), 3)
        return gradient(
            lambda k: mx.conv2d(image, k), filled(t, w, 1, 1, 3), picture(t, w)
        )

    def of_a_bias(t, w):
        x, kernel = filled(t, len(t), 3), filled(t, 3, w)
        return gradient(lambda b: mx.addmm(b, x, kernel), filled(t, w), many(t, w))

    def of_a_norm(t, w):
        x, gain = many(t, w), filled(t, w)
        return gradient(
            lambda b: mx.fast.layer_norm(x, gain, b, 1e-5), filled(t, w), many(t, w)
        )

    def in_a_loop(t, w):
        def total_of(weight):
            total = filled(t, 1) * 0
            for n in range(len(t)):
                total = total + weight * t[n]
            return total

        return gradient(total_of, filled(t, 1), filled(t, 1))

    sums = {
        SUM: lambda t, w: t.sum(),
        COLUMNS: lambda t, w: many(t, w).sum(0),
        MEAN: lambda t, w: t.mean(),
        MEANS: lambda t, w: many(t, w).mean(0),
        CUMSUM: lambda t, w: t.cumsum()[-1],
        DOT: lambda t, w: mx.inner(t, filled(t, len(t))),
        MATMUL: lambda t, w: many(t, w).T @ filled(t, len(t), w),
        EINSUM: lambda t, w: mx.einsum("i,i->", t, filled(t, len(t))),
        PRODUCT: lambda t, w: mx.einsum(
            "ij,jk->ik", many(t, w).T, filled(t, len(t), w)
        ),
        DEPTHWISE: depthwise,
        POOL: lambda t, w: nn.AvgPool2d(sides(len(t)))(picture(t, w)),
        NUMBERS: lambda t, w: added(t),
        INDEXED: lambda t, w: added(many(t, w)),
        TABLE: of_a_table(embedded),
        BY_INDEX: of_a_table(lambda table, places: table[places]),
        TAKEN: of_a_table(lambda table, places: mx.take(table, places, 0)),
        GATHERED: of_a_table(along),
        BIAS: of_a_bias,
        PLUS: lambda t, w: gradient(
            lambda b: filled(t, len(t), w) + b, filled(t, w), many(t, w)
        ),
        LOOP: in_a_loop,
        NORM: of_a_norm,
        KERNEL: of_a_filter,
    }
    sums = {
        name: lambda t, w, run=run: np.array(run(given(t), w).astype(mx.float32))
        for name, run in sums.items()
    }
    return sums, {"mlx": importlib.metadata.version("mlx")}


def paddle():
    import paddle
    from paddle.nn import functional

    paddle.set_device("cpu")

    def given(array):
        return paddle.to_tensor(array.astype("f4")).astype(str(array.dtype))

    def many(t, w):
        return given(columns(t, w))

    def filled(t, *shape):
        return given(ones(t, *shape))

    def none(t, *shape):
        return given(ones(t, *shape) * 0)

    def nowhere(t, *shape):
        return paddle.zeros([len(t), *shape], "int64")

    def gradient(function, at, upstream):
        at.stop_gradient = False
        return paddle.grad(function(at), at, upstream)[0]

    def picture(t, w):
        rows = np.ascontiguousarray(columns(t, w).T)
        return given(rows.reshape(1, w, *sides(len(t))))

    def depthwise(t, w):
        kernel = filled(t, w, 1, *sides(len(t)))
        return functional.conv2d(picture(t, w), kernel, groups=w)

    def of_a_filter(t, w):
        image = filled(t, 1, 3, *sides(len(t)))
        return gradient(
            lambda k: functional.conv2d(image, k), filled(t, w, 3, 1, 1), picture(t, w)
        )

    def of_a_bias(t, w):
        x, kernel = filled(t, len(t), 3), filled(t, 3, w)
        return gradient(
            lambda b: functional.linear(x, kernel, b), filled(t, w), many(t, w)
        )

    def of_a_norm(t, w):
        x, gain = many(t, w), filled(t, w)
        return gradient(
            lambda b: functional.layer_norm(x, w, gain, b), filled(t, w), many(t, w)
        )

    def of_a_table(look_up):
        def sums(t, w):
            return gradient(
                lambda table: look_up(table, nowhere(t)), filled(t, 2, w), many(t, w)
            )[0]

        return sums

    def along(table, places):
        places = paddle.zeros([len(places), table.shape[1]], "int64")
        return paddle.take_along_axis(table, places, 0)

    def in_a_loop(t, w):
        terms = given(t)

        def total_of(weight):
            total = none(t, 1)
            for n in range(len(t)):
                total = total + weight * terms[n]
            return total

        return gradient(total_of, filled(t, 1), filled(t, 1))

    sums = {
        SUM: lambda t, w: given(t).sum(),
        COLUMNS: lambda t, w: many(t, w).sum(0),
        MEAN: lambda t, w: given(t).mean(),
        MEANS: lambda t, w: many(t, w).mean(0),
        CUMSUM: lambda t, w: given(t).cumsum(0)[-1],
        DOT: lambda t, w: paddle.dot(given(t), filled(t, len(t))),
        MATMUL: lambda t, w: paddle.matmul(
            many(t, w), filled(t, len(t), w), transpose_x=True
        ),
        EINSUM: lambda t, w: paddle.einsum("i,i->", given(t), filled(t, len(t))),
        PRODUCT: lambda t, w: paddle.einsum(
            "ji,jk->ik", many(t, w), filled(t, len(t), w)
        ),
        POOL: lambda t, w: functional.avg_pool2d(picture(t, w), sides(len(t))),
        DEPTHWISE: depthwise,
        NUMBERS: lambda t, w: paddle.index_add(none(t, 1), nowhere(t), 0, given(t)),
        INDEXED: lambda t, w: paddle.index_add(
            none(t, 1, w), nowhere(t), 0, many(t, w)
        ),
        SCATTERED: lambda t, w: paddle.put_along_axis(
            none(t, 1, w), nowhere(t, w), many(t, w), 0, reduce="add"
        ),
        TABLE: of_a_table(lambda table, places: functional.embedding(places, table)),
        BY_INDEX: of_a_table(lambda table, places: table[places]),
        TAKEN: of_a_table(lambda table, places: paddle.index_select(table, places, 0)),
        GATHERED: of_a_table(along),
        BIAS: of_a_bias,
        PLUS: lambda t, w: gradient(
            lambda b: filled(t, len(t), w) + b, filled(t, w), many(t, w)
        ),
        LOOP: in_a_loop,
        NORM: of_a_norm,
        KERNEL: of_a_filter,
    }
    sums = {
        name: lambda t, w, run=run: run(t, w).astype("float64").numpy()
        for name, run in sums.items()
    }
    return sums, {"paddle": paddle.__version__}


def openvino():
    import openvino as ov
    from openvino import opset15 as ops

    core = ov.Core()
    if PRECISION in os.environ:
        core.set_property("CPU", {PRECISION: os.environ[PRECISION]})

    def run(make, *inputs):
        """What an operation makes of inputs that are given in a call."""
        kind = {"float16": ov.Type.f16, "bfloat16": ov.Type.bf16}[str(inputs[0].dtype)]
        ends = [ops.parameter(list(x.shape), kind) for x in inputs]
        compiled = core.compile_model(ov.Model([make(*ends)], ends), "CPU")
        request = compiled.create_infer_request()
        for n, x in enumerate(inputs):
            given = ov.Tensor(kind, list(x.shape))
            given.data[:] = x if kind == ov.Type.f16 else x.view(given.data.dtype)
            request.set_input_tensor(n, given)
        request.infer()
        out = request.get_output_tensor(0).data
        return out.view(inputs[0].dtype) if out.dtype.itemsize == 2 else out

    axis = np.array([0])

    def pictures(t, w):
        return np.ascontiguousarray(columns(t, w).T.reshape(1, w, *sides(len(t))))

    def depthwise(t, w):
        def make(x, kernel):
            return ops.group_convolution(x, kernel, [1, 1], [0, 0], [0, 0], [1, 1])

        return run(make, pictures(t, w), ones(t, w, 1, 1, *sides(len(t))))

    def pooled(t, w):
        def make(x):
            size = list(sides(len(t)))
            return ops.avg_pool(x, size, [0, 0], [0, 0], size, True)

        return run(make, pictures(t, w))

    def product(t, w):
        rows = np.ascontiguousarray(columns(t, w).T)
        return run(
            lambda x, y: ops.matmul(x, y, False, False), rows, ones(t, len(t), w)
        )

    def einsum(equation, *inputs):
        return run(lambda *ends: ops.einsum(list(ends), equation), *inputs)

    def added(terms):
        places = np.zeros((len(terms), 1), "int64")
        return run(
            lambda x, updates: ops.scatter_nd_update(x, places, updates, "sum"),
            ones(terms, 1, *terms.shape[1:]) * 0,
            terms,
        )

    def scattered(t, w):
        places = np.zeros((len(t), w), "int64")
        return run(
            lambda x, updates: ops.scatter_elements_update(
                x, places, updates, 0, "sum"
            ),
            ones(t, 1, w) * 0,
            columns(t, w),
        )

    sums = {
        SUM: lambda t, w: run(lambda x: ops.reduce_sum(x, axis, False), t),
        COLUMNS: lambda t, w: run(
            lambda x: ops.reduce_sum(x, axis, False), columns(t, w)
        ),
        MEAN: lambda t, w: run(lambda x: ops.reduce_mean(x, axis, False), t),
        MEANS: lambda t, w: run(
            lambda x: ops.reduce_mean(x, axis, False), columns(t, w)
        ),
        CUMSUM: lambda t, w: run(lambda x: ops.cum_sum(x, axis[0]), t)[-1],
        DOT: lambda t, w: run(
            lambda x, y: ops.matmul(x, y, False, False), t, ones(t, len(t))
        ),
        MATMUL: product,
        EINSUM: lambda t, w: einsum("i,i->", t, ones(t, len(t))),
        PRODUCT: lambda t, w: einsum(
            "ij,jk->ik",
            np.ascontiguousarray(columns(t, w).T),
            ones(t, len(t), w),
        ),
        POOL: pooled,
        DEPTHWISE: depthwise,
        NUMBERS: lambda t, w: added(t),
        INDEXED: lambda t, w: added(columns(t, w)),
        SCATTERED: scattered,
    }
    return sums, {"openvino": ov.__version__.partition("-")[0]}
