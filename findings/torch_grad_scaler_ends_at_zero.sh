#!/bin/sh
# What does PyTorch's GradScaler do with a good step after so many bad ones that its scale
# has fallen to 0?
#
# Expected: at the scale 0 each gradient is 0 / 0, which is NaN, so the scaler finds that it
# is not finite, and skips this step and all that follow: the weights stay.
# Seen (torch 2.13.0, on a CPU): the scale halves down to 0, since nothing ends it. The step is
# taken, and the weight is NaN. The scaler looks at the gradient before it divides: the
# gradient of the loss times 0 is 0, which is finite. A little above, at 2^-130, a good step
# makes the weight infinite, as the scaler multiplies by 1 / scale, which overflows there.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q torch==2.13.0 numpy
cat >"$folder/steps.py" <<'PYTHON'
import torch


def after(bad_steps):
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1.0)
    for factor in [float("inf")] * bad_steps + [2.0]:
        optimizer.zero_grad()
        scaler.scale((factor * weight).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    return f"scale {scaler.get_scale():g}, weight {weight.item():g}"


for bad_steps in (10, 130, 160):
    print(f"{bad_steps} bad steps and a good one: {after(bad_steps)}")
PYTHON
"$folder/env/bin/python" "$folder/steps.py" 2>/dev/null | tee "$folder/seen"
diff - "$folder/seen" <<'WANTED'
10 bad steps and a good one: scale 0.000976562, weight 0.8
130 bad steps and a good one: scale 7.34684e-40, weight -inf
160 bad steps and a good one: scale 0, weight nan
WANTED
