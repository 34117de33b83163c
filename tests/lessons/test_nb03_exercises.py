"""Notebook 03's exercises: every answer run or counted again, and many other layers."""

import keras
import numpy as np
import pytest
from helpers.tasks import CELLS

from course_utils import exercises, hardware
from course_utils.exercises.functions import edited
from course_utils.lessons.nb03 import exercises as nb03
from course_utils.lessons.nb03 import judge
from course_utils.lessons.nb03.models import reader, six_layers
from course_utils.precision import dtype_flow
from course_utils.training import dtype_policy


def verdict(number, answer):
    return exercises.load("03")[number].check(answer)


@pytest.fixture(autouse=True)
def policy():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    yield
    keras.config.set_dtype_policy(before)


def test_only_an_error_about_dtypes_is_answered_by_what_keras_casts():
    typo = edited(judge.CODE, "Fade", {"self.gain +": "self.gian +"})
    assert verdict(3, typo).message.endswith("no attribute 'gian'.")


def test_a_guess_is_told_beside_what_section_1_measures():
    kb = f"{sum(w.numpy().nbytes for w in six_layers().weights) / 1e3:.0f}"
    assert f"{kb} kB" in CELLS["03"]["predict"]
    assert f"float32 takes {kb}." in nb03.PREDICTION.respond(175)


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
    assert (
        200_000 > float(np.finfo(np.float16).max)
        and right["T4, wide"] == nb03.WIDE_IN_FLOAT32
    )
    assert f"`{nb03.WIDE_IN_FLOAT32}`" in CELLS["03"]["task-1"]


def test_the_panel_gives_the_reading_of_the_solution():
    with dtype_policy("mixed_float16"):
        model = reader()
    panel, flow = dtype_flow(model, 32), dtype_flow(model, 64)
    moved = ["input_moved", "weight_moved", "inside_moved"]
    kb = flow[moved].to_numpy().sum() / 1e3
    right = nb03.PANEL_READING.right
    assert right == {
        "most casts": panel.layer[panel[moved].sum(axis=1).argmax()],
        "weight casts": panel.layer[panel.weight_moved > 0].item(),
        "first float32": panel.layer[panel.output_dtype == "float32"].iloc[0],
        "kB at 64": round(kb),
    }
    once = panel[moved].to_numpy().sum() / 1e3
    slips = [round(2 * once), round(once)]
    assert list(nb03.PANEL_READING.judges["kB at 64"].wrong) == slips


# --- a layer --------------------------------------------------------------------------


def fade(edits=()):
    return edited(judge.CODE, "Fade", edits)


LINSPACE = "tf.linspace(0.0, 1.0, inputs.shape[-1])"
ONES = judge.ONES
SUM = judge.SUM
RAMP = judge.RAMP
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


WRONG = {
    "output is float64: something in the layer": {
        SUM: "keras.ops.add(inputs * self.gain, __import__('numpy').linspace(0, 1, 8))"
    },
    "something in the layer sets it": {SUM: "tf.cast(inputs, 'float64')"},
    "your layer promotes": {ONES: f"{ONES}, autocast=False", RAMP: "ramp"},
    "trainable weight of yours, or several": {
        f"{ONES})": f"{ONES})\n        self.add_weight()"
    },
    "has the shape (),": {"(input_shape[-1],)": "()"},
    "raises AttributeError: 'Fade' object has no attr": {"* self.gain": "* self.gian"},
    "Your layer returns a list of 1 items": {SUM: "[inputs]"},
}


@pytest.mark.parametrize("said", WRONG)
def test_other_wrong_layers(said):
    keras.config.set_dtype_policy("mixed_bfloat16")
    feedback = verdict(3, fade(WRONG[said]))
    assert feedback.status == "not yet" and said in feedback.message
    assert keras.config.dtype_policy().name == "mixed_bfloat16"  # as it was found
