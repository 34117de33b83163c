"""What can be read in the source of a method: dtypes, raw tensors and numbers. A heuristic."""

import ast
import inspect

DTYPES = {"half": "float16", "double": "float64"} | {
    name: name for name in ("float16", "bfloat16", "float32", "float64")
}


def dtypes(method):
    """(called name, dtype) for each dtype that a call names, such as ("cast", "float32").

    Calls of classes are left out: `Dense(10, dtype="float32")` gives a layer its policy.
    """
    for call in _calls(method.tree):
        name = _name(call)
        if not name[:1].isupper() and name != "constant":
            yield from ((name, found) for found in map(_dtype, _arguments(call)) if found)
        elif name == "constant":
            found = [d for d in map(_dtype, _arguments(call)) if d in ("float16", "bfloat16")]
            yield from ((name, d) for d in found)


def follows(method) -> bool:
    """Whether a method casts to a dtype that is not spelled out, such as x.dtype."""
    return any(_is_following_cast(call) for call in _calls(method.tree))


def raw_tensors(method):
    """("Variable" or "constant", source) for each floating one that does not follow a tensor.

    One with a dtype that is not spelled out follows something, and so does one within a cast to
    such a dtype. What is given as whole numbers is no floating-point tensor.
    """
    safe = set()
    for call in _calls(method.tree):
        if _is_following_cast(call):
            safe.update(map(id, ast.walk(call)))
    for call in _calls(method.tree):
        kind = _name(call)
        if kind not in ("Variable", "constant") or id(call) in safe or not _of_tensorflow(call):
            continue
        given = [k.value for k in call.keywords if k.arg == "dtype"]
        given += call.args[1:2] if kind == "constant" else []
        if given and not any(_dtype(d) in ("float32", "float64") for d in given):
            continue
        kinds = {type(n.value) for n in ast.walk(call.args[0]) if isinstance(n, ast.Constant)}
        literal = all(isinstance(n, _LITERAL) for n in ast.walk(call.args[0]))
        if float in kinds or given or (kind == "Variable" and not literal):
            yield kind, ast.unparse(call)


_LITERAL = (
    ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.Load,
)  # fmt: skip


def numbers(method, layer):
    """(source, value) for each float that a method uses: spelled out, or by a name it can see.

    Arguments of classes (layers, initializers) are left out.
    """
    skipped = set()
    for call in _calls(method.tree):
        if _name(call)[:1].isupper():
            skipped.update(map(id, ast.walk(call)))
    seen = dict(inspect.getclosurevars(method.function).globals)
    seen |= inspect.getclosurevars(method.function).nonlocals
    for node in ast.walk(method.tree):
        if id(node) in skipped:
            continue
        value, sign = None, 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            skipped.add(id(node.operand))  # `walk` comes to the operand later
            inner, sign = node.operand, -1
        else:
            inner = node
        if isinstance(inner, ast.Constant):
            value = inner.value
        elif isinstance(inner, ast.Name):
            value = seen.get(inner.id)
        elif isinstance(inner, ast.Attribute) and getattr(inner.value, "id", "") == "self":
            value = vars(layer).get(inner.attr)
        if type(value) is float:
            yield ast.unparse(node), sign * value


def _calls(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _name(call):
    """The last part of what is called: "cast" for tf.cast(...)."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _is_following_cast(call):
    return _name(call) == "cast" and not any(map(_dtype, _arguments(call)))


def _arguments(call):
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _dtype(node):
    """The dtype that an expression spells out: "float16", tf.float16, keras.float16; or None."""
    if isinstance(node, ast.Constant):
        return DTYPES.get(node.value) if isinstance(node.value, str) else None
    return DTYPES.get(node.attr) if isinstance(node, ast.Attribute) else None


def _of_tensorflow(call):
    return (
        getattr(getattr(call.func, "value", None), "id", "") in ("tf", "tensorflow") and call.args
    )
