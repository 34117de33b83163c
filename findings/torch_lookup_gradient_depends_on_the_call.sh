#!/bin/sh
# Four calls of PyTorch that look up the same rows of a table: do their gradients agree?
#
# Expected: yes. x[i], functional.embedding, index_select and gather return the same rows,
# and a sum that one of them keeps in float32 the others keep so, too.
# Seen (torch 2.13.0, and 2.15.0 too, on a CPU): index_select and gather add up in float32. x[i] and
# functional.embedding add up in the dtype of the table, one after another: a row that is
# used 1,000 times gets the gradient 256 in bfloat16, and one that is used 5,000 times 2,048
# in float16. It does not depend on the number of rows, of columns, or of threads; but the
# table with a single dimension stops with index_select as well. Under autocast the table is
# float32, and all four are right.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q torch==2.13.0 numpy
cat >"$folder/rows.py" <<'PYTHON'
import torch
from torch.nn import functional


def gather(table, places):
    return torch.gather(table, 0, places[:, None].repeat(1, table.shape[1]))


CALLS = {
    "x[i]": lambda table, places: table[places],
    "embedding": lambda table, places: functional.embedding(places, table),
    "index_select": lambda table, places: table.index_select(0, places),
    "gather": gather,
}


def gradient(call, table, count):
    """Of the table's first row, which is used `count` times."""
    table.requires_grad_()
    rows = call(table, torch.zeros(count, dtype=torch.int64))
    (found,) = torch.autograd.grad(rows, table, torch.ones_like(rows))
    return found[0].flatten()[0].item()


for dtype, count in ((torch.bfloat16, 1000), (torch.float16, 5000)):
    for name, call in CALLS.items():
        found = set()
        for threads in (1, 2):
            torch.set_num_threads(threads)
            for shape in ((1, 1), (2, 4), (1000, 64)):
                found.add(gradient(call, torch.ones(shape, dtype=dtype), count))
        print(f"{str(dtype)[6:]}, {count} times, {name}: {found}")
one = torch.ones(2, dtype=torch.bfloat16)
print("bfloat16, one dimension, index_select:", gradient(CALLS["index_select"], one, 1000))
with torch.autocast("cpu", torch.bfloat16):
    table = torch.ones(2, 4)
    print("autocast:", {gradient(call, table, 1000) for call in CALLS.values()})
PYTHON
"$folder/env/bin/python" "$folder/rows.py" 2>/dev/null | tee "$folder/seen"
diff - "$folder/seen" <<'WANTED'
bfloat16, 1000 times, x[i]: {256.0}
bfloat16, 1000 times, embedding: {256.0}
bfloat16, 1000 times, index_select: {1000.0}
bfloat16, 1000 times, gather: {1000.0}
float16, 5000 times, x[i]: {2048.0}
float16, 5000 times, embedding: {2048.0}
float16, 5000 times, index_select: {5000.0}
float16, 5000 times, gather: {5000.0}
bfloat16, one dimension, index_select: 256.0
autocast: {1000.0}
WANTED
