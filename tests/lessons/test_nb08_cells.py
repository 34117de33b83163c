"""What notebook 08 promises beyond its stored outputs: its own cells run here on networks
that need no training.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from course_utils.benchmark import lite
from tools.notebook_cells import Cells

NOTEBOOK = Cells("08_smaller")
BITS = ("(3, 3, 3, 3)", "(4, 3, 2, 4)")
needs_litert = pytest.mark.skipif(bool(lite.missing()), reason="no LiteRT")


@pytest.fixture
def cells():
    """The names of the cells that round, convert and pack."""
    names = {"np": np, "tf": tf, "x": np.zeros((1, 8, 8, 1), "float32")}
    return NOTEBOOK.run("rounded", "convert", "packed", names=names)


# Three seeds


class Network:
    """One that reads so many of 10,000 digits right."""

    def __init__(self, digits):
        self.digits = digits

    def evaluate(self, *arguments, verbose):
        return 0.0, self.digits / 10_000


def judged(monkeypatch, few, fewer):
    """What the cells say of three seeds' digits: the verdicts, and on the two rows."""
    monkeypatch.setattr(lite, "missing", lambda: "None here.")
    ways = dict(zip(BITS, (few, fewer), strict=True))
    rows = {"as it was": (9700, 9700, 9700)}
    for bits, digits in ways.items():
        rows |= {f"{bits} trained with": digits, f"{bits} rounded after": digits}
    trained = {
        (way, seed): Network(digits)
        for way, three in rows.items()
        for seed, digits in enumerate(three)
    }
    names = {"np": np, "lite": lite, "trained": trained, "x_test": None}
    names["y_test"] = range(10_000)
    (said,) = NOTEBOOK.printed("aware-table", "tie", names=names)
    verdicts = names["table"]["verdict"]
    return [verdicts[f"{bits} trained with"] for bits in BITS], said.split(": ")[1]


def test_three_seeds_rank_two_networks_only_where_all_agree(monkeypatch):
    # the lead of the second row in the three seeds that were seen first: +0.1, -0.2, -0.3
    near = judged(monkeypatch, (9630, 9670, 9680), (9640, 9650, 9650))
    assert near == (["worse", "worse"], "a tie")
    # ahead in the mean, and in two of three seeds
    ahead = judged(monkeypatch, (9700, 9700, 9700), (9690, 9750, 9790))
    assert ahead == (["a tie", "a tie"], "a tie")
    # a standard error is 17 digits: what is less decides nothing, all three or not
    assert judged(monkeypatch, (9690, 9690, 9690), (9670, 9670, 9670)) == (
        ["a tie", "worse"],
        "worse",
    )
    assert judged(monkeypatch, (9690, 9600, 9500), (9720, 9730, 9900)) == (
        ["a tie", "better"],
        "better",
    )


# The grid, and uneven layers


@pytest.mark.parametrize("bits", [8, 4, 3, 2])
def test_rounded_weights_stand_on_a_grid_of_their_output(cells, bits):
    weights = np.random.default_rng(0).normal(size=(5, 40, 6)) * 10.0 ** np.arange(6)
    few = cells["rounded"](weights, bits)
    step = abs(weights).max(axis=(0, 1)) / (2 ** (bits - 1) - 1)
    assert np.allclose(few / step, np.round(few / step))
    assert (abs(few - weights) <= step * 0.5001).all()
    assert np.allclose(abs(few).max(axis=(0, 1)), abs(weights).max(axis=(0, 1)))


@pytest.fixture
def network(cells):
    """Two convolutions with a ReLU between them, and what the cell `uneven` needs."""
    keras.utils.set_random_seed(0)
    layers = [keras.Input((8, 8, 1)), keras.layers.Conv2D(8, 3, activation="relu")]
    layers += [keras.layers.Conv2D(4, 3), keras.layers.GlobalAveragePooling2D()]
    model = keras.Sequential(layers)
    model.layers[0].bias.assign(np.linspace(0.1, 0.5, 8))
    cells |= {"dense": model, "start": model.get_weights(), "keras": keras}
    images = np.random.default_rng(0).normal(size=(200, 8, 8, 1)).astype("float32")
    return NOTEBOOK.run("uneven", names=cells | {"x": images, "trial": model})


def off(network, weights, like):
    """How far the outputs with these weights are from those with others, in their size."""
    model = network["dense"]
    outputs = []
    for some in (like, weights):
        model.set_weights(some)
        outputs.append(model(network["x"]).numpy())
    return np.linalg.norm(outputs[1] - outputs[0]) / np.linalg.norm(outputs[0])


