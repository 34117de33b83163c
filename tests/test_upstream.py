"""Each fault of a framework in `data/upstream` prints what its docstring says, until it
is mended.

Then the test fails: run the script by hand, tell the release in it, mend what teaches
the fault.
"""

import ast
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from course_utils import hardware
from tools.canonical_form import COURSE

UPSTREAM = COURSE / "data" / "upstream"
SCRIPTS = sorted(UPSTREAM.glob("*.py"))
# Two workers print at once: each a whole line.
OWN = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
OWN |= {
    "CUDA_VISIBLE_DEVICES": "-1",
    "TF_ENABLE_ONEDNN_OPTS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "PYTHONWARNINGS": "always",
}
# Each script runs in a process of its own, and TensorFlow is imported once for several.
RUN = """
import gc, os, runpy, sys
gc.disable()
import keras, tensorflow
gc.enable()
gc.freeze()  # or each process searches all of it once more when it ends
for path in sys.argv[2:]:
    if os.fork() == 0:
        for kind, number in (("out", 1), ("err", 2)):
            name = os.path.join(sys.argv[1], os.path.basename(path) + "." + kind)
            os.dup2(os.open(name, os.O_CREAT | os.O_WRONLY), number)
        runpy.run_path(path, run_name="__main__")
        sys.exit()
    os.wait()
"""
each = pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)


def told(path):
    """{section: its lines} of a script's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    _, *parts = re.split(r"^([A-Z][a-z ]+): ", text, flags=re.MULTILINE)
    sections = zip(parts[::2], parts[1::2], strict=True)
    return {
        name: [line.strip() for line in part.strip().splitlines()]
        for name, part in sections
    }


def timeless(lines):
    """Lines without their times, which differ: that there is one tells that oneDNN
    computed.
    """
    return [re.sub(r"[\d.,]+ ms$", "… ms", line) for line in lines]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """A function for the lines that a script prints; all run, two at a time."""
    folder = tmp_path_factory.mktemp("printed")
    commands = [[sys.executable, "-c", RUN, folder, *SCRIPTS[n::2]] for n in (0, 1)]
    with ThreadPoolExecutor() as pool:
        list(
            pool.map(
                partial(subprocess.run, env=OWN, check=True, timeout=600), commands
            )
        )
    return lambda path, kind: (
        (folder / f"{path.name}.{kind}").read_text("utf-8").splitlines()
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the scripts with two workers fork")
@each
def test_a_fault_is_still_there(path, printed):
    wanted = told(path)["Prints"]
    if "avx512_fp16" not in (hardware.detect().instruction_sets or ()):
        wanted = told(path).get("Elsewhere prints", wanted)
    assert timeless(printed(path, "out")) == timeless(wanted), [
        "mended upstream?",
        *printed(path, "err")[-3:],
    ]
    warnings = [line for line in printed(path, "err") if "UserWarning" in line]
    wanted = path.stem == "load_weights_drops_the_scale"
    assert bool(warnings) == wanted, warnings
    assert all("Skipping variable loading" in line for line in warnings)
