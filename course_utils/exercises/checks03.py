"""How the answers to exercises 1, 2, 3 and 5 of notebook 03 are judged."""

import math

from .answers import describe, missing_key, near, number

# --- 1: which layer computes in what ------------------------------------------------------------

DTYPES = ("float32", "float16", "bfloat16")
COMPUTE = {"first": "float32", "second": "float16", "third": "float32"}
NOT_ITS_DTYPE = {
    ("first", "float16"): "the policy holds only for the layers made after it, and it came later.",
    ("first", "bfloat16"): "a layer keeps the policy it was made under, here float32.",
    ("second", "float32"): "it stores its weights in float32, and computes in another dtype.",
    ("second", "bfloat16"): "the last switch comes when all three layers are made.",
    ("third", "float16"): "it has a `dtype` of its own, which goes before the global policy.",
    ("third", "bfloat16"): "neither the last switch nor the model changes a layer's own `dtype`.",
}


def check_compute_dtypes(answer):
    """Compare a dictionary layer -> compute dtype with what Keras sets.

    >>> check_compute_dtypes({"first": "float32", "second": "float16", "third": "float16"})
    'third: not `float16`: it has a `dtype` of its own, which goes before the global policy.'
    """
    if problem := missing_key(answer, list(COMPUTE)):
        return problem
    for layer, right in COMPUTE.items():
        given = _dtype_name(answer[layer])
        if given not in DTYPES:
            if given in ("mixed_float16", "mixed_bfloat16"):
                return f"{layer}: you gave a policy, `{given}`. Give the dtype it computes in."
            names = ", ".join(DTYPES)
            return f"{layer}: you gave {describe(answer[layer])}; choose from {names}."
        if given != right:
            return f"{layer}: not `{given}`: {NOT_ITS_DTYPE[layer, given]}"
    return None


def _dtype_name(value):
    """The name in a text, a dtype of TensorFlow or NumPy, or a NumPy class such as np.float16."""
    try:
        if isinstance(value, str):
            return value.strip().lower()
        name = getattr(value, "name", None) or getattr(value, "__name__", None)
        return name if isinstance(name, str) else None
    except Exception:  # an object whose own methods raise
        return None


# --- 2: a float16 softmax -----------------------------------------------------------------------

CLIP = 1e-7  # keras.config.epsilon(): Keras keeps a probability between it and 1 minus it
HEAD = {"loss": -math.log(CLIP), "gradient": 0.0}
NOT_THE_LOSS = [  # results that share a mistake, and what to say
    ([30], "that is float32's. Here the probability is float16 before the loss sees it."),
    (
        [-math.log(2**-24)],
        "that is for 2**-24, float16's smallest number. The clip comes after it.",
    ),
    (
        [-math.log(2**-25)],
        "that is for 2**-25, where float16 begins to round to 0. The clip comes after it.",
    ),
    (
        [-math.log(2**-14)],
        "that is for 2**-14, float16's smallest normal number. The clip is at 1e-7.",
    ),
    ([-math.log10(CLIP)], "that is the logarithm to base 10. The loss takes the natural one."),
    ([math.log(CLIP)], "the sign is turned around. The loss is minus the logarithm."),
    ([CLIP], "that is a probability. The loss is minus its logarithm."),
    ([0], "that is the loss for class 0. The true class is 1."),
]


def check_head(answer):
    """Compare a dictionary loss/gradient with minus the logarithm of 1e-7, and 0.

    >>> check_head({"loss": 30, "gradient": -1})[:24]
    "loss: that is float32's."
    """
    if problem := missing_key(answer, list(HEAD)):
        return problem
    loss, gradient = (_real(answer[name]) for name in HEAD)
    for name, value in zip(HEAD, (loss, gradient), strict=True):
        if value is None or math.isnan(value):
            said = "; nothing here divides 0 by 0." if value is not None else "; give one number."
            if value is None and name == "gradient":
                said = "; give one number, that of class 1, and write 0 if it is zero."
            return f"{name}: you gave {describe(answer[name])}{said}"
    if math.isinf(loss):
        return "loss: clipping hides it. Keras raises a probability of 0 to 1e-7 first."
    if abs(loss - HEAD["loss"]) > 0.02:
        if 0 < loss < 1e-6:
            loss = CLIP  # one message for every small probability
        for results, message in NOT_THE_LOSS:
            if any(near(loss, result, 0.0015) for result in results):
                return f"loss: {message}"
        return f"loss: you gave {_show(loss)}. Which probability does the logarithm get?"
    if abs(gradient) > 0.01:
        return f"The loss is right. gradient: {_wrong_gradient(gradient)}"
    return None


