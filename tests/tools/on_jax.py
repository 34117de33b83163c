"""Record what notebook 07's tries come to with Keras on JAX, for those who have no JAX.

python tests/tools/on_jax.py     writes data/keras_on_jax.json; needs JAX
"""

import json
import sys
from pathlib import Path

from cells import Cells

sys.path.append(str(Path(__file__).resolve().parents[2]))  # the tests have it by their settings

from course_utils import distributed  # noqa: E402


def tries():
    """What the notebook tries, by the names and with the options of its own cells."""
    before = Cells("07_devices").sources["attempts"].partition("for name")[0]
    names = {"batch": 64}
    exec(before, names)
    exec(Cells("07_devices").sources["on-jax"].partition("for name, told")[0], names)
    return names["tries"]


if __name__ == "__main__":
    found = distributed.on_jax(tries())
    text = json.dumps(found, indent=1, ensure_ascii=False)
    distributed.tries.RECORD.write_text(f"{text}\n", encoding="utf-8")
    print(text)
