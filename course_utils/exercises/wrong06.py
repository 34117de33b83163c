"""Wrong answers to the exercises of notebook 06 that people give, and a part of what each is told.

Example: `exercises.load("06")[1].check(wrong06.RESULTS[0][0])` holds `wrong06.RESULTS[0][1]`.
"""

import math

from .adam06 import HALVED, NOT_HALVED, NOT_THE_SHARE, RIGHT, SHARE
from .checks06 import NOT_CLIPPED, SHOWN
from .metric06 import NOT_THE_MEAN, epoch_loss

# --- 1, 2 and 3: numbers ------------------------------------------------------------------------


def _swapped(one, other):
    return {**SHOWN, one: SHOWN[other], other: SHOWN[one]}


LOOPS = list(SHOWN)
RESULTS = [
    *(
        (_swapped(one, other), f"{one} and {other} are swapped")
        for n, one in enumerate(LOOPS)
        for other in LOOPS[n + 1 :]
    ),
    (dict(zip(LOOPS, (-50.2, 0.99995, 0.95, -0.049), strict=True)), "Only one of the four"),
    (dict(zip(LOOPS, (-50.2, 0.99995, -0.049, 0.95), strict=True)), "None of the four"),
    ({**SHOWN, "unscaled twice": 0.95}, "You gave 0.95 twice"),
    ({**SHOWN, "unscaled twice": 1}, "you gave 1, which is none of"),
    ({**SHOWN, "never unscaled": 50.2}, "-50.2 has the other sign"),
    ({**SHOWN, "right": "0.95"}, "the text '0.95'"),
    ({**SHOWN, "right": None}, "right: you gave None"),
    ({name: SHOWN[name] for name in LOOPS[:3]}, "'updated then unscaled' is missing"),
    ([0.95, -50.2, 0.99995, -0.049], "a list of 4 items"),
]

CLIPPED = [
    *((pairs[0], message) for pairs, message in NOT_CLIPPED),
    (3.05e-5, "that is the length"),
    ((2, 5), "of length 5.39"),
    ((1.8e-5, 2.3e-5), "give three digits"),
    (("1.83e-5", "2.44e-5"), "a tuple of 2 items"),
    ("1.83e-5, 2.44e-5", "the text '1.83e-5, 2.44e-5'"),
    ((0.6, 0.8, 1.0), "a tuple of 3 items"),
]

ADAM = [
    *(({**RIGHT, HALVED: value}, message[:40]) for value, message in NOT_HALVED),
    *(({**RIGHT, SHARE: value}, message[:30]) for value, message in NOT_THE_SHARE if value < 0.05),
    *(({**RIGHT, SHARE: value}, message) for value, message in NOT_THE_SHARE[1:5]),
    ({**RIGHT, SHARE: 1}, "hide it all"),
    ({**RIGHT, SHARE: 0.5}, "at another gradient"),
    ({**RIGHT, SHARE: 0.2}, "still grows"),
    ({**RIGHT, SHARE: 0.4}, "Divide the last update"),
    ({**RIGHT, HALVED: 0.003}, "give two digits"),
    ({**RIGHT, HALVED: 0.1}, "the share that is left is 0.968"),
    ({**RIGHT, HALVED: 0}, "a size above 0"),
    ({**RIGHT, HALVED: "never"}, "the text 'never'; Adam hides"),
    ({**RIGHT, HALVED: None}, "None; Adam hides"),
    ({**RIGHT, HALVED: math.inf}, "inf; Adam hides"),
    ({**RIGHT, SHARE: "23 %"}, "the text '23 %'"),
    ({HALVED: RIGHT[HALVED]}, "is missing"),
]

# --- 4: steps -----------------------------------------------------------------------------------


def slip(
    loss_of=lambda optimizer, loss: optimizer.scale_loss(loss),
    treat=lambda optimizer, gradients: gradients,
    update=lambda optimizer, gradients, weights: optimizer.apply(gradients, weights),
    variables=lambda model: model.trainable_variables,
    returns=lambda loss, scaled, gradients: loss,
    outside=False,  # the loss is scaled after the tape
    **call,  # arguments of the model
):
    """A right `step`, or one that is wrong in the way that the arguments say.

    Example: `slip(loss_of=lambda optimizer, loss: loss)` forgets to scale the loss.
    """
    call = call or {"training": True}

    def step(model, optimizer, loss_fn, x, y):
        import tensorflow as tf  # late: TensorFlow takes seconds to load

        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, **call))
            scaled = None if outside else loss_of(optimizer, loss)
        scaled = loss_of(optimizer, loss) if outside else scaled
        gradients = treat(optimizer, tape.gradient(scaled, variables(model)))
        update(optimizer, gradients, variables(model))
        return returns(loss, scaled, gradients)

    return step


