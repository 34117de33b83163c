"""What a learner does with a notebook: guesses, interrupts, looks."""

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_prediction_comes_back_in_figure_and_recap(lab):
    lab.open("notebooks/01_floats.ipynb")
    lab.run("setup", "load-exercises", "halve", "by-hand", "bit-strips", "vanish")
    lab.set_source("prediction", "q.predict(10_000)")
    lab.run("prediction", "long-sum", "long-sum-figure", "recap-guess")
    assert "you guessed 10,000" in lab.text("long-sum-figure")
    assert lab.text("recap-guess") == (
        "You guessed 10,000 for ten thousand ones in float16; it was 2,048."
    )


def test_the_training_panel_is_live_and_an_interrupt_keeps_its_curves(lab):
    lab.open("notebooks/04_mnist_cnn.ipynb")
    lab.run("setup", "load-exercises", "data", "look", "float64")
    lab.run("pipeline", "model", "build-model")
    source = lab.source("panel").replace("seconds=20", "seconds=120")
    lab.set_source("panel", source.replace("epochs=5", "epochs=1000"))
    lab.start("panel")
    output = lab.output("panel")
    output.locator("img").first.wait_for(timeout=60_000)
    image = output.locator("img").first
    expect(image).not_to_have_attribute("src", image.get_attribute("src"), timeout=60_000)
    assert "accuracy" in output.inner_text() and "epoch" in output.inner_text()
    lab.interrupt()
    # Not wait_idle: JupyterLab calls the kernel idle while a widget's messages arrive.
    output.get_by_text("You stopped the training after").wait_for(timeout=20_000)
    assert "stopped by you" in output.inner_text()
    lab.run("panel-result")
    assert "test digits right" in lab.text("panel-result")
    assert lab.errors == []


def test_a_figure_is_as_wide_as_the_text_and_transparent(lab):
    lab.open("notebooks/solved/04_mnist_cnn.ipynb")
    background = "return getComputedStyle(find('look').node.querySelector('img')).backgroundColor"
    for theme in ("light", "dark"):
        lab.set_theme(theme)
        assert 550 < lab.output("look").locator("img").first.bounding_box()["width"] < 900
        assert lab.js(background) in ("rgba(0, 0, 0, 0)", "transparent")
