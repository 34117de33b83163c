"""The panels of the notebooks, answered by a kernel: typing, menus, sliders."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_converter_answers_to_typing_and_to_its_menu(lab):
    lab.open("notebooks/01_floats.ipynb")
    lab.run("setup", "load-exercises", "encode", "converter")
    output = lab.output("converter")
    expect(output).to_contain_text("0 01011 1001100110 · 0x2E66 · normal · 0.0999755859375")
    for number, said in (("65519", "65504.0"), ("65520", "inf"), ("seven", "is not a number")):
        lab.type("converter", "input[type=text]", number)
        expect(output).to_contain_text(said)
    output.locator("select").select_option("bfloat16")
    lab.type("converter", "input[type=text]", "-4200000000")
    expect(output).to_contain_text("1 10011110 1111010 · 0xCF7A · normal")
    assert lab.errors == []


def test_the_policy_panel_follows_its_menus(lab):
    lab.open("notebooks/03_policy.ipynb")
    lab.run("setup", "load-exercises", "policies", "stored", "flow", "flow-figure", "autocast")
    lab.run("four-layers", "examine", "panel")
    output, (model, policy) = lab.output("panel"), (0, 1)
    expect(output).to_contain_text("conv2d", timeout=60_000)
    expect(output).to_contain_text("weights stay float32")
    output.locator("select").nth(policy).select_option("float32")
    expect(output).to_contain_text("Pipes carry float32", timeout=60_000)
    output.locator("select").nth(model).select_option("the suspect")
    output.locator("select").nth(policy).select_option("mixed_bfloat16")
    expect(output).to_contain_text("error · head: The probabilities come out in bfloat16")
    expect(output).to_contain_text("warning · not_cast")
    assert lab.errors == []


def test_the_picker_panel_follows_its_menus(lab):
    lab.open("notebooks/05_profiling.ipynb")
    lab.run("setup", "load-exercises", "network", "roofs", "panel-models", "panel")
    output, (device, batch, model) = lab.output("panel"), (0, 1, 2)
    expect(output).to_contain_text("roofs of T4: float32 8.1 TFLOP/s", timeout=60_000)
    dot = r"step in float32, predicted: ([\d.]+) operations per byte"
    reached = [re.search(dot, output.inner_text())[1]]
    for menu, option in ((batch, "512"), (model, "wide dense")):
        output.locator("select").nth(menu).select_option(option)
        expect(output).not_to_contain_text(f"predicted: {reached[-1]} op", timeout=60_000)
        expect(output).to_contain_text(re.compile(dot), timeout=60_000)
        reached.append(re.search(dot, output.inner_text())[1])
    assert sorted(reached, key=float) == reached
    output.locator("select").nth(device).select_option("TPU v4")
    expect(output).to_contain_text("roofs of TPU v4", timeout=60_000)
    assert f"predicted: {reached[-1]} op" in output.inner_text()  # the same work elsewhere
    assert lab.errors == []


def test_the_arrows_follow_menu_and_slider(lab):
    lab.open("notebooks/06_training_loop.ipynb")
    lab.run("setup", "load-exercises", "digits", "network", "five-loops", "arrows")
    output = lab.output("arrows")
    expect(output).to_contain_text("scaling forgotten: 1/32,768 as long", timeout=60_000)
    output.locator("select").select_option("Adam")
    expect(output).not_to_contain_text("1/32,768", timeout=60_000)
    slider = output.locator(".noUi-handle")
    slider.focus()
    for _ in range(7):  # from 2^-7 to 2^0
        slider.press("ArrowRight")
    expect(output).to_contain_text("scaling forgotten: as long as the right step", timeout=60_000)
    assert lab.errors == []


def test_the_two_timelines_follow_their_sliders(lab):
    lab.open("notebooks/07_devices.ipynb")
    lab.run("setup", "load-exercises", "strategies-picture", "choose", "run", "network")
    lab.run("play", "play-rows", "cure", "timeline")
    output = lab.output("timeline")
    destroyed = "Keras's own: replica 1 overflows in step 2, takes the step"
    expect(output).to_contain_text(destroyed, timeout=60_000)
    expect(output).to_contain_text("all decide: replica 1 overflows in step 2, is skipped")
    replica, step = output.locator(".noUi-handle").all()
    replica.press("ArrowLeft")
    skipped = "Keras's own: replica 0 overflows in step 2, is skipped"
    expect(output).to_contain_text(skipped, timeout=60_000)
    step.press("ArrowRight")
    expect(output).to_contain_text("replica 0 overflows in step 3, is skipped", timeout=60_000)
    assert lab.errors == []