def _unscaled(optimizer, gradients):
    scale = getattr(optimizer, "dynamic_scale", 1.0)
    return [gradient / scale for gradient in gradients]


def _cleaned(optimizer, gradients):
    import tensorflow as tf

    return [tf.where(tf.math.is_finite(g), g, tf.zeros_like(g)) for g in gradients]


def _clipped(optimizer, gradients):
    import tensorflow as tf

    return tf.clip_by_global_norm(gradients, 1.0)[0]


def _apply_inner(optimizer, gradients, weights):
    getattr(optimizer, "inner_optimizer", optimizer).apply(gradients, weights)


def _apply_if_finite(optimizer, gradients, weights):
    import tensorflow as tf

    if all(bool(tf.reduce_all(tf.math.is_finite(gradient))) for gradient in gradients):
        optimizer.apply(gradients, weights)


def _by_hand(optimizer, gradients, weights):
    for gradient, weight in zip(gradients, weights, strict=True):
        weight.assign_sub(0.1 * gradient)


def _scale_by_hand(optimizer, gradients, weights):
    """The scale moves as it should, and nothing is checked."""
    _apply_inner(optimizer, gradients, weights)
    if hasattr(optimizer, "dynamic_scale"):
        count = int(optimizer.step_counter.numpy()) + 1
        optimizer.step_counter.assign(count % optimizer.dynamic_growth_steps)
        if count == optimizer.dynamic_growth_steps:
            optimizer.dynamic_scale.assign(2 * optimizer.dynamic_scale)


def _same(optimizer, loss):
    return loss


STEPS = [
    (slip(_same), "4,096 times too small. `apply` divides by the loss scale"),
    (slip(treat=_unscaled), "4,096 times too small. Either you unscale and `apply` does too"),
    (slip(treat=_clipped), "What you divide or clip before `apply`"),
    (slip(update=_apply_inner), "4,096 times too large. The inner optimizer does not unscale"),
    (slip(treat=_unscaled, update=_apply_inner), "The inner optimizer neither looks for infinity"),
    (slip(treat=_unscaled, update=_scale_by_hand), "now your weights are not finite"),
    (slip(update=_apply_if_finite), "your loss scale stays"),
    (slip(treat=_cleaned), "your weights move. Let `apply` see"),
    (slip(lambda optimizer, loss: loss * 2.0**15), "8 times too large. The loss has another"),
    (slip(outside=True), "No gradients provided for any variable. Call `scale_loss` within"),
    (slip(lambda optimizer, loss: optimizer.get_scaled_loss(loss)), "Keras 3 has `scale_loss`"),
    (slip(treat=lambda opt, g: [opt.inner_optimizer and v for v in g]), "Every optimizer has `sc"),
    (slip(update=lambda optimizer, g, w: optimizer.apply(zip(g, w, strict=True))), "`zip`"),
    (slip(variables=lambda model: model.variables), "Unknown variable"),
    (slip(training=False), "works as in evaluation. Call the model with `training=True`"),
    (slip(_same, update=_by_hand), "not counted your step"),
    (slip(treat=lambda optimizer, g: [-v for v in g]), "goes uphill"),
    (slip(update=lambda *_: None), "moves no weight. Give the gradients to `optimizer.apply`"),
    (slip(returns=lambda loss, scaled, _: scaled), "returns the scaled loss"),
    (slip(returns=lambda loss, scaled, g: (loss, g)), "a tuple of 2 items"),
    (slip(returns=lambda *_: print(end="")), "returns None"),
    (slip(returns=lambda loss, *_: f"{float(loss):.3f}"), "the text"),
    (slip(returns=lambda loss, *_: 2 * loss), "as the loss, and"),
    (lambda model, x, y: None or 0, "raises TypeError"),
    (0.5, "the function itself"),
]  # fmt: skip

