"""Notebook 07's exercises: each number found a second way, and the mistakes told apart."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from course_utils import distributed
from course_utils.exercises import nb07, replicas, wire
from course_utils.exercises.functions import edited
from course_utils.loss_scale import DynamicLossScale


def test_one_overflow_halves_the_scale_as_on_one_device():
    loss_scale, right = DynamicLossScale(nb07.SCALE), nb07.FLAGS.right
    assert not loss_scale.update(all([True, False, True, True]))
    assert loss_scale.scale == right["cure scale"] and right["cure steps"] == 0


def test_a_played_ring_sends_what_the_answer_says():
    """A ring all-reduce, message by message."""
    source = np.random.default_rng(7)
    arrays = [source.integers(-9, 9, nb07.WEIGHTS).astype("float32") for _ in range(nb07.DEVICES)]
    count = len(arrays)
    parts, sent = [np.array_split(array.copy(), count) for array in arrays], [0] * count
    for turn in range(2 * (count - 1)):
        first = turn < count - 1  # once around to add up, once to hand out
        which = [(rank - turn) % count for rank in range(count)]
        messages = [parts[rank][part].copy() for rank, part in enumerate(which)]
        for rank, (part, message) in enumerate(zip(which, messages, strict=True)):
            sent[rank] += message.nbytes
            to = parts[(rank + 1) % count]
            to[part] = to[part] + message if first else message
    assert all(np.array_equal(np.concatenate(each), sum(arrays)) for each in parts)
    assert all(abs(total / 1e6 - nb07.SENT) < 1e-4 for total in sent)
    assert f"{nb07.SENT:.2f}" == "6.07"
    many = distributed.ring_bytes(nb07.WEIGHTS, 10**6) / 1e6
    assert 8.0 < many < 2 * nb07.SIZE < 8.095  # as `right` says


def test_numpy_and_tensorflow_send_the_same_numbers():
    import tensorflow as tf

    scaled = np.float32([0.1, 1.5, 1e-13]) * np.float32(wire.SCALE)
    for name, dtype in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)):
        with np.errstate(over="ignore"):
            sent = scaled.astype(dtype)
            total = (sent + sent).astype(np.float32)
        assert (total / wire.SCALE).tolist() == pytest.approx(wire.WIRE.right[name], rel=1e-6)
        cast = tf.cast(scaled, name)
        assert tf.cast(cast + cast, "float32").numpy().tolist() == total.tolist()


def test_what_the_messages_say_about_neighbours():
    for dtype, below, above in ((np.float16, 3276, 3278), (ml_dtypes.bfloat16, 3264, 3280)):
        low, high = dtype(below), dtype(above)
        assert (float(low), float(high)) == (below, above) and np.nextafter(low, high) == high
    assert float(np.finfo(np.float16).max) == 65504 and 49152 < 65504 < 2 * 49152 == 98304
    assert f"{float(np.finfo(np.float16).smallest_subnormal) / 2:.0e}" == "3e-08"


def test_the_cases_tell_all_mistakes_apart():
    functions = [edited(replicas.CODE, replicas.NAME), *(wrong for wrong, _ in replicas.WRONG)]
    outcomes = [[replicas.flags_of(f, case) for case in replicas.CASES] for f in functions]
    assert all(one != other for one, other in itertools.combinations(outcomes, 2))


def sum_first(gradients):
    total = [sum(arrays) for arrays in zip(*gradients, strict=True)]
    with np.errstate(invalid="ignore"):
        return np.full(len(gradients), all(np.isfinite(array).all() for array in total))


def with_tensors(gradients):
    import tensorflow as tf

    flags = [tf.reduce_all(tf.math.is_finite(a)) for replica in gradients for a in replica]
    return [tf.reduce_all(flags).numpy()] * len(gradients)


def test_other_right_checks():
    for function in (sum_first, with_tensors):
        assert replicas.judge(function) is None
