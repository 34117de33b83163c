"""What notebook 08 shows, from its own cells on few pictures: bytes, counts, never a
time.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from sklearn.datasets import load_digits

from course_utils import benchmark, datasets, exercises
from course_utils.benchmark import lite
from tools.cells import Cells

pytestmark = pytest.mark.slow

NOTEBOOK = Cells("08_smaller")


@pytest.fixture(scope="module")
def names():
    """What the cells up to the converted files leave behind, on scikit-learn's digits."""
    found = {"__name__": "__main__", "q": exercises.load("08"), "Path": Path}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load_mnist", some_digits)
        NOTEBOOK.run("data", names=found)
    NOTEBOOK.run("train", names=found, replaced=[("epochs=4", "epochs=6")])
    NOTEBOOK.run("block", "deep", "callback", names=found)
    for number in (3, 4):
        exec(found["q"][number].exercise.solution, found)
    NOTEBOOK.run("prune", names=found, replaced=[("epochs=2", "epochs=3")])
    cells = "by-hand-range", "by-hand", "convert", "layer-lite", "files", "keras-forms"
    return NOTEBOOK.run(*cells, names=found)


def some_digits():
    """Scikit-learn's digits, as large as MNIST's, many enough to train on in seconds."""
    small = load_digits()
    images = np.pad(
        np.kron(small.images * 15.9, np.ones((3, 3))), ((0, 0), (2, 2), (2, 2))
    )
    x = np.split(images.astype("uint8"), [1400])
    y = np.split(small.target, [1400])
    return SimpleNamespace(x_train=x[0], y_train=y[0], x_test=x[1], y_test=y[1])


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_recomputed_a_step_has_the_same_loss_and_the_lower_peak_that_was_counted(
    names, policy
):
    x = names["x"][:64]
    y = names["y"][:64]
    found = {}
    for again in (False, True):
        trainee = benchmark.Trainee(lambda again=again: names["deep"](again), policy)
        found[again] = [trainee.step(x, y) for _ in range(4)]
    kept, made = ([step.loss for step in found[again]] for again in (False, True))
    assert kept == pytest.approx(made, rel=1e-4 if policy == "float32" else 0.02)
    if found[True][0].peak_bytes is None:
        pytest.skip("this allocator does not count")
    peaks = {
        again: np.mean([s.peak_bytes for s in found[again][1:]]) / 1e6
        for again in found
    }
    assert peaks[True] < 0.75 * peaks[False]
    if policy == "float32":  # 16-bit kernels of some CPUs need working space
        for again, peak in peaks.items():
            assert peak == pytest.approx(names["counted"][policy, again], rel=0.35)


def test_the_layers_do_not_bear_the_same_share_of_zeros(names):
    scanned = NOTEBOOK.run("scan", names=names, until="figures.sens")["scan"]
    *_, large, last = scanned.values()
    assert large[0.8] > last[0.8] + 0.1


def test_a_mixed_model_converts_as_its_twin_alone(names, tmp_path):
    (line,) = NOTEBOOK.printed("mixed", names=names)
    assert line.startswith("ConverterError tf.BiasAdd tf.Conv2D")
    twin = names["to_float32"](
        names["sparse"], lambda: names["models"].mnist_cnn(width=8)
    )
    assert len(names["convert"](twin, "float32").content) > 200_000
    file = tmp_path / "model.tflite"
    try:
        lite.quietly(
            lambda: names["sparse"].export(file, format="litert", verbose=False)
        )
    except Exception:
        return  # not even a file
    with pytest.raises(ValueError, match="operations that only TensorFlow has"):
        lite.Lite(file.read_bytes())


def test_int8_takes_a_quarter_of_the_bytes_and_pruning_shows_when_packed(names):
    nets = names["nets"]
    exact = names["nets"]["float32"]
    assert len(nets) == 8 and all(net.right > 0.8 for net in nets.values())
    for kind, most in (("float16", 0.53), ("dynamic", 0.3), ("int8", 0.3)):
        assert len(nets[kind].content) <= most * len(exact.content)
        assert abs(nets[kind].right - exact.right) <= 0.01
    points = NOTEBOOK.run("points", names=names | {"benchmark": benchmark})["points"]
    found = {point["name"]: point for point in points}
    assert found["pruned, float32"]["packed_kb"] < 0.35 * found["float32"]["packed_kb"]
    assert found["pruned, float32"]["file_kb"] > 0.98 * found["float32"]["file_kb"]
    assert found["pruned, int8"]["packed_kb"] < 0.15 * found["float32"]["packed_kb"]


def test_calibrated_with_another_scaling_it_guesses(names):
    wrong, right = NOTEBOOK.printed("mistake-scaling", names=names)
    share = [float(re.search(r"([\d.]+)% right", line)[1]) for line in (wrong, right)]
    assert share[0] < 60 and share[1] > 80


def test_the_optimizer_stays_in_the_file_whatever_is_asked(names):
    sizes = [
        float(line.split()[-2])
        for line in NOTEBOOK.printed("mistake-size", names=names)
    ]
    assert sizes[0] > 2.5 * sizes[1]


