"""What every layer of the installed Keras returns under each dtype policy.

    from course_utils.precision.coverage import layer_support

    layer_support()

The small arguments and inputs that the layers are tried with are in `samples`.
"""

import contextlib
import inspect
import logging
import re
import textwrap
import warnings

import keras
from tqdm.auto import tqdm

from course_utils.precision import samples
from course_utils.stepping import dtype_policy

FLOAT, RESOURCE = 1, 20  # how TensorFlow numbers these dtypes in a graph
POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")
WHAT = "what happens"
GRAPH, INSIDE = "fails in a graph", "float32 inside"


def layer_support(policies=POLICIES):
    """Build and call every layer of `keras.layers` under each policy, and say what comes out.

    Every layer gets a small input of float32 values (of integers or text where it takes those)
    and is called with `training=True` where it knows that. Under the first policy that computes
    in 16 bits it is also traced into a graph, as `fit` does, to see whether that works and whether
    values from the input are worked on in float32 inside. What one kernel does inside stays
    unseen, such as the float32 sum in a matrix product. Kernels differ between devices: the table
    holds for the one you are on.

    Args:
        policies: names of dtype policies.

    Returns:
        A pandas DataFrame with the layers' names as index. One column per policy: the dtype of
        the output, of all of them if they differ, "error: …", or "" if the layer was not tried.
        The column "what happens" says it in words: "computes in the policy's dtype", "casts
        inside: …", "returns float32 by design", "fails: …", "not tried: …".

    Raises:
        ValueError: Keras knows no policy of that name.

    Example:
        >>> layer_support().loc["BatchNormalization", ["mixed_float16", "what happens"]].to_list()
        ['float16', 'casts inside: works in float32']
    """
    import pandas as pd

    computes = {policy: keras.DTypePolicy(policy).compute_dtype for policy in policies}
    rows = {}
    with _quiet():
        for name, kind in tqdm(layer_classes().items(), desc="layers", leave=False):
            trials = {}
            for policy in policies:
                traced = any(trial.keys() & {GRAPH, INSIDE} for trial in trials.values())
                trials[policy] = _try(kind, policy, trace=not traced)
            if any("error" in trial for trial in trials.values()):
                reference = trials.get("float32") or _try(kind, "float32", trace=False)
                if "error" in reference:  # a new layer that wants other inputs: blame no policy
                    why = f"needs other inputs: {reference['error']}"
                    trials = dict.fromkeys(policies, {"output": "", "not tried": why})
            rows[name] = {policy: trial["output"] for policy, trial in trials.items()}
            rows[name][WHAT] = _in_words(trials, computes)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[*policies, WHAT])
    return table.rename_axis("layer")


def layer_classes() -> dict:
    """The layer classes of `keras.layers` by name, each once whatever its aliases.

    Example:
        >>> list(layer_classes())[:2]
        ['Activation', 'ActivityRegularization']
    """
    names = {}
    for name, kind in sorted(vars(keras.layers).items()):
        if inspect.isclass(kind) and issubclass(kind, keras.layers.Layer):
            own = hasattr(keras.layers, kind.__name__)  # one class goes by an alias alone
            names[kind] = kind.__name__ if own else name
    return {name: kind for kind, name in sorted(names.items(), key=lambda item: item[1])}


def _try(kind, policy, trace):
    """What comes of a layer under a policy, as a dictionary.

    "output" is text for the table; "error", "not tried" and GRAPH are sentences that are there if
    they apply; INSIDE tells whether values from the input are worked on in float32.
    """
    name = kind.__name__
    if name in samples.NOT_TRIED:
        return {"output": "", "not tried": samples.NOT_TRIED[name]}
    with dtype_policy(policy):
        try:
            layer = kind(**samples.arguments(kind))
        except Exception as error:
            return {"output": "", "not tried": f"needs arguments: {_sentence(error)}"}
        inputs = samples.inputs(kind)
        knows = inspect.signature(layer.call).parameters
        options = {"training": True} if "training" in knows else {}
        try:
            outputs = keras.tree.flatten(layer(*inputs, **options))
        except Exception as error:
            return {"output": f"error: {_sentence(error)}", "error": _sentence(error)}
        dtypes = dict.fromkeys(keras.backend.standardize_dtype(y.dtype) for y in outputs)
        found = {"output": ", ".join(dtypes)}
        if trace and layer.compute_dtype in ("float16", "bfloat16"):
            found |= trace_dtypes(layer, inputs, options)
        return found


