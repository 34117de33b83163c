"""docs/scalers.md says what data/scalers.json holds, Keras still does it, and the rules that
notebook 02 writes as functions move as the libraries did.
"""

import json

import numpy as np
import pytest

from tools import reference, scalers, scalers_page
from tools.canonical_form import COURSE
from tools.notebook_cells import Cells

RECORD = json.loads((COURSE / "data/scalers.json").read_text(encoding="utf-8"))
LIBRARIES = RECORD["libraries"]
SCALES = [name for name in LIBRARIES if name != "Optax"]
FLOORS = ("tf_keras", "jmp", "MindSpore", "Chainer", "DeepSpeed")


@pytest.fixture(scope="module")
def rules():
    """{library: its rule, as a cell of the notebook writes it}, and the cell's names."""
    names = {"np": np}
    cells = Cells("02_loss_scaling")
    cells.run("rules", "rules-open", "rules-other", names=names)
    source = cells.sources["rules-survive"]
    exec(source[source.index("rules = ") : source.index("lines = ")], names)
    found = {}
    for label, rule in names["rules"].items():
        found |= dict.fromkeys(label.split(", "), rule)
    return names, found


def predicted(names, rule, first, every, gradients):
    """The scales before and after each step, and whether the rule stopped them."""
    names["N"], scales, row = every, [first], 0
    for gradient in gradients:
        with np.errstate(all="ignore"):
            scaled = np.float32(gradient) * np.float32(scales[-1])
        try:
            scale, row = rule(scales[-1], row, np.isfinite(scaled))
        except OverflowError:
            return scales, True
        scales.append(scale)
    return scales, False


def test_the_page_is_made_of_the_record():
    page = (COURSE / "docs/scalers.md").read_text(encoding="utf-8")
    assert reference.scalers() == page
    assert list(LIBRARIES) == list(scalers.LIBRARIES) and len(SCALES) == 8
    for kept in LIBRARIES.values():
        assert kept["versions"]["python"] and kept["date"] and kept["cpu"]
    # so that nothing is cut on a phone or on paper
    assert all(line.count("|") <= 6 for line in page.splitlines())


@pytest.mark.parametrize("trace", scalers.TRACES)
@pytest.mark.parametrize("library", SCALES)
def test_the_rules_of_the_notebook_move_as_the_library_did(library, trace, rules):
    names, found = rules
    first, every, gradients = scalers.TRACES[trace]
    first = 1.0 if library == "Chainer" else first
    ours = predicted(names, found[library], first, every, gradients())
    kept = LIBRARIES[library]
    error = kept["traces"][trace]["error"] is not None
    assert ours == (scalers_page.scales_of(kept, trace), error)


def test_every_rule_of_the_notebook_has_a_library(rules):
    assert set(rules[1]) == set(SCALES)


def test_the_first_batches_of_the_record_are_those_of_the_exercise():
    from course_utils.lessons.nb02 import numpy_autoencoder as network

    weights = network.first_weights()
    with np.errstate(all="ignore"):
        for n, gradient in enumerate(scalers.hundred_broken()):
            if n % 10 == 7 or n in (0, 99, 100):
                made = network.flat(network.backward(weights, n, 1.0, "float32"))
                assert np.isfinite(made).all() == np.isfinite(gradient), n


def test_a_bad_step_moves_no_weight_and_all_three_are_alike():
    for kept in LIBRARIES.values():
        infinity, *others = kept["a bad step"].values()
        assert others == [infinity] * 2 and len(others) == 2
        assert not {"the weight", "the momentum"} & set(infinity)


def test_who_has_a_floor_and_what_a_good_step_does_without_one():
    for name in SCALES:
        kept = LIBRARIES[name]
        lowest = min(scalers_page.scales_of(kept, "down"))
        weight = float(kept["a good step at the lowest"]["weight"])
        assert (lowest == 1) == (name in FLOORS)
        assert np.isnan(weight) == (name in ("Keras 3", "PyTorch"))
        assert np.isnan(weight) == (lowest == 0)
        assert np.isnan(weight) or weight == scalers_page.RIGHT


def test_who_refuses_a_wrapper_in_a_wrapper():
    assert "TypeError" in LIBRARIES["tf_keras"]["nested"]
    share = float(LIBRARIES["Keras 3"]["nested"].split(" is ")[1].split()[0])
    assert share == pytest.approx(2.0**-15, rel=1e-4)


def test_optax_applies_every_further_bad_step():
    weights = [float(weight) for weight in LIBRARIES["Optax"]["after a limit of 5"]]
    assert weights[:5] == [1.0] * 5 and not np.isfinite(weights[5:]).any()


@pytest.mark.slow
def test_keras_still_does_so():
    now, kept = scalers.report("Keras 3"), LIBRARIES["Keras 3"]
    for name in set(now) - {"versions"}:
        assert now[name] == kept[name], name
