#!/bin/sh
# Ctrl-C arrives while Python collects garbage, which takes a second where there are many
# objects. What becomes of it in a program that has imported JAX, and computes nothing with it?
#
# Expected: Python raises KeyboardInterrupt as soon as the collection is over.
# Seen (jax 0.10.2, on a CPU): without JAX it does. With JAX the program goes on. JAX has put a
# function into `gc.callbacks`. It is the first code of Python's that runs after the
# collection, so the interrupt is raised inside, and what a callback of `gc` raises is ignored
# ("Exception ignored in: <function _xla_gc_callback ...>"). Press once more.
# `import tensorflow` (2.21.0) imports JAX where it is installed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q jax==0.10.2
cat >"$folder/press.py" <<'PYTHON'
import gc
import os
import signal
import sys
import threading

if sys.argv[1] == "jax":
    import jax
gc.disable()
many = [[number] for number in range(6_000_000)]
press = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
try:
    press.start()
    gc.collect()  # much longer than the timer
    press.join()
    for _ in range(1000):
        pass
    print("the interrupt is lost")
except KeyboardInterrupt:
    print("KeyboardInterrupt")
PYTHON
for what in nothing jax; do
    echo "$what imported: $("$folder/env/bin/python" "$folder/press.py" $what 2>/dev/null)"
done | tee "$folder/seen"
diff - "$folder/seen" <<'WANTED'
nothing imported: KeyboardInterrupt
jax imported: the interrupt is lost
WANTED
