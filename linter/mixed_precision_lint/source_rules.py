"""Rules about layers that are not Keras's own: MP007 and MP015.

What a layer puts out is measured, and the source is read to say why it is wrong. Counts,
such as the positions in a text, are not told to follow the policy: 16 bits would make
other numbers of them. No repair casts a finished output: what comes before it would
still be computed in the wider dtype.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mixed_precision_lint.finding import NARROW, WHOLE, WIDE, Finding
from mixed_precision_lint.source import methods, wide_calls, words

if TYPE_CHECKING:
    from mixed_precision_lint.inspected import Inspected


def output_wider_than_policy(inspected: "Inspected") -> Iterator[Finding]:
    """MP007: the output is wider than the layer's compute dtype."""
    for layer in inspected.own_layers:
        if not _widens(inspected, layer):
            continue
        compute = layer.compute_dtype
        calls = wide_calls(layer)
        if calls:
            name, dtype, counts = calls[0]
            message = (
                f"{name} names {dtype} and nothing leads back to {compute}: what follows "
                "takes the memory and the time of the wider dtype"
            )
            fix = f"{name}(..., self.compute_dtype)"
            if counts:
                message += (
                    f"; counts need float32 or int32, since {compute} rounds whole numbers above "
                    f"{WHOLE[compute]:,}"
                )
                fix = (
                    "keras.ops.cast(made, self.compute_dtype)  # made: what your code "
                    f"makes of {name} in float32 or int32"
                )
        else:
            wide = next(
                dtype for dtype in inspected.output_dtypes[id(layer)] if dtype in WIDE
            )
            from_numpy = any(c.from_numpy for c in inspected.calls if c.layer is layer)
            message = (
                f"Its policy says {compute}, and it puts out {wide}: something in it is "
                "wider and widens the rest"
            )
            fix = "keras.ops.cast(part, self.compute_dtype)  # the wide part, before it meets x"
            if from_numpy:
                fix = "float(number)  # of Python's in place of NumPy's, such as np.sqrt gives"
        yield Finding("MP007", "warning", inspected.path_of(layer), f"{message}.", fix)


def loss_left_unscaled(inspected: "Inspected") -> Iterator[Finding]:
    """MP015: a train_step of your own leaves the loss unscaled, and an optimizer unscales."""
    used = {name: words(f.__code__) for name, f in methods(inspected.model).items()}
    for stepper in inspected.steppers:
        # One that no code names may be kept for nothing.
        named = stepper.name or any("optimizer" in words for words in used.values())
        if named and inspected.scales(stepper):
            name = stepper.name or "self.optimizer"
            yield from unscaled_train_step(inspected.model.name, used, name)


def unscaled_train_step(
    model: str, used: dict[str, set[str | float]], optimizer: str = "self.optimizer"
) -> Iterator[Finding]:
    """MP015 for the words that a model's methods use, {name: words}."""
    if "gradient" not in used.get("train_step", ()):
        return
    if any("scale_loss" in names for names in used.values()):
        return
    message = (
        "train_step never calls scale_loss, but the optimizer divides the gradients by the loss "
        "scale all the same: SGD hardly moves, and Adam hides it."
    )
    fix = f"scaled = {optimizer}.scale_loss(loss)  # in the tape; then tape.gradient(scaled, ...)"
    yield Finding("MP015", "error", model, message, fix)


def _widens(inspected, layer):
    """Whether a 16-bit layer puts out a wider dtype, as measured.

    Widening is right at the end of a model, and it is the business of a float32 layer
    inside.
    """
    outputs = getattr(inspected.model, "outputs", None) or ()
    at_the_end = layer is inspected.model or any(
        t._keras_history.operation is layer for t in outputs
    )
    if at_the_end or layer.compute_dtype not in NARROW:
        return False
    inner = layer._flatten_layers(include_self=False)
    if any(
        la.compute_dtype not in NARROW or la in inspected.own_layers for la in inner
    ):
        return False
    return any(dtype in WIDE for dtype in inspected.output_dtypes.get(id(layer), ()))


RULES = (output_wider_than_policy, loss_left_unscaled)