def _real(value):
    """Like `number`, and infinities and NaN pass too."""
    if (finite := number(value)) is not None:
        return finite
    try:
        return float(value) if isinstance(value, float) or hasattr(value, "dtype") else None
    except Exception:  # an array, or an object whose own methods raise
        return None


def _wrong_gradient(gradient):
    if near(abs(gradient), 1):
        return "that is float32's. The clip replaced the probability with a constant."
    if near(abs(gradient), 0.5):
        return "that is float32's, averaged over two images. A clipped probability passes none."
    if math.isinf(gradient) or abs(gradient) > 1e5:
        return "the slope of the logarithm is large. The clip multiplies it by a slope of its own."
    return f"you gave {_show(gradient)}. Change the logit a little: does the clipped value change?"


def _show(value):
    return f"{value:,.10g}" if abs(value) < 1e10 else f"{value:.6g}"


# --- 3: when compile adds loss scaling ----------------------------------------------------------

SCALED = {"global": True, "per layer": False, "mixed": False, "pure": False, "reset": True}
NOT_SO = {
    "global": "under a global mixed_float16 `compile` wraps the optimizer by itself.",
    "per layer": "`compile` asks the model for its policy, not the layers, and that is float32.",
    "mixed": "bfloat16 has float32's exponents, so no gradient needs rescue.",
    "pure": "`compile` waits for the name mixed_float16, although float16 gradients need it here.",
    "reset": "the model keeps the policy that it was made under, and `compile` asks the model.",
}


def check_scaling(answer):
    """Compare a dictionary model -> bool with what Keras's compile does.

    >>> check_scaling(dict.fromkeys(SCALED, True))[:48]
    'per layer: not True: `compile` asks the model fo'
    """
    if problem := missing_key(answer, list(SCALED)):
        return problem
    for model, right in SCALED.items():
        given = answer[model]
        if type(given).__name__ not in ("bool", "bool_"):
            return f"{model}: you gave {describe(given)}; give True or False, without quotes."
        if bool(given) != right:
            return f"{model}: not {bool(given)}: {NOT_SO[model]}"
    return None


# --- 5: padding ---------------------------------------------------------------------------------

INPUTS, CLASSES, PADDED = 128, 10, 16
EXTRA = (PADDED - CLASSES) * (INPUTS + 1)
NOT_THE_PADDING = {
    768: "The bias is missing: each new output has one too.",
    6: "That is how many outputs are new. Each has its weights.",
    16: "That is how many outputs there are now. How many parameters are new?",
    1290: "That is what the head has before the padding.",
    1280: "That is what the kernel has before the padding.",
    2064: "That is the whole head after the padding. How many parameters are new?",
    2048: "That is the whole kernel after the padding. How many parameters are new?",
    258: "That pads to 12, which 8 does not divide.",
    -258: "With 8 outputs two classes have none. Go up to the next multiple.",
    256: "That pads to 12, which 8 does not divide, and leaves the bias out.",
    1806: "That pads to 24. A smaller multiple of 8 holds 10 classes.",
    6966: "That pads to 64. A smaller multiple of 8 holds 10 classes.",
    1032: "That adds 8 outputs. To reach the next multiple of 8 fewer are enough.",
    129: "That is what one new output costs. Count the new outputs.",
    3096: "Those are bytes in float32. Give the number of parameters.",
    1548: "Those are bytes in float16. Give the number of parameters.",
    0.6: "That is a share of the head. Give the number of parameters.",
    60: "That is a share of the head in percent. Give the number of parameters.",
}


def check_padding(answer):
    """Expect 774: 6 more outputs with 128 weights and a bias each.

    >>> check_padding(768)
    'The bias is missing: each new output has one too.'
    """
    value = number(answer)
    if value is None:
        return f"You gave {describe(answer)}: give the number of new parameters."
    if value == EXTRA:
        return None
    if message := NOT_THE_PADDING.get(value):
        return message
    return f"You gave {_show(value)}. New outputs times the parameters of one output is asked for."
