#!/bin/sh
# Does `model.dtype_policy = "mixed_float16"` before `compile` bring Keras's loss scale?
#
# Expected: yes, however the model was made. `compile` wraps the optimizer where the model's
# policy is mixed_float16.
# Seen (keras 3.15.1, tensorflow-cpu 2.21.0): yes for a model that was made under one
# policy, no for one that was made under a DTypePolicyMap. There the setter writes an entry
# for the model's name into the map, the model's policy stays the map, and `compile` takes
# Adam as it is. Layers that are set the same way compute in float16, so the training runs
# in float16 without a loss scale, and nothing warns.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q keras==3.15.1 tensorflow-cpu==2.21.0
cat >"$folder/policy.py" <<'PYTHON'
import keras


def made(policy):
    keras.config.set_dtype_policy(policy)
    x = keras.Input((4,))
    model = keras.Model(x, keras.layers.Dense(3, name="head")(x), name="net")
    for layer in model.layers:
        layer.dtype_policy = "mixed_float16"
    model.dtype_policy = "mixed_float16"
    model.compile("adam", "mse")
    return model


policies = keras.dtype_policies.DTypePolicyMap(default_policy="float32")
for policy in ("float32", policies):
    model = made(policy)
    name = "a map" if policy is policies else "one policy"
    print(f"made under {name}: {type(model.dtype_policy).__name__},",
          model.layers[-1].compute_dtype, type(model.optimizer).__name__)
print("the map:", sorted(policies))
PYTHON
TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=-1 "$folder/env/bin/python" "$folder/policy.py" \
    2>/dev/null | tee "$folder/seen"
diff - "$folder/seen" <<'WANTED'
made under one policy: DTypePolicy, float16 LossScaleOptimizer
made under a map: DTypePolicyMap, float16 Adam
the map: ['head', 'net']
WANTED
