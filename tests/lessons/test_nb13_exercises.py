"""Notebook 13's exercises: every number found a second way."""

import numpy as np
import pytest
import tensorflow as tf

from course_utils import roofline
from course_utils.lessons.nb13 import exercises as nb13


def test_the_count_is_that_of_the_graph():
    x, w = np.zeros((64, 512), "f"), np.zeros((512, 256), "f")
    counted = roofline.count(tf.matmul, x, w)
    right = {name: judge.right for name, judge in nb13.COUNT.judges.items()}
    assert (counted.flops, counted.bytes) == (right["flops"], right["bytes"])
    assert counted.flops / counted.bytes == pytest.approx(right["flops per byte"])


def test_the_peak_of_each_block_counted_again():
    peaks = {block: 64 // block + block for block in (1, 2, 4, 8, 16, 32, 64)}
    assert min(peaks, key=peaks.get) == 8 == nb13.PEAK.judges["best block"].right
    assert 10 * peaks[4] == nb13.PEAK.judges["blocks of 4"].right
