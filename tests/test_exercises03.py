"""Notebook 03's exercises: every answer run or counted again, and many other layers."""

import keras
import ml_dtypes
import numpy as np
import pytest
from helpers.tasks import CELLS

from course_utils import exercises, hardware
from course_utils.exercises import layer, nb03, tensors
from course_utils.exercises.functions import edit, edited
from course_utils.models import reader, six_layers
from course_utils.precision import dtype_flow, examine
from course_utils.training import dtype_policy


def verdict(number, answer):
    return exercises.load("03")[number].check(answer)


@pytest.fixture(autouse=True)
def policy():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    yield
    keras.config.set_dtype_policy(before)


def test_guesses_are_told_in_the_megabytes_that_section_1_measures():
    assert sum(w.numpy().nbytes for w in six_layers().weights) / 1e3 == nb03.FLOAT32_KB
    assert f"{nb03.FLOAT32_KB:.0f} kB" in CELLS["03"]["predict"]
    said = exercises.load("03").predict(175).message
    assert (
        said
        == "You expect 175 kB, 0.5 times as much as under float32. Section 1 measures it."
    )


def test_policies_are_the_ones_that_the_course_recommends_on_such_machines():
    def machine(*gpus):
        return hardware.Hardware(
            "Linux x86_64", "some CPU", 4, ("avx2",), accelerators=gpus
        )

    right = nb03.CHOOSE.right
    for name, capability in (("T4", 7.5), ("H100", 9.0)):
        gpu = hardware.Accelerator("GPU", name, True, "", capability)
        assert right[name] == hardware.recommended_policy(machine(gpu))
    assert right["laptop"] == hardware.recommended_policy(machine())
    assert 200_000 > float(np.finfo(np.float16).max) and right["T4, wide"] == nb03.WIDE
    assert f"`{nb03.WIDE}`" in CELLS["03"]["task-1"]


def test_the_panel_gives_the_reading_of_the_solution():
    right, wrong = tensors.measured()
    assert right | {"kB at 64": round(right["kB at 64"])} == nb03.READING
    with dtype_policy("mixed_float16"):
        flow = dtype_flow(reader(), batch_size=32)
    # twice the panel's total is too much by what the weights take once
    weights = flow.weight_moved.sum() / 1e3
    assert max(wrong) == pytest.approx(right["kB at 64"] + weights, abs=0.2)
    assert weights / right["kB at 64"] > 0.03  # and the judge allows a hundredth
    assert all(f"**{name}**" in CELLS["03"]["task-2"] for name in right)


# --- a layer --------------------------------------------------------------------------


def fade(edits=()):
    return edited(layer.CODE, "Fade", edits)


PRODUCT, RAMP = "inputs * self.gain", "tf.linspace(0.0, 1.0, inputs.shape[-1])"
UNCAST = f"keras.ops.add(keras.ops.multiply(inputs, self.gain), {layer.RAMP})"
WIDE_INPUTS = 'keras.ops.cast(inputs, "float32")'
WIDE_SUM = {layer.SUM: f"keras.ops.add({PRODUCT}, ramp)"}
# what the fix says, the part of the layer that it means, and what widens that part
LEFT_WIDE = {
    "autocast": (
        "",
        {layer.ONES: f'{layer.ONES}, name="gain", autocast=False', layer.SUM: UNCAST},
    ),
    "part": ("ramp", WIDE_SUM),
    "cast": ("", {layer.SUM: UNCAST.replace("inputs", WIDE_INPUTS)}),
    "made": ("ramp", WIDE_SUM | {RAMP: 'tf.range(8, dtype="float32") / 7'}),
}


