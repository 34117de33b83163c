"""Exercises of notebook 04: the numbers counted again, and other correct answers."""

import numpy as np

from course_utils.lessons.nb04 import exercises as nb04


def tokens(pairs=12, weights=12, each=14):
    """Tokens of one text from which on a block 768 wide keeps more activations than it
    has weights.
    """
    counts = np.arange(1, 2000)
    kept = each * 768 * counts + pairs * counts**2
    return int(counts[kept >= weights * 768**2][0])


def test_a_text_pays_from_some_440_tokens_on():
    assert nb04.PAYS(tokens()) is None
    assert "left out the scores" in nb04.PAYS(tokens(pairs=0))
    assert "one score for each pair" in nb04.PAYS(tokens(pairs=1))
    assert "one matrix" in nb04.PAYS(tokens(weights=1))
    assert 256 < tokens() < 512  # as the feedback says
