"""`python -m course_utils examine model.keras`: what a saved model does wrong in 16
bits.

The file is loaded as `keras.saving.load_model` does it in safe mode, without its
optimizer and its loss. It holds a configuration and no source, so only built-in layers
are examined.
"""

import statistics
import sys

import keras

from course_utils.precision import examine
from course_utils.precision.layers import walk


def run(path) -> int:
    """Print the findings about a .keras file, one a line.

    Returns 0 without errors and warnings, 1 with any, 2 if the file could not be
    examined (why goes to stderr).

    Example: `run("model.keras")` prints
        MP001 error dense_2: The probabilities come out in float16, so … Fix: Dense(…)
    """
    try:
        model = keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # whatever Keras and the layers in the file raise
        # The innermost reason comes last, after the configuration.
        reason = str(error).rpartition("Exception encountered: ")[2]
        print(
            f"Keras cannot load {path}: {' '.join(reason.split())[:300]} … Or call "
            "course_utils.precision.examine(model) on the model itself.",
            file=sys.stderr,
        )
        return 2
    # A file does not hold the policy of the model itself: take that of most layers.
    policies = [place.layer.dtype_policy.name for place in walk(model)]
    model.dtype_policy = statistics.mode(policies or ["float32"])
    findings = examine(model)
    print("\n".join(map(str, findings)) or "Nothing found.")
    return int(any(finding.severity != "advice" for finding in findings))