@pytest.mark.parametrize("name", LEFT_WIDE)
def test_the_fix_that_examine_prints_is_one_that_the_exercise_accepts(name, tmp_path):
    part, edits = LEFT_WIDE[name]
    code = edit(layer.CODE, edits)
    file = tmp_path / "layer.py"
    names = {"__name__": "layer"}
    file.write_text(code)  # `examine` reads it
    exec(compile(code, file, "exec"), names)
    with dtype_policy("mixed_float16"):
        head = keras.layers.Dense(1, dtype="float32")
        model = keras.Sequential([keras.Input((8,)), names["Fade"](), head])
    (fix,) = (f.fix for f in examine(model, "adam") if f.code in ("MP005", "MP007"))
    assert verdict(3, names["Fade"]).status == "not yet"
    if name == "autocast":
        assert "self.add_weight(name='gain', ...)  # without autocast=False" in fix
        repair = {", autocast=False": ""}
    elif name == "cast":
        assert fix.startswith("cast(..., self.compute_dtype)")
        repair = {'"float32"': "self.compute_dtype"}
    else:
        repair = {
            f"{PRODUCT}, ramp": f"{PRODUCT}, {fix.partition('  #')[0].replace(name, part)}"
        }
    exec(edit(code, repair), names)
    assert verdict(3, names["Fade"]).status == "correct"


LINSPACE = "tf.linspace(0.0, 1.0, inputs.shape[-1])"
ONES = layer.ONES
SUM = layer.SUM
RAMP = layer.RAMP
BUILD = "def build(self, input_shape):"
RIGHT = [
    {SUM: f"keras.ops.add(keras.ops.multiply(self.gain, inputs), {RAMP})"},
    {LINSPACE: "__import__('numpy').linspace(0, 1, 8)", RAMP: "ramp"},
    {LINSPACE: "keras.ops.linspace(0, 1, 8, dtype=self.compute_dtype)", RAMP: "ramp"},
    {BUILD: "def __init__(self):\n        super().__init__()", "input_shape[-1]": "8"},
    {ONES: f'{ONES}, dtype="float32"', RAMP: "tf.cast(ramp, self.gain.dtype)"},
]


def test_other_right_layers():
    for edits in RIGHT:
        assert verdict(3, fade(edits)).status == "correct", edits


def test_the_layer_of_the_stub_is_the_one_that_is_told():
    names = {}
    exec(CELLS["03"]["exercise-3"].partition("answer = ...")[0], names)
    said = verdict(3, names["Fade"]).message
    assert said.startswith("Under mixed_float16 the output is float32:")
    made, (x, _) = names["Fade"](), layer.example()
    assert np.allclose(made(x), x + np.linspace(0, 1, 8))  # in float32 it works
    assert not made.weights and not made.trainable_variables  # and Keras trains nothing


WRONG = {
    "output is float64: the dtype is written": {SUM: "tf.cast(inputs, 'float64')"},
    "your layer promotes": {ONES: f"{ONES}, autocast=False", RAMP: "ramp"},
    "trainable weight of yours, or several": {
        f"{ONES})": f"{ONES})\n        self.add_weight()"
    },
    "has the shape (),": {"(input_shape[-1],)": "()"},
    "raises AttributeError: 'Fade' object has no attr": {"* self.gain": "* self.gian"},
    "Your layer returns a list of 1 items": {SUM: "[inputs]"},
    "raises SystemExit: 3": {SUM: "__import__('sys').exit(3)"},
}
OTHERS = {
    "without parentheses": fade()(),
    "raises TypeError": keras.layers.Dense,
    "That makes the number 0": int,
}


def test_other_wrong_layers():
    keras.config.set_dtype_policy("mixed_bfloat16")
    for said, answer in (
        {said: fade(edits) for said, edits in WRONG.items()} | OTHERS
    ).items():
        feedback = verdict(3, answer)
        assert feedback.status == "not yet" and said in feedback.message, (
            said,
            feedback,
        )
        assert keras.config.dtype_policy().name == "mixed_bfloat16"  # as it was found


def test_the_trial_leaves_room_for_any_order_of_rounding():
    inputs, gain = layer.example()
    for array in (inputs, gain):
        assert np.array_equal(array.astype(ml_dtypes.bfloat16).astype("float32"), array)
    # Three roundings to 8 bits: the product and the ramp, both up to 1, and their sum
    # up to 2.
    assert (
        np.abs(inputs * gain).max() <= 1
        and 2.0**-9 + 2.0**-9 + 2.0**-8 < layer.TOLERANCE
    )
