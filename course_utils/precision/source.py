"""The source of layers that are not Keras's: dtypes, counts and numbers in it. A
heuristic.
"""

import ast
import inspect
import textwrap
from typing import Any, NamedTuple

import keras

# Methods that compute something else than the layer's output, and those that describe a
# layer.
ELSEWHERE = (
    "__init__", "train_step", "test_step", "predict_step", "compute_loss", "compute_metrics",
    "compute_mask",
)  # fmt: skip
DESCRIBING = (
    "get_config",
    "from_config",
    "compute_output_shape",
    "compute_output_spec",
)
COUNTING = ("range", "arange", "linspace", "logspace", "geomspace", "cumsum", "cumprod")
WHOLE_NUMBERS = ("range", "arange", "cumsum")
# What is made of counts and may be rounded: waves, rows of a table, and what is true or
# not.
MADE = (
    "sin", "cos", "take", "gather", "one_hot", "equal", "not_equal", "less", "less_equal",
    "greater", "greater_equal",
)  # fmt: skip
DTYPES = {"half": "float16", "double": "float64"} | {
    name: name for name in ("float16", "bfloat16", "float32", "float64")
}


class Method(NamedTuple):
    """A method of a layer, or the function of a Lambda layer under the name "function"."""

    name: str
    tree: Any  # its syntax tree
    function: Any  # which knows the names it can see


def is_own(layer) -> bool:
    """Whether what a layer computes is not Keras's own: a class of yours, or a Lambda
    layer.
    """
    own = isinstance(layer, keras.layers.Lambda)
    return own or not type(layer).__module__.startswith("keras.")


def computing(layer) -> list[Method]:
    """Those of `methods` that may take part in computing the layer's output."""
    return [method for method in methods(layer) if method.name not in ELSEWHERE]


def methods(layer) -> list[Method]:
    """The methods that a layer does not have from Keras, as far as their source can be
    read.
    """
    found = {}
    for cls in type(layer).__mro__:
        if not cls.__module__.startswith(("keras.", "tensorflow.", "builtins")):
            for name, function in vars(cls).items():
                if inspect.isfunction(function) and name not in DESCRIBING:
                    found.setdefault(name, function)
    if isinstance(layer, keras.layers.Lambda) and inspect.isfunction(layer.function):
        found["function"] = layer.function
    # Keras wraps `build` and `call`; the wrapper knows what it wraps.
    found = {name: inspect.unwrap(function) for name, function in found.items()}
    read = ((name, _tree(function), function) for name, function in found.items())
    return [Method(*parts) for parts in read if parts[1]]


def _tree(function):
    """The syntax tree of a function; None if it was typed into a Python prompt, or
    compiled.
    """
    try:
        if function.__name__ != "<lambda>":
            return ast.parse(textwrap.dedent(inspect.getsource(function)))
        # The lines of a lambda alone are seldom a statement: look for its code in the
        # whole file.
        lines, _ = inspect.findsource(function)
        code = {
            (line, at) for line, _, at, end in function.__code__.co_positions() if end
        }
        found = None
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, ast.Lambda):
                body = node.body
                first = body.lineno, body.col_offset
                last = body.end_lineno, body.end_col_offset
                found = node if any(first <= place < last for place in code) else found
        return found
    except (OSError, TypeError, SyntaxError):
        return None


def dtypes(method):
    """(called name, dtype, source) for each dtype that a call names: ("cast",
    "float32", ...).

    Calls of classes are left out: `Dense(10, dtype="float32")` gives a layer its
    policy.
    """
    for call in _calls(method.tree):
        name = _name(call)
        for dtype in filter(None, map(_dtype, _arguments(call))):
            if not name[:1].isupper():
                yield name, dtype, ast.unparse(call)


def counts(layer, source) -> bool:
    """Whether an expression in a layer is a count, or arithmetic on one, which 16 bits
    would lose.

    What the layer assigned to a name, or to an attribute, is followed.
    """
    names = set()
    known = None
    nodes = [node for method in methods(layer) for node in ast.walk(method.tree)]
    while known != len(names):
        known = len(names)
        for node in nodes:
            if isinstance(node, ast.Assign) and _counts(node.value, names):
                names |= {ast.unparse(target) for target in node.targets}
    return _counts(ast.parse(source), names)


def following_counts(layer, method, ends, exact):
    """The name of each call that counts whole numbers in a dtype that ends like one of
    `ends`.

    A cast of such numbers is one too. Those that are spelled out, up to `exact`, are
    none.
    """
    nodes = [node for each in methods(layer) for node in ast.walk(each.tree)]
    assigned = {
        ast.unparse(target): node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
    }
    for call in _calls(method.tree):
        texts = [
            ast.unparse(assigned.get(ast.unparse(argument), argument))
            for argument in _arguments(call)
        ]
        if not any(text.endswith(ends) for text in texts):
            continue
        counted = call
        left = dict(assigned)
        if _name(call) == "cast" and call.args:
            counted = call.args[0]
        while isinstance(counted, ast.Subscript) or ast.unparse(counted) in left:
            counted = left.pop(ast.unparse(counted), None) or counted.value
        if not isinstance(counted, ast.Call) or _name(counted) not in WHOLE_NUMBERS:
            continue
        values = [
            a.value if isinstance(a, ast.Constant) else None for a in counted.args
        ]
        fractions = float in map(type, values)
        if not fractions and (None in values or max(values) > exact):
            yield _name(counted)


def follows(method) -> bool:
    """Whether a method casts to a dtype that is not spelled out, such as x.dtype."""
    return any(_is_following_cast(call) for call in _calls(method.tree))


def numbers(method, layer):
    """(source, value) for each float that a method uses: spelled out, or by a name it
    can see.

    Arguments of classes (layers, initializers) are left out.
    """
    skipped = _parts_of(
        call for call in _calls(method.tree) if _name(call)[:1].isupper()
    )
    closure = inspect.getclosurevars(method.function)
    seen = {**closure.globals, **closure.nonlocals}
    for node in ast.walk(method.tree):
        if id(node) in skipped:
            continue
        value, inner, sign = None, node, 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = node.operand
            sign = -1
            skipped.add(id(inner))  # `walk` comes to the operand later
        if isinstance(inner, ast.Constant):
            value = inner.value
        elif isinstance(inner, ast.Name):
            value = seen.get(inner.id)
        elif (
            isinstance(inner, ast.Attribute)
            and getattr(inner.value, "id", "") == "self"
        ):
            value = vars(layer).get(inner.attr)
        if type(value) is float:
            yield ast.unparse(node), sign * value


def _calls(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _counts(node, names):
    name = _name(node) if isinstance(node, ast.Call) else ""
    held = name and ast.unparse(node.func).startswith("self.")  # such as an Embedding
    if isinstance(node, ast.Compare | ast.comprehension) or name in MADE or held:
        return False
    named = isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in names
    parts = ast.iter_child_nodes(node)
    return name in COUNTING or named or any(_counts(part, names) for part in parts)


def _parts_of(calls):
    return {id(node) for call in calls for node in ast.walk(call)}


def _name(call):
    """The last part of what is called: "cast" for tf.cast(...)."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _is_following_cast(call):
    return _name(call) == "cast" and not any(map(_dtype, _arguments(call)))


def _arguments(call):
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _dtype(node):
    """The dtype that an expression spells out: "float16", tf.float16, keras.float16; or
    None.
    """
    if isinstance(node, ast.Constant):
        return DTYPES.get(node.value) if isinstance(node.value, str) else None
    return DTYPES.get(node.attr) if isinstance(node, ast.Attribute) else None
