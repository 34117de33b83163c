"""The judge of eight dtypes in notebook 03: it looks each of them up in the model
itself.
"""

import functools

from .judges import Choice, Fields

CODE = """\
keras.config.set_dtype_policy("mixed_float16")
model = keras.Sequential([
    keras.Input((28, 28, 1)),
    keras.layers.Conv2D(8, 3, name="conv"),
    keras.layers.LayerNormalization(name="norm"),
    keras.layers.Flatten(name="flat"),
    keras.layers.Dense(10, dtype="float32", name="logits"),
])
keras.config.set_dtype_policy("float32")  # as it was
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)"""
WHY = {  # what is said of the dtype that people give in place of the right one
    "kernel": "a mixed policy stores the float32 master weights.",
    "kernel in use": "`conv` computes in float16, so it reads its kernel cast.",
    "after conv": "a layer hands on its compute dtype; nothing casts it back.",
    "inside norm": "it casts its inputs up, because squares and sums leave float16.",
    "after norm": "what it does in float32 stays inside; it casts the result back.",
    "logits": "that layer has a `dtype` of its own, and casts what arrives.",
    "loss": "a loss object computes in float32 under every policy.",
    "gradient": "the pass back through the kernel's cast casts it up again.",
}


@functools.cache
def measured():
    """{what: its dtype} in a training step of the model, traced and not run."""
    import keras  # late: it loads TensorFlow
    import tensorflow as tf

    from course_utils.training import dtype_policy

    names = {"keras": keras}
    with dtype_policy("float32"):  # and back to the learner's
        exec(CODE, names)
    conv, norm, flat, logits = names["model"].layers

    def step(x, y):
        with tf.GradientTape() as tape:
            after_norm = norm(after_conv := conv(x))
            loss = names["loss_fn"](y, output := logits(flat(after_norm)))
        return (
            after_conv,
            after_norm,
            output,
            loss,
            tape.gradient(loss, conv.kernel.value),
        )

    graph = tf.function(step, autograph=False)
    traced = graph.get_concrete_function(tf.zeros((2, 28, 28, 1)), tf.zeros(2))
    after_conv, *rest = [tensor.dtype.name for tensor in traced.structured_outputs]
    read = {
        op.type: op.inputs[-1].dtype.name
        for op in traced.graph.get_operations()
        if op.inputs
    }
    found = conv.kernel.dtype, read["Conv2D"], after_conv, read["Rsqrt"], *rest
    return dict(zip(WHY, found, strict=True))


def fields():
    """The judges of the eight, by what was measured."""
    options = ("float32", "float16")
    right = measured()
    wrong = {
        name: {options[dtype == options[0]]: WHY[name]} for name, dtype in right.items()
    }
    return Fields(
        {name: Choice(right[name], wrong[name], options=options) for name in right}
    )


def judge(answer):
    """What is wrong with a dictionary of dtypes; the model is made when the first one
    comes.
    """
    return fields()(answer)


judge.examples = lambda: fields().examples()  # type: ignore[attr-defined]