def test_without_litert_one_sentence_and_the_dated_record(names, monkeypatch, capsys):
    monkeypatch.delattr(tf.lite, "Interpreter")
    monkeypatch.setattr(lite.importlib.util, "find_spec", lambda name: None)
    assert (
        "pip install ai-edge-litert" in lite.missing()
        and lite.missing().count(". ") == 0
    )
    given = dict(names) | {"benchmark": benchmark}
    assert NOTEBOOK.printed("layer-lite", names=given) == [lite.missing()]
    assert NOTEBOOK.printed("mixed", "files", names=given) == []
    assert given["nets"] == {}
    assert NOTEBOOK.printed("points", names=given)[0].startswith("Recorded on 20")
    NOTEBOOK.run("picture", names=given, until="TradeOff(points")
    NOTEBOOK.run("mistake-scaling", names=given)
    monkeypatch.delattr(tf.lite, "TFLiteConverter")
    assert "converter" in lite.missing()


def test_scopes_work_where_the_notebook_says(names):
    lines = [line.split() for line in NOTEBOOK.printed("scope", names=names)]
    works = {(mode, policy): result == "works" for mode, policy, result in lines}
    assert [pair for pair, well in works.items() if well] == [
        ("activations", "float32"),
        ("activations", "mixed_bfloat16"),
        ("list_of_layers", "float32"),
    ]


def test_rounded_while_training_it_comes_back(names):
    given = NOTEBOOK.run("cost", "aware", names=dict(names))
    lines = NOTEBOOK.printed("aware-run", names=given)
    plain, after, aware = (float(line.split()[-1].rstrip("%")) for line in lines)
    assert after < plain - 5 and aware > after + 5


def test_the_account_counts_the_outputs_and_not_what_remat_gives_back(names):
    lines = NOTEBOOK.printed("account", names=names | {"batch": 64})
    assert [line.split()[-3] for line in lines] == ["13.0", "16.0"]


def test_kerass_int8_and_int4_store_less_and_freeze_it_and_float8_adds(names):
    lines = NOTEBOOK.printed("keras-stored", names=names)
    found = [
        re.findall(r"(\S+) +weights +(\d+) kB.* ([\d,]+)$", line)[0] for line in lines
    ]
    kb = {name: int(weights) for name, weights, _ in found}
    assert kb["float32"] == kb["mixed_bfloat16"] == 254 and kb["bfloat16"] == 128
    assert kb["int4"] < 0.8 * kb["int8"] < 0.8 * 0.3 * kb["float32"]
    assert kb["float8"] > 1.05 * kb["float32"]  # two layers' histories
    left = {name: count for name, _, count in found}
    assert left["int8"] == left["int4"] == "1,290" and left["float32"] == "63,562"


def test_sure_and_right_are_compared_in_ten_bins(names):
    given = dict(names)
    lines = NOTEBOOK.printed("calibration-error", names=given)
    shares = [float(re.search(r"([\d.]+)% right", line)[1]) for line in lines]
    assert len(shares) == 7 and max(shares) - min(shares) <= 1.5
    odds = np.log([[0.85, 0.15]] * 4 + [[0.35, 0.65]] * 6)  # 3 of 4 right, and 5 of 6
    given["y_test"] = np.array([0, 0, 0, 1] + [1, 1, 1, 1, 1, 0])
    assert given["calibration_error"](odds) == pytest.approx(
        0.4 * 0.1 + (5 - 6 * 0.65) / 10
    )


# --- the plumbing ---------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"no model", b"TFL3" * 100])
def test_a_file_that_is_no_model_is_told_in_one_sentence(content):
    with pytest.raises(
        ValueError, match="LiteRT finds no whole model in these .* bytes"
    ) as error:
        lite.Lite(content)
    assert str(error.value).count(". ") == 0


@pytest.mark.parametrize(
    ("images", "said"),
    [
        (np.zeros((5, 28, 28, 1)), "are float64"),
        (np.zeros((5, 28, 28, 1), "uint8"), "are uint8"),
        (np.zeros((5, 28, 28), "float32"), "have the shape (5, 28, 28)"),
        (np.zeros((0, 28, 28, 1), "float32"), "have the shape (0, 28, 28, 1)"),
        (np.float32(0), "have the shape (1,)"),
        (np.full((5, 28, 28, 1), np.nan, "float32"), "hold NaN or infinity"),
    ],
)
def test_images_that_cannot_calibrate_are_told_in_one_sentence(images, said):
    with pytest.raises(ValueError) as error:
        lite.calibration(images, (28, 28, 1))
    assert said in str(error.value) and "float32 images of shape (28, 28, 1)" in str(
        error.value
    )


def test_what_is_run_quietly_prints_nothing_and_may_raise(capfd):
    import os

    lite.quietly(lambda: (print("out"), os.write(1, b"raw"), os.write(2, b"native")))
    with pytest.raises(ZeroDivisionError):
        lite.quietly(lambda: 1 / 0)
    print("heard")
    assert capfd.readouterr().out == "heard\n"