def test_a_scale_for_each_output_does_not_save_the_layer_that_reads_them(network):
    rounded = network["rounded"]
    start = network["start"]
    for factor, lost in ((16, False), (1024, True)):
        network["dense"].set_weights(start)
        first, bias, second, more = network["uneven"](factor)
        assert off(network, (first, bias, second, more), start) < 1e-5
        one = (rounded(first, 8), bias, second, more)
        assert off(network, one, start) < 0.02
        whole = (rounded(first, 8, each_output=False), bias, second, more)
        both = (rounded(first, 8), bias, rounded(second, 8), more)
        if lost:
            assert off(network, whole, start) > 0.1 < off(network, both, start)
            assert not rounded(second, 8)[:, :, network["top"]].any()
        else:
            assert off(network, both, start) < 0.1


def test_layers_that_are_evened_out_lose_nothing_by_8_bits(network):
    from course_utils.exercises.functions import edited
    from course_utils.lessons.nb08 import judge

    even_out = edited(judge.EVEN, "even_out")
    first, bias, second, more = network["uneven"](1024)
    first, bias, second = even_out(first, bias, second)
    start, rounded = network["start"], network["rounded"]
    assert off(network, (first, bias, second, more), start) < 1e-5
    assert (
        off(network, (rounded(first, 8), bias, rounded(second, 8), more), start) < 0.02
    )


# LiteRT


@needs_litert
def test_litert_in_int8_loses_uneven_layers_and_keeps_even_ones(network):
    from course_utils.exercises.functions import edited
    from course_utils.lessons.nb08 import judge

    even_out = edited(judge.EVEN, "even_out")
    model, x = network["dense"], network["x"]
    exact = model.predict(x, verbose=0)
    wrong = {}
    first, bias, second, more = network["uneven"](1024)
    even = (*even_out(first, bias, second), more)
    for name, weights in {"uneven": (first, bias, second, more), "even": even}.items():
        model.set_weights(weights)
        got = network["convert"](model, "int8", x).predict(x)
        wrong[name] = np.linalg.norm(got - exact) / np.linalg.norm(exact)
    assert wrong["even"] < 0.1 and wrong["uneven"] > 3 * wrong["even"]


@pytest.fixture
def pruned():
    """One layer of 65,536 weights, nine tenths of them zero."""
    model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(256)])
    source = np.random.default_rng(0)
    weights = source.normal(size=(256, 256)) * (source.random((256, 256)) < 0.1)
    model.set_weights([weights, source.normal(size=256)])
    return model


@needs_litert
def test_zeros_take_no_bytes_of_a_file_that_is_told_so(cells, pruned):
    x = np.random.default_rng(1).normal(size=(4, 256)).astype("float32")
    exact = pruned(x).numpy()
    nets = {kind: cells["convert"](pruned, kind) for kind in ("float32", "sparse")}
    assert len(nets["float32"].content) > 260_000 > 60_000 > len(nets["sparse"].content)
    for net in nets.values():
        np.testing.assert_allclose(net.predict(x), exact, rtol=1e-4, atol=1e-4)


@needs_litert
def test_float16_halves_the_file_and_rounds_each_weight_once(cells, pruned):
    half = cells["convert"](pruned, "float16")
    assert 130_000 < len(half.content) < 140_000
    once = [weights.astype("float16") for weights in pruned.get_weights()]
    pruned.set_weights(once)
    x = np.random.default_rng(1).normal(size=(4, 256)).astype("float32")
    np.testing.assert_allclose(half.predict(x), pruned(x), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@needs_litert
def test_the_places_of_zeros_hardly_shrink_with_the_bits(cells, pruned):
    names = cells | {"trial": pruned, "sparse": pruned, "draw_parts": lambda kb: kb}
    names["x"] = np.zeros((20, 256), "float32")
    convert = cells["convert"]
    names["convert"] = lambda model, kind: convert(model, kind, names["x"] + 1)
    cells = NOTEBOOK.run("parts", names=names)
    kinds = ("float32", "float16", "int8")
    kb = [cells["parts"](pruned.get_weights(), kind) for kind in kinds]
    # in a quarter of the bits
    assert kb[0]["values"] > kb[1]["values"] > kb[2]["values"]
    assert kb[0]["values"] > 2.5 * kb[2]["values"]
    assert kb[0]["places"] < 2 * kb[2]["places"]
    # which of 65,536 weights are the tenth that stays takes 0.469 bits for each
    assert kb[2]["places"] > 3.8
    assert kb[0]["fixed part"] < 1.3 * kb[2]["fixed part"]


# The reader's own list


def test_the_shares_are_ours_until_all_four_are_read():
    source = NOTEBOOK.sources["shares"]
    assert NOTEBOOK.run("shares")["shares"] == [0.5, 0.75, 0.9, 0.0]
    own = "[0.6, 0.7, 0.8, 0.0]"
    changed = [("[..., ..., ..., ...]", own)]
    assert "[..., ..., ..., ...]" in source
    assert NOTEBOOK.run("shares", replaced=changed)["shares"] == [0.6, 0.7, 0.8, 0.0]
