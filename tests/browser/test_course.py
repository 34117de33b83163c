"""The notebooks as a learner meets them: run, run again, click, answer, interrupt."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


NOTEBOOKS = ["00_start_here", "01_floats", "02_loss_scaling", "03_policy", "04_mnist_cnn"]
NOTEBOOKS += ["05_profiling", "06_training_loop", "07_devices"]


@pytest.mark.parametrize("name", NOTEBOOKS)
@pytest.mark.timeout(1500)
def test_run_all_twice_in_one_kernel(name, lab):
    """No error, no console error, nothing asked of another host, in the second run either."""
    lab.open(f"notebooks/{name}.ipynb")
    for _ in range(2):
        lab.run_all(timeout=700)
    assert lab.errors == []
    assert set(lab.outside) == set()
    assert "No guess yet" in lab.text("prediction")
    assert "Not attempted yet" in lab.text("exercise-1")
    figure = {
        "00": "guess-beside-measured",
        "01": "long-sum-figure",
        "02": "by-scale",
        "03": "flow-figure",
        "04": "compare-figure",
        "05": "ops-figure",
        "06": "arrows",
        "07": "cured",
    }
    assert "In words:" in lab.text(figure[name[:2]])


def run_until(lab, *cells):
    for cell in cells:
        lab.run(cell, timeout=120)


def test_a_guess_and_answers_survive_a_kernel_restart(lab):
    lab.open("notebooks/00_start_here.ipynb")
    run_until(lab, "setup", "load-exercises")
    lab.set_source("prediction", "q.predict(3.5)")
    assert "You expect 3.5 times" in lab.run("prediction")
    for wrong, told in (("7.3", "That is the slowdown"), ("'fast'", "give one number")):
        lab.set_source("exercise-2", f"q[2].check({wrong})")
        assert told in lab.run("exercise-2")
    lab.set_source("exercise-2", "q[2].check(0.137)")
    assert "Correct." in lab.run("exercise-2")
    lab.restart()
    run_until(lab, "setup", "load-exercises")
    lab.set_source("progress", "print(q.guess); exercises.progress()")
    said = lab.run("progress")
    assert "3.5" in said and "1 of 3" in said
    assert "solved" in lab.run("summary")


def test_the_converter_answers_to_typing_and_to_its_menu(lab):
    lab.open("notebooks/01_floats.ipynb")
    run_until(lab, "setup", "load-exercises", "encode", "converter")
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
    run_until(lab, "setup", "load-exercises", "policies", "stored", "flow", "flow-figure")
    run_until(lab, "autocast", "four-layers", "examine", "panel")
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
    run_until(lab, "setup", "load-exercises", "network", "roofs", "panel-models", "panel")
    output, (device, batch, model) = lab.output("panel"), (0, 1, 2)
    expect(output).to_contain_text("roofs of T4: float32 8.1 TFLOP/s", timeout=60_000)
    dot = r"step in float32, predicted: ([\d.]+) operations per byte"

    def choose(menu, option, per_byte):
        """Chooses, waits until the dot is elsewhere; how many operations per byte it has then."""
        output.locator("select").nth(menu).select_option(option)
        expect(output).not_to_contain_text(f"predicted: {per_byte} op", timeout=60_000)
        expect(output).to_contain_text(re.compile(dot), timeout=60_000)
        return re.search(dot, output.inner_text())[1]

    first = re.search(dot, output.inner_text())[1]
    larger = choose(batch, "512", first)
    assert float(larger) > float(first)
    wide = choose(model, "wide dense", larger)
    assert float(wide) > float(larger)
    output.locator("select").nth(device).select_option("TPU v4")
    expect(output).to_contain_text("roofs of TPU v4", timeout=60_000)
    assert f"predicted: {wide} op" in output.inner_text()  # the same work on another device
    assert lab.errors == []


def test_the_migration_table_follows_its_menu(lab):
    lab.open("notebooks/03_policy.ipynb")
    run_until(lab, "setup", "policies", "migration")
    output = lab.output("migration")
    expect(output).to_contain_text("tf.keras.mixed_precision.experimental", timeout=60_000)
    output.locator("select").select_option("JAX")
    expect(output).to_contain_text("optax", timeout=60_000)
    assert lab.errors == []


def test_the_arrows_follow_menu_and_slider(lab):
    lab.open("notebooks/06_training_loop.ipynb")
    run_until(lab, "setup", "load-exercises", "digits", "network", "five-loops", "arrows")
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
    run_until(lab, "setup", "load-exercises", "strategies-picture", "choose", "run", "network")
    run_until(lab, "play", "play-rows", "cure", "timeline")
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


def test_a_prediction_comes_back_in_figure_and_recap(lab):
    lab.open("notebooks/01_floats.ipynb")
    run_until(lab, "setup", "load-exercises", "by-hand", "range", "binades", "vanish")
    lab.set_source("prediction", "q.predict(10_000)")
    run_until(lab, "prediction", "long-sum", "long-sum-figure", "recap-guess")
    assert "you guessed 10,000" in lab.text("long-sum-figure")
    assert lab.text("recap-guess") == (
        "You guessed 10,000 for ten thousand ones in float16; it was 2,048."
    )


def start_training(lab, seconds):
    lab.open("notebooks/04_mnist_cnn.ipynb")
    run_until(lab, "setup", "load-exercises", "data", "look", "float64")
    run_until(lab, "pipeline", "model", "build-model")
    source = lab.source("panel").replace("seconds=20", f"seconds={seconds}")
    lab.set_source("panel", source.replace("epochs=5", "epochs=1000"))
    lab.start("panel")


def test_the_training_panel_is_live_and_an_interrupt_keeps_its_curves(lab):
    start_training(lab, seconds=120)
    output = lab.output("panel")
    output.locator("img").first.wait_for(timeout=60_000)
    image = output.locator("img").first
    expect(image).not_to_have_attribute("src", image.get_attribute("src"), timeout=60_000)
    assert "accuracy" in output.inner_text() and "epoch" in output.inner_text()
    lab.interrupt()
    # Not wait_idle: JupyterLab calls the kernel idle while a widget's messages arrive.
    output.get_by_text("You stopped the training after").wait_for(timeout=20_000)
    assert "stopped by you" in output.inner_text()
    lab.run("panel-result", timeout=120)
    assert "test digits right" in lab.text("panel-result")
    assert lab.errors == []


def test_an_interrupted_comparison_keeps_its_rounds(lab):
    lab.open("notebooks/00_start_here.ipynb")
    run_until(lab, "setup", "load-exercises", "machine", "matmul-sizes", "data", "build-model")
    lab.set_source("compare", lab.source("compare").replace("seconds=8", "seconds=300"))
    lab.start("compare")
    bar = lab.output("compare").get_by_text("/180.0 [")  # three fifths of 300 s are for steps
    expect(bar).to_contain_text(re.compile(r"[1-9][0-9.]*/180"), timeout=120_000)
    lab.interrupt()
    lab.output("compare").get_by_text("step_ms_q1").wait_for(timeout=30_000)
    lab.set_source("guess-beside-measured", "print(comparison.notes, len(comparison.steps))")
    said = lab.run("guess-beside-measured")
    assert "You interrupted the comparison" in said and int(said.split()[-1]) >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_figure_is_as_wide_as_the_text_and_transparent(theme, lab):
    lab.open("notebooks/04_mnist_cnn.ipynb", theme=theme)
    run_until(lab, "setup", "load-exercises", "data", "look")
    image = lab.output("look").locator("img").first
    box = image.bounding_box()
    assert 550 < box["width"] < 900
    assert lab.js(
        "return getComputedStyle(find('look').node.querySelector('img')).backgroundColor"
    ) in (
        "rgba(0, 0, 0, 0)",
        "transparent",
    )
