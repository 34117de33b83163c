"""The judges of notebook 08's functions: zeros, a scale with its zero point, two layers
evened out, a float32 twin.
"""

import numpy as np

from course_utils.exercises.answers import attempt, call, describe, near, number

PRUNE = """\
import numpy as np

def prune(weights, share):
    pruned = weights.copy()
    smallest = np.argsort(abs(weights), axis=None)[:round(share * weights.size)]
    pruned.flat[smallest] = 0
    return pruned

"""
PRUNE_SLIPS = {
    "largest": {"abs(weights)": "-abs(weights)"},
    "magnitude": {"abs(weights)": "weights"},
    "your own array": {"weights.copy()": "weights"},
    "of 12 weights": [
        {"share * weights.size": "(1 - share) * weights.size"},
        {"share * weights.size": "share * len(weights)"},
    ],
    "shape": {"return pruned": "return pruned.ravel()"},
}
PRUNINGS = (((3, 4), 0.5), ((2, 3, 2), 0.75))


def prune_problem(prune: object, trial: tuple[tuple[int, ...], float]) -> str | None:
    """What is wrong with the learner's pruning of an array of this shape, or None."""
    shape, share = trial
    size = int(np.prod(shape))
    count = round(share * size)
    ranks = np.random.RandomState(8).permutation(np.arange(1, size + 1)).reshape(shape)
    weights = np.where(ranks % 2, ranks, -ranks) / size
    original = weights.copy()
    answer = call(prune, original, share, end="`return`")
    pruned = attempt(lambda: np.asarray(answer, float))
    if pruned is None or pruned.shape != shape:
        return f"It returns {describe(answer)}: return an array of the shape {shape}."
    if not np.array_equal(original, weights):
        return "It changes the array that it was given: change your own array, a copy."
    is_zero = pruned == 0
    if is_zero.sum() != count:
        return (
            f"With the share {share:g} of {size} weights, {is_zero.sum()} are zero: it has to be"
            f" {count}."
        )
    if np.array_equal(is_zero, ranks > size - count):
        return "It sets the largest to zero: the smallest are to go."
    if not np.array_equal(is_zero, ranks <= count):
        return "Not the smallest are zero: compare by magnitude, without the sign."
    if not np.array_equal(pruned[~is_zero], weights[~is_zero]):
        return "The weights that stay have changed: leave them as they are."
    return None


AFFINE = """\
def affine(low, high):
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / 255
    return scale, round(-128 - low / scale)

"""
AFFINE_SLIPS = {
    "contain 0": {"min(low, 0.0), max(high, 0.0)": "low, high"},
    "255 steps": [{"/ 255": "/ 256"}, {"/ 255": "/ 127"}],
    "an integer": {"round(-128 - low / scale)": "-128 - low / scale + 0.25"},
    "land on −128": [{"-128 - low": "128 - low"}, {"-128 - low": "-low"}],
    "the other way": {
        "scale, round(-128 - low / scale)": "round(-128 - low / scale), scale"
    },
}
RANGES = ((-1.0, 3.0), (2.0, 6.0), (-8.0, -4.0))


def affine_problem(affine: object, trial: tuple[float, float]) -> str | None:
    """What is wrong with the learner's scale and zero point for a range, or None."""
    low, high = trial
    answer = call(affine, low, high, end="`return`")
    pair = attempt(lambda: tuple(map(number, answer)))
    if pair is None or len(pair) != 2 or None in pair:
        return f"It returns {describe(answer)}: return two numbers, (scale, zero)."
    scale, zero = pair
    right = (max(high, 0.0) - min(low, 0.0)) / 255
    right_zero = round(-128 - min(low, 0.0) / right)
    case = f"For {low:g} to {high:g} you give the scale {scale:.4g} and the zero point {zero:.4g}"
    if near(scale, right_zero) and near(zero, right):
        return f"{case}. They come the other way around: (scale, zero)."
    if not near(scale, right, 1e-3):
        if near(scale, (high - low) / 255, 1e-3):
            return f"{case}. The range has to contain 0: widen it first."
        return f"{case}. There are 255 steps between 256 integers."
    if zero != round(zero):
        return f"{case}. The zero point has to be an integer."
    return None if zero == right_zero else f"{case}. The lower end has to land on −128."


