"""What every layer of Keras does under three policies, measured.

    python -m tools.layer_support

writes data/layer_support.json, from which docs/layers.md is made, in about a minute.
"""

import inspect
import re
import textwrap
import warnings
from functools import partial

import keras
import numpy as np
import tensorflow as tf
from mixed_precision_lint.finding import NARROW, WIDE
from tqdm import tqdm

from course_utils import paths, records, session
from course_utils.benchmark import measure
from course_utils.training import dtype_policy
from tools.inside import operations
from tools.layer_samples import BYTES, IMAGES, NOT_TRIED, make, offered
from tools.record import made

NOTE = (
    "What every layer of keras.layers that stands by itself returned under three dtype policies, "
    "given a small input of float32 values (integers or text where it takes those), and called "
    "with training=True where it knows that; in 16 bits it was traced into a graph too, as fit "
    "does, and that tells in which dtype it works. Recorded, not maintained: it holds for the "
    "versions and the device below. Written by tools/layer_support.py."
)
POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")
COLUMNS = (*POLICIES, "what happens", "with a mask", "uint8 images")
FOLLOWS, INSIDE = "computes in the policy's dtype", "casts inside: works in {}"
PART, SAME = "casts inside: a part works in {} ({})", "as without"
GRAPH = "in a graph, such as that of fit"
# Operations that cast, hand on, move, compare or pick numbers. Integers and booleans are
# never looked at, nor are random numbers, which depend on no input.
NO_ARITHMETIC = {
    *("Cast", "Identity", "IdentityN", "StopGradient", "EnsureShape", "ReadVariableOp"),
    *("Reshape", "Squeeze", "ExpandDims", "Transpose", "ReverseV2", "Tile", "Pack"),
    *("Unpack", "Split", "SplitV", "ConcatV2", "Pad", "PadV2", "MirrorPad", "BroadcastTo"),
    *("StridedSlice", "Slice", "GatherV2", "GatherNd", "ResourceGather", "SelectV2"),
    *("OneHot", "Real", "Imag", "TensorListGetItem", "TensorListStack"),
    *("Maximum", "Minimum", "Max", "Min"),
}  # fmt: skip
LAYERS = keras.layers
PENALTY = {"activity_regularizer": "l2"}
WITH_LOSS = {
    "Dense(activity_regularizer)": partial(LAYERS.Dense, 3, **PENALTY),
    "Conv2D(activity_regularizer)": partial(LAYERS.Conv2D, 2, 2, **PENALTY),
    "LSTM(activity_regularizer)": partial(LAYERS.LSTM, 3, **PENALTY),
    "ActivityRegularization": LAYERS.ActivityRegularization,
    'ActivityRegularization(dtype="float32")': partial(
        LAYERS.ActivityRegularization, dtype="float32"
    ),
    "Dense(kernel_regularizer)": partial(LAYERS.Dense, 3, kernel_regularizer="l2"),
}


def classes():
    """The classes of layers in `keras.layers` by name, each once whatever its aliases."""
    names = {}
    for name, kind in sorted(vars(LAYERS).items()):
        if inspect.isclass(kind) and issubclass(kind, LAYERS.Layer):
            own = hasattr(LAYERS, kind.__name__)  # one class goes by an alias alone
            names[kind] = kind.__name__ if own else name
    return {
        name: kind for kind, name in sorted(names.items(), key=lambda item: item[1])
    }


def trial(kind, policy, arguments, *masks, trace=True):
    """What comes of a layer under a policy: "output", the dtypes or the error in words;
    "error", its type; "losses", their dtypes; in 16 bits also "inside", in words what
    works in which dtype, or "graph", why there is none.
    """

    def call(arguments, *masks):
        for x in keras.tree.flatten(arguments) if masks else ():
            (x._keras_mask,) = masks  # as the layer before it would leave it
        options = {"training": True} if takes(layer, "training") else {}
        return layer(*arguments, **options)

    keras.utils.set_random_seed(0)
    given = keras.tree.map_structure(tf.convert_to_tensor, (arguments, *masks))
    try:
        with dtype_policy(policy):
            layer = make(kind)
        outputs = keras.tree.flatten(call(*given))
    except Exception as error:  # whatever Keras or TensorFlow raises
        return {"output": f"error: {sentence(error)}", "error": type(error).__name__}
    found = {"output": ", ".join(dict.fromkeys(map(dtype_of, outputs)))}
    found["losses"] = [dtype_of(loss) for loss in layer.losses]
    if trace and policy != "float32":
        try:
            found["inside"] = inside(operations(call, *given))
        except Exception as error:
            found["graph"] = sentence(error)
    return found


def takes(layer, word):
    return any(word in name for name in inspect.signature(layer.call).parameters)


def dtype_of(tensor):
    return keras.utils.standardize_dtype(tensor.dtype)


def sentence(error):
    """The gist of an error message of Keras or TensorFlow."""
    text = str(error)
    kernel = re.search(r"\}\} = (\w+)\[[^\]]*DT_(HALF|BFLOAT16)", text)
    if kernel:
        dtype = {"HALF": "float16", "BFLOAT16": "bfloat16"}[kernel[2]]
        return f"TensorFlow has no {kernel[1]} for {dtype} here"
    bold = re.search(r"\x1b\[1m(.*?)\x1b\[0m", text, re.DOTALL)
    text = re.split(r" Received|: <| \[Op:", bold[1] if bold else text)[0]
    return textwrap.shorten(text, 110, placeholder=" …").rstrip(".")


