"""The layer of notebook 03's exercise 4: as the task gives it, repaired, and wrong in many ways."""


def fade(weight=None, ramp=None, output=None, policy=None):
    """A function that makes the layer of the task, repaired, or wrong where an argument says so.

    `weight(layer, n)` makes the gain, `ramp(layer, n)` the ramp, `output(layer, inputs, ramp)` the
    result; `policy` is a dtype policy that the layer insists on. Imports Keras when it is called.

    Example: `fade()()` is a right layer, `fade(policy="float16")()` one that insists on float16.

    >>> callable(fade(output=in_dtype("float32")))
    True
    """

    def make():
        import keras  # late: it loads TensorFlow

        class Fade(keras.layers.Layer):
            def build(self, input_shape):
                self.gain = (weight or added)(self, input_shape[-1])

            def call(self, inputs):
                own = (ramp or cast_ramp)(self, inputs.shape[-1])
                return (output or times_gain)(self, inputs, own)

        return Fade(dtype=policy)

    return make


def added(layer, n, **options):
    """The gain as it should be made, with options of `add_weight`."""
    return layer.add_weight(shape=(n,), **{"initializer": "ones"} | options)


def raw(layer, n):
    """The gain of the task: a variable of TensorFlow that Keras does not know."""
    import tensorflow as tf

    return tf.Variable(tf.ones(n))


def cast_ramp(layer, n, dtype=None):
    """The ramp in the compute dtype, or in a fixed one."""
    import tensorflow as tf

    return tf.cast(tf.linspace(0.0, 1.0, n), dtype or layer.compute_dtype)


def float32_ramp(layer, n):
    """The ramp of the task."""
    return cast_ramp(layer, n, "float32")


def float16_ramp(layer, n):
    """A ramp that fits mixed_float16 alone."""
    return cast_ramp(layer, n, "float16")


def times_gain(layer, inputs, ramp):
    """The result as it should be."""
    return inputs * layer.gain + ramp


def in_dtype(dtype):
    """An `output` that casts all three of its parts to a fixed dtype.

    Example: `fade(output=in_dtype("float32"))`
    """

    def output(layer, inputs, ramp):
        import tensorflow as tf

        inputs, gain, ramp = (tf.cast(part, dtype) for part in (inputs, layer.gain, ramp))
        return inputs * gain + ramp

    return output


def cast_gain(layer, inputs, ramp):
    """An `output` for a raw variable that is cast by hand."""
    import tensorflow as tf

    return inputs * tf.cast(layer.gain, layer.compute_dtype) + ramp


def cast_at_the_end(layer, inputs, ramp):
    """An `output` that works in float32 and casts its result alone."""
    import tensorflow as tf

    return tf.cast(in_dtype("float32")(layer, inputs, ramp), layer.compute_dtype)


def given():
    """The layer of the task, broken as it is there.

    Example: `check_layer(given)` says that the output is float32.
    """
    return fade(weight=raw, ramp=float32_ramp, output=in_dtype("float32"))()