def trace_dtypes(layer, inputs, options) -> dict:
    """Trace a layer into a graph and see whether it works in float32 there.

    Args:
        layer: a built `keras.layers.Layer` that computes in 16 bits.
        inputs: its positional arguments, a sequence of arrays or nested structures of them.
        options: its keyword arguments.

    Returns:
        {INSIDE: whether values from the input are worked on in float32}, or, if the layer cannot
        be traced, {GRAPH: why}.

    Example:
        >>> layer = keras.layers.LayerNormalization(dtype="mixed_float16")
        >>> trace_dtypes(layer, [np.ones((2, 4), "float32")], {})[INSIDE]
        True
    """
    import tensorflow as tf

    inputs = keras.tree.map_structure(tf.convert_to_tensor, inputs)
    call = tf.function(lambda *tensors: layer(*tensors, **options), autograph=False)
    try:
        graph = call.get_concrete_function(*inputs).graph.as_graph_def()
    except Exception as error:
        return {GRAPH: _sentence(error)}
    fed = {n.name for n in graph.node if n.op == "Placeholder" and n.attr["dtype"].type != RESOURCE}
    scopes = [(graph.node, fed)]
    scopes += [
        (f.node_def, {a.name for a in f.signature.input_arg}) for f in graph.library.function
    ]
    return {INSIDE: any(_in_float32(nodes, reached) for nodes, reached in scopes)}


def _in_float32(nodes, reached):
    """Whether an operation that depends on the names in `reached` works in float32.

    Random numbers and the casting itself do not count, nor the comparison with which `Masking`
    looks at the inputs before they are cast.
    """
    for node in nodes:
        sources = {source.lstrip("^").split(":")[0] for source in node.input}
        if sources & reached:
            reached.add(node.name)
            works = node.op not in ("Cast", "Identity", "NotEqual", "ReadVariableOp")
            if works and any(value.type == FLOAT for value in node.attr.values()):
                return True
    return False


def _in_words(trials, computes):
    """One line on the trials of a layer, a dictionary by policy."""
    for trial in trials.values():
        if "not tried" in trial:
            return f"not tried: {trial['not tried']}"
    failing = [policy for policy, trial in trials.items() if "error" in trial]
    if failing:
        return f"fails: under {' and '.join(failing)}"
    for policy, trial in trials.items():
        if GRAPH in trial:
            return f"fails: under {policy} in a graph, such as that of fit ({trial[GRAPH]})"
    outputs = {trial["output"] for trial in trials.values()}
    if all(trial["output"] == computes[policy] for policy, trial in trials.items()):
        inside = any(trial.get(INSIDE) for trial in trials.values())
        return "casts inside: works in float32" if inside else "computes in the policy's dtype"
    if len(outputs) > 1:
        return "returns the policy's dtype and others"
    (output,) = outputs
    return f"returns {'integers' if 'int' in output else output} by design"


def _sentence(error):
    """The gist of an error message of Keras or TensorFlow."""
    text = str(error)
    kernel = re.search(r"\}\} = (\w+)\[[^\]]*DT_(HALF|BFLOAT16)", text)
    if kernel:
        dtype = {"HALF": "float16", "BFLOAT16": "bfloat16"}[kernel[2]]
        return f"TensorFlow has no {kernel[1]} for {dtype} here"
    bold = re.search(r"\x1b\[1m(.*?)\x1b\[0m", text, re.DOTALL)
    text = re.split(r" Received|: <| \[Op:", bold[1] if bold else text)[0]
    return textwrap.shorten(text, 110, placeholder=" …").rstrip(".")


@contextlib.contextmanager
def _quiet():
    """Without the warnings of layers that are called in unusual ways."""
    logger = logging.getLogger("tensorflow")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
