"""Give the linter what Keras 2 makes, and print what it says of each.

    python -m tools.keras_2 >tests/records/keras-2-DATE.md

By hand, in an environment that has tf_keras beside Keras 3; the course itself does not
need it.
"""

import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

SCRIPTS = {
    "imports_tf_keras.py": "import tf_keras\n",
    "asks_for_legacy.py": (
        "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n"
        "from tensorflow import keras as tf_keras\n"
    ),
}
BUILDS = """
tf_keras.mixed_precision.set_global_policy("mixed_float16")
layers = tf_keras.layers
model = tf_keras.Sequential([layers.Input((8,)), layers.Dense(4), layers.Dense(2)])
"""


def models():
    """{kind: model of Keras 2 under a mixed policy}."""
    import tf_keras

    tf_keras.mixed_precision.set_global_policy("mixed_float16")
    layers = tf_keras.layers

    class Mine(tf_keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(2)

        def call(self, x):
            return self.dense(x)

    start = layers.Input((8,))
    chain = tf_keras.Sequential([layers.Input((8,)), layers.Dense(4)])
    chain.compile("adam", "mse")
    mine = Mine()
    mine.build((None, 8))
    functional = tf_keras.Model(start, layers.Dense(2)(start))
    return {"Sequential": chain, "functional": functional, "subclassed": mine}


def said(look, model):
    """What a function of the linter raises for a model."""
    try:
        return f"no error: {look(model)}"
    except Exception as error:  # whatever it is
        return f"{type(error).__name__}: {error}"


def main():
    import numpy as np
    from mixed_precision_lint import dtype_flow, examine, probe

    x = np.ones((4, 8), "float32")
    looks = {
        "examine": examine,
        "dtype_flow": dtype_flow,
        "probe": lambda model: probe(lambda: (model, model.optimizer, print), x, x),
    }
    made = models()
    names = ("tf_keras", "keras", "tensorflow-cpu")
    print("# What the linter says of Keras 2\n")
    print(f"By `python -m tools.keras_2`, Python {platform.python_version()},", end=" ")
    print(*(f"{name} {version(name)}" for name in names), sep=", ", end=".\n\n")
    print("| what | given to | answer |\n|---|---|---|")
    for kind, model in made.items():
        for name, look in looks.items():
            print(f"| {kind} | {name} | {said(look, model)} |")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.h5", "model.keras"):
            made["Sequential"].save(Path(folder, name))
        for name, start in SCRIPTS.items():
            Path(folder, name).write_text(start + BUILDS, "utf-8")
        for file in sorted(Path(folder).iterdir()):
            run = ["--run"] if file.suffix == ".py" else []
            command = [sys.executable, "-m", "mixed_precision_lint", "examine"]
            outcome = subprocess.run(
                [*command, *run, file.name],
                cwd=folder,
                capture_output=True,
                text=True,
                env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
            )
            lines = (outcome.stdout + outcome.stderr).splitlines()
            answer = " ".join(
                line for line in lines if file.name in line and "Examining" not in line
            )
            print(
                f"| {file.name} | the command, exit {outcome.returncode} | {answer} |"
            )


if __name__ == "__main__":
    main()