EVEN = """\
import numpy as np

def even_out(first, bias, second):
    largest = abs(first).max(axis=(0, 1, 2))  # of each channel
    reading = abs(second).max(axis=(0, 1, 3))  # of the weights that read it
    factor = np.sqrt(largest / reading)
    return first / factor, bias / factor, second * factor[:, None]

"""
EVEN_SLIPS = {
    "something else": {"bias / factor": "bias"},
    "as large.": {"np.sqrt": ""},
    "three arrays": {", second * factor[:, None]": ""},
}


def even_problem(even_out: object, channels: int) -> str | None:
    """What is wrong with the learner's even layers of so many channels, or None."""
    source = np.random.RandomState(channels)
    shapes = (3, 3, 1, channels), (channels,), (3, 3, channels, 4)
    first, bias, second = (source.uniform(0.1, 1, shape) for shape in shapes)
    first *= 4.0 ** np.arange(channels)
    answer = call(even_out, first, bias, second, end="`return`")
    even = attempt(lambda: [np.asarray(array, float) for array in answer])
    if even is None or tuple(map(np.shape, even)) != shapes:
        return "Return three arrays of the shapes that were given: first, bias, second."
    factor = first[0, 0, 0] / even[0][0, 0, 0]
    same = first / factor, bias / factor, second * factor[:, None]
    if not all(map(np.allclose, even, same)):
        return "It computes something else: divide a bias like its weights, and multiply `second`."
    own = abs(even[0]).max(axis=(0, 1, 2))
    reading = abs(even[2]).max(axis=(0, 1, 3))
    if np.allclose(own, reading):
        return None
    return f"For channel 0 the largest are {own[0]:.3g} and {reading[0]:.3g}: make them as large."


FLOAT32 = """\
from course_utils.training import dtype_policy

def to_float32(model, build):
    with dtype_policy("float32"):
        twin = build()
    twin.set_weights(model.get_weights())
    return twin

"""
FLOAT32_SLIPS = {
    "still computes in": [
        {'dtype_policy("float32")': "dtype_policy(model.dtype_policy.name)"},
        {"return twin": "return model"},
    ],
    "weights of its own": {"    twin.set_weights(model.get_weights())\n": ""},
    "the policy is": {
        'with dtype_policy("float32"):\n        twin = build()': "import keras\n"
        '    keras.config.set_dtype_policy("float32")\n    twin = build()'
    },
    "give the network": {"return twin": "return twin.get_weights()"},
}


def float32_problem(to_float32: object, policy: str) -> str | None:
    """What is wrong with the learner's twin of a network under this policy, or None."""
    import keras  # late: it loads TensorFlow

    from course_utils.training import dtype_policy

    def build():
        zeros = {"kernel_initializer": "zeros"}  # Keras draws no seed
        hidden = keras.layers.Dense(6, activation="relu", **zeros)
        return keras.Sequential(
            [keras.Input((4,)), hidden, keras.layers.Dense(3, **zeros)]
        )

    with dtype_policy(policy):
        model = build()
        source = np.random.RandomState(8)
        model.set_weights([source.normal(size=w.shape) for w in model.get_weights()])
        twin = call(to_float32, model, build, end="`return`")
        policy_after = keras.config.dtype_policy().name
    if not isinstance(twin, keras.Model):
        return f"It returns {describe(twin)}: give the network itself."
    for layer in twin.layers:
        if layer.compute_dtype != "float32":
            return (
                f"A layer of it still computes in {layer.compute_dtype}: build it under"
                " float32."
            )
    if policy_after != policy:
        return f"Afterwards the policy is {policy_after}, and before it was {policy}: restore it."
    if all(map(np.array_equal, twin.get_weights(), model.get_weights())):
        return None
    return "It has weights of its own: copy those of the trained model."
