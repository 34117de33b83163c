"""The site's pages of one explorer each, as files: tests/browser/test_toys.py opens them."""

import math
import re

import pytest

from course_utils import records
from course_utils.explorers import scalescope
from course_utils.gradients import OctaveHistogram
from tools import toys


@pytest.mark.parametrize("name", toys.TITLES)
def test_a_page_is_one_small_file_that_no_script_of_others_can_enter(name):
    html = toys.page(name)
    assert len(html.encode()) < 100_000
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none'; ") and "unsafe-eval" not in policy
    assert "'unsafe-inline'; script-src 'sha256-" in policy
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", html)


def test_the_text_of_the_bathtubs_page_is_true():
    layers = records.gradients(of="weights")[85].values()
    whole = sum(layers, OctaveHistogram.from_values([]))
    errors = {
        name: [whole.relative_error(name, scale) for scale in range(49)]
        for name in scalescope.SCOPE_FORMATS
    }
    lowest = {name: min(some) for name, some in errors.items()}
    half = errors["float16"]
    assert errors["float16"].index(math.inf) == 28
    assert half[15] < 1.01 * lowest["float16"] < half[0] / 50
    lost = whole.survival("float16", 0)
    assert lost.rounded_to_zero > 0.3 * (lost.total - lost.zero)
    assert len(set(errors["bfloat16"])) == 1
    order = ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
    assert sorted(lowest, key=lowest.get) == order
    floors = {
        name: sum(error < 1.1 * lowest[name] for error in errors[name])
        for name in order
    }
    assert floors["float8_e4m3fn"] < floors["float8_e5m2"]