def inside(found):
    """In words, the dtypes in which operations work, {(name, dtype)}."""
    work = [(name, dtype) for name, dtype in found if name not in NO_ARITHMETIC]
    wide = {name for name, dtype in work if dtype in WIDE}
    dtypes = " and ".join(sorted({dtype for _, dtype in work if dtype in WIDE}))
    if not wide:
        return FOLLOWS
    if any(dtype in NARROW for _, dtype in work):
        return PART.format(dtypes, ", ".join(sorted(wide)))
    return INSIDE.format(dtypes)


def verdict(trials):
    """In words, what the trials of a layer under the three policies show."""
    for key in ("error", "graph"):
        failing = {
            policy: found[key] for policy, found in trials.items() if key in found
        }
        why = f" {GRAPH} ({'; '.join(dict.fromkeys(failing.values()))})"
        if failing:
            return (
                f"fails: under {' and '.join(failing)}{why if key == 'graph' else ''}"
            )
    outputs = {policy: found["output"] for policy, found in trials.items()}
    if all(policy.removeprefix("mixed_") == out for policy, out in outputs.items()):
        says = dict.fromkeys(trials[policy]["inside"] for policy in POLICIES[1:])
        return " or ".join(says)  # no two so far
    if len({*outputs.values()}) > 1:
        return "returns the policy's dtype and others"
    output = outputs["float32"]
    return f"returns {'integers' if 'int' in output else output} by design"


def with_a_mask(kind, arguments, without):
    """The verdict on a layer whose inputs carry a mask; "" where it knows none."""
    layer = make(kind)
    if not (layer.supports_masking or takes(layer, "mask")):
        return ""
    whole = keras.tree.flatten(arguments)[0].shape
    for shape in (whole[:2], whole[:-1], whole):
        mask = np.arange(np.prod(shape)).reshape(shape) % 4 < 3
        trials = {policy: trial(kind, policy, arguments, mask) for policy in POLICIES}
        if "error" not in trials["float32"]:
            says = verdict(trials)
            return SAME if says == without else says
    return f"not tried: needs another mask: {trials['float32']['output']}"


def of_bytes(kind, arguments):
    """The dtype that a layer returns for uint8 images under mixed_float16, or the type of
    its error; "" where it takes no images of floats either.
    """
    (first, *more) = arguments
    if more or isinstance(first, (list, tuple)):
        return ""
    floating, given = [
        ({**first, "images": images} if isinstance(first, dict) else images,)
        for images in (IMAGES, BYTES)
    ]
    if "error" in trial(kind, "float32", floating):
        return ""
    found = trial(kind, "mixed_float16", given, trace=False)
    return found.get("error", found["output"])


def trains(build, policy):
    """What one step of `fit` with a layer does: "trains", or the error's type."""
    with dtype_policy(policy):
        layer = build()
    shape = (4, 4, 3) if isinstance(layer, LAYERS.Conv2D) else (4, 3)
    start = keras.Input(shape)
    end = LAYERS.Dense(1, dtype="float32")(LAYERS.Flatten()(layer(start)))
    model = keras.Model(start, end)
    model.compile("sgd", "mse", jit_compile=False)
    try:
        model.fit(np.ones((2, *shape), "float32"), np.ones((2, 1)), verbose=0)
    except Exception as error:
        return type(error).__name__
    return "trains"


def row(kind):
    """What is recorded of a class of layers, by column."""
    empty = dict.fromkeys(COLUMNS, "")
    if kind.__name__ in NOT_TRIED:
        return empty | {"what happens": f"not tried: {NOT_TRIED[kind.__name__]}"}
    for arguments in offered(kind):
        trials = {policy: trial(kind, policy, arguments) for policy in POLICIES}
        if "error" not in trials["float32"]:
            break
    else:
        return empty | {"what happens": f"not tried: {trials['float32']['output']}"}
    says = verdict(trials)
    outputs = [trials[policy]["output"] for policy in POLICIES]
    more = with_a_mask(kind, arguments, says), of_bytes(kind, arguments)
    if trials["float32"]["losses"]:
        fits = {policy: trains(partial(make, kind), policy) for policy in POLICIES}
        failing = [policy for policy in POLICIES if fits[policy] != "trains"]
        if failing:
            narrow = all({*trials[policy]["losses"]} & {*NARROW} for policy in failing)
            why = "its loss is in 16 bits" if narrow else fits[failing[0]]
            says = f"fails: under {' and '.join(failing)} in fit ({why})"
    return dict(zip(COLUMNS, (*outputs, says, *more), strict=True))


def losses():
    """What `fit` does with layers that add a loss, row by row."""
    return [
        {"layer": name, **{policy: trains(build, policy) for policy in POLICIES}}
        for name, build in WITH_LOSS.items()
    ]


def main():
    machine = session.setup()
    warnings.filterwarnings("ignore", "Layer .* was passed an input with a mask")
    rows = [{"layer": n, **row(kind)} for n, kind in tqdm(classes().items(), "layers")]
    content = {"note": NOTE, "device": measure.device_name(machine), "rows": rows}
    record = made("layer support", **content, losses=losses())
    print(f"Written to {records.save(record, paths.data('layer_support.json'))}")


if __name__ == "__main__":
    main()