# --- 5: checkpoints -----------------------------------------------------------------------------


def kept(build=True, **parts):
    """A `checkpoint` that keeps what the arguments name; each is a function of the three.

    Example: `kept(model=lambda model, optimizer, iterator: model)` keeps the model alone.
    """

    def checkpoint(model, optimizer, iterator):
        import tensorflow as tf

        if build:
            optimizer.build(model.trainable_variables)
        given = {name: part(model, optimizer, iterator) for name, part in parts.items()}
        return tf.train.Checkpoint(**given)

    return checkpoint


MODEL = {"model": lambda model, optimizer, iterator: model}
OPTIMIZER = {"optimizer": lambda model, optimizer, iterator: optimizer}
INNER = {"optimizer": lambda model, optimizer, iterator: optimizer.inner_optimizer}
ITERATOR = {"iterator": lambda model, optimizer, iterator: iterator}
SCALE = {"scale": lambda model, optimizer, iterator: optimizer.dynamic_scale.value}


def _manager(model, optimizer, iterator):
    import tempfile

    import tensorflow as tf

    everything = kept(**MODEL, **OPTIMIZER, **ITERATOR)(model, optimizer, iterator)
    return tf.train.CheckpointManager(everything, tempfile.gettempdir(), max_to_keep=1)


CHECKPOINTS = [
    (kept(**MODEL), "Adam's moments, the loss scale, the scale's counter of good steps and the pl"),
    (kept(**MODEL, **ITERATOR), "Adam's moments, the loss scale and the scale's counter"),
    (kept(**MODEL, **OPTIMIZER), "the place in the data is not as before the stop. Without the it"),
    (kept(**OPTIMIZER, **ITERATOR), "the averages of BatchNormalization are not as before"),
    (kept(**MODEL, **INNER, **ITERATOR), "The scale belongs to the outer optimizer"),
    (kept(**MODEL, **INNER, **ITERATOR, **SCALE), "the scale's counter of good steps is not"),
    (kept(build=False, **MODEL, **OPTIMIZER, **ITERATOR), "first scale, 256, and then unscales"),
    (kept(**ITERATOR), "Give the checkpoint all three"),
    (kept(), "and the place in the data are not as before the stop. Give the checkpoint all"),
    (_manager, "a CheckpointManager"),
    (lambda model, optimizer, iterator: model, "returns an object of type Sequential: return a"),
    (lambda model, optimizer, iterator: print(end=""), "returns None"),
    (lambda model, optimizer, iterator: "checkpoint-1", "the text 'checkpoint-1'"),
    (lambda model: model, "raises TypeError"),
    (kept(**MODEL, scale=lambda *_: 1024.0), "raises ValueError"),
    (None, "the function itself"),
]

# --- 6: means -----------------------------------------------------------------------------------


def counted(mean, count=lambda losses: epoch_loss(losses)[1]):
    """An `epoch_loss` that is made of two functions of the losses.

    >>> counted(max)([1.0, 2.0])
    (2.0, 0)
    """
    return lambda losses: (mean(losses), count(losses))


def _right(losses):
    return epoch_loss(losses)[0]


def _zero_if_empty(losses):
    return 0.0 if math.isnan(_right(losses)) else _right(losses)


def _raises_if_empty(losses):
    finite = [loss for loss in losses if math.isfinite(loss)]
    return sum(finite) / len(finite)


METRICS = [
    *((counted(mean), message) for mean, message in NOT_THE_MEAN),
    (counted(_zero_if_empty), "would look like a perfect epoch"),
    (counted(_raises_if_empty), "return NaN then"),
    (counted(_right, lambda losses: 2), "Count the losses that are not finite"),
    (counted(_right, lambda losses: sum(map(math.isfinite, losses))), "Those are the finite"),
    (counted(_right, lambda losses: sum(map(math.isnan, losses))), "leaves out infinity"),
    (counted(lambda losses: losses[0]), "your mean is 1.5; 2 is needed."),
    (_right, "two values are needed"),
    (counted(_right, lambda losses: None), "None as the count"),
    (counted(lambda losses: "2.0"), "the text '2.0' as the mean"),
    (lambda losses: print(end=""), "returns None"),
    (lambda losses, skipped: (0, 0), "raises TypeError"),
    (2.0, "the function itself"),
]
