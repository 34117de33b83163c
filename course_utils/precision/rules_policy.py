"""The rules about the policy itself: MP008, MP012 and MP013."""

from course_utils.precision.rules_case import NARROW, Finding, names


def no_master_weights(case):
    """MP008: weights kept in 16 bits, which rounds small updates away."""
    for dtype in NARROW:
        kept = [p for p in case.places if p.layer.variable_dtype == dtype and _trains(p.layer)]
        if kept:
            step = {"float16": "2048th", "bfloat16": "256th"}[dtype]
            message = (
                f"The weights themselves are kept in {dtype} ({names(p.path for p in kept)}), so "
                f"an update below about a {step} of a weight is rounded away."
            )
            fix = f'keras.config.set_dtype_policy("mixed_{dtype}")  # or dtype="mixed_{dtype}"'
            yield Finding("MP008", "warning", case.model.name, message, fix)


def slow_here(case):
    """MP012: this hardware computes slower, or no faster, in the dtype of these layers."""
    from course_utils.hardware import recommended_policy

    for dtype in NARROW:
        found = case.computing_in(dtype)
        if found and (reason := _reason(case.hardware, dtype)):
            message = f"{names(p.path for p in found)}: {dtype} gains no time here, as {reason}"
            fix = f'keras.config.set_dtype_policy("{recommended_policy(case.hardware)}")'
            yield Finding("MP012", "warning", case.model.name, message, fix)


def other_than_saved(case):
    """MP013: the policy in force is not the one that the model was saved under."""
    import keras

    saved, now = case.saved_policy, keras.config.dtype_policy().name
    if saved is None or saved == now:
        return
    lost = "the layers keep their dtypes, but those that you add compute otherwise"
    if saved == "mixed_float16":
        lost = "load_model then leaves out the loss scaling unless the file wraps its optimizer"
    message = f"The model was saved under {saved} and {now} is in force: {lost}."
    fix = f'keras.config.set_dtype_policy("{saved}")  # before load_model'
    yield Finding("MP013", "warning", case.model.name, message, fix)


def _trains(layer):
    return bool(layer.trainable_weights) or not layer.built


def _reason(hardware, dtype):
    """Why a dtype is slow on some hardware, as the end of a sentence, or None if it is not."""
    from course_utils.hardware import merged_float16_is_slow, policy_reason, recommended_policy

    if recommended_policy(hardware) == f"mixed_{dtype}":
        return None
    gpus = hardware.working("GPU")
    if hardware.working("TPU"):
        return policy_reason(hardware)
    if dtype == "float16" and merged_float16_is_slow(hardware):
        return (
            "TensorFlow's graphs compute a Dense layer in oneDNN's slow reference kernel on this "
            "CPU, unless `remapping` is off."
        )
    if not gpus and dtype == "float16":
        return "TensorFlow's kernels for CPUs have no fast float16."
    if not gpus and hardware.instruction_sets is None:
        return None  # nobody knows
    if gpus and dtype == "float16" and recommended_policy(hardware) == "mixed_bfloat16":
        return None  # Tensor cores from 8.0 on take both.
    return policy_reason(hardware)
