#!/bin/sh
# What is `model.input` of a subclassed model that was called on a dictionary of symbols?
#
# Expected: the dictionary, as with a functional model, so that
# `keras.Model(model.input, model.output)` and `model(model.input)` work with both.
# Seen (keras 3.15.1, tensorflow-cpu 2.21.0): a list, in the order of the names' alphabet,
# without the names. The model then cannot be called on its own input (TypeError). The names
# stand in the arguments of its inbound node alone, which is no public attribute.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q keras==3.15.1 tensorflow-cpu==2.21.0
cat >"$folder/input.py" <<'PYTHON'
import keras


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x["price"]) + self.dense(x["age"])


def symbols():
    return {name: keras.Input((3,), name=name) for name in ("price", "age")}


x = symbols()
functional = keras.Model(x, keras.layers.Add()([x["price"], x["age"]]))
print("functional:", type(functional.input).__name__, list(functional.input))
model = Subclassed()
model(symbols())
print("subclassed:", type(model.input).__name__, [each.name for each in model.input])
for each in (functional, model):
    try:
        each(each.input)
        print("called on its input")
    except TypeError as error:
        print("TypeError on its own input")
PYTHON
TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=-1 "$folder/env/bin/python" "$folder/input.py" \
    2>/dev/null | tee "$folder/seen"
diff - "$folder/seen" <<'WANTED'
functional: dict ['price', 'age']
subclassed: list ['age', 'price']
called on its input
TypeError on its own input
WANTED
