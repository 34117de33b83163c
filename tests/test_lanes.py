"""The lanes of replicas: their steps, and what goes between them."""

import pytest
from helpers import figures as checks
from matplotlib.colors import to_hex

from course_utils.figures import devices


def replica_rows(decided_alone):
    """Replica 1 of two overflows in step 1; the scale was 8."""
    sums = [["gradients"]] * 3
    if not decided_alone:
        sums = [["flag", "gradients"], ["flag"], ["flag", "gradients"]]
    return [
        {
            "step": step,
            "replica": replica,
            "overflow": (step, replica) == (1, 1),
            "taken": decided_alone or step != 1,
            "finite": not decided_alone or step < 1,
            "scale": 8.0 if decided_alone or step < 1 else 4.0,
            "sums": sums[step],
        }
        for step in range(3)
        for replica in range(2)
    ]


TIMELINES = {"Keras's own": replica_rows(True), "all decide": replica_rows(False)}


def signs(ax):
    """What stands where: label, step and replica."""
    return {
        (line.get_label(), round(x), round(y))
        for line in ax.lines
        for x, y in line.get_xydata()
    }


def reduced(ax):
    """Of each all-reduce: its step, whether it is one flag's, and the lanes that it
    crosses.
    """
    found = set()
    for bar in ax.patches:
        (left, low), (right, high) = bar.get_bbox().get_points()
        crossed = tuple(lane for lane in range(2) if low < lane < high)
        found.add((round(left + 0.3), right - left < 0.1, crossed))
        # somebody waits alone
        assert (bar.get_linestyle() == "--") == (len(crossed) == 1)
    return found


def test_every_step_of_every_replica_has_its_sign_its_all_reduces_and_what_the_scale_became():
    own, safe = checks.drawn(devices.lanes(TIMELINES, "Two runs"))
    both = [(step, replica) for step in range(3) for replica in (0, 1)]
    star = {("gradient overflows here", 1, 1)}
    lost = {("weights not finite" if s else "taken", s, r) for s, r in both}
    assert signs(own) == star | lost
    skipped = {("skipped" if s == 1 else "taken", s, r) for s, r in both}
    assert signs(safe) == star | skipped
    assert reduced(own) == {(step, False, (0, 1)) for step in range(3)}
    flags = {(step, True, (0, 1)) for step in range(3)}
    assert reduced(safe) == flags | {(step, False, (0, 1)) for step in (0, 2)}
    # at the start of a lane, and where it changes
    for ax, scales in ((own, "33"), (safe, "3232")):
        assert checks.written(ax.texts) == [f"$2^{{{scale}}}$" for scale in scales]


def colors(ax):
    """Of each all-reduce: its step and its color."""
    return {
        (round(bar.get_x() + 0.3), to_hex(bar.get_facecolor()).upper())
        for bar in ax.patches
    }


def test_the_all_reduce_that_carries_infinity_has_the_color_of_what_it_destroys():
    """Sum first sends it too, and finds it in the sum; check first never sends it."""
    sum_first = [
        {**note, "taken": note["step"] != 1, "finite": True}
        for note in replica_rows(True)
    ]
    picture = devices.lanes({**TIMELINES, "sum first": sum_first}, "Three runs")
    own, safe, sums = picture.figure.axes
    usual = devices.EXCHANGE["facecolor"]
    infinite = devices.SIGNS["lost"]["color"]
    assert usual != infinite and devices.INFINITE["hatch"] != "xx"  # in gray, too
    carried = {(0, usual), (1, infinite), (2, usual)}
    assert colors(own) == colors(sums) == carried
    assert {color for _, color in colors(safe)} == {usual}
    assert picture.alt.count("infinity goes through the all-reduce of step 1") == 2
    labels = [text.get_text() for text in picture.figure.legends[0].texts]
    assert "all-reduce: infinity in it" in labels


def test_a_replica_that_waits_for_good_is_seen_to_wait_alone():
    """As in a hang: replica 1 has skipped step 1, replica 0 never finishes it."""
    cured = replica_rows(False)
    hung = [r for r in cured if r["step"] == 0 or (r["step"], r["replica"]) == (1, 1)]
    picture = devices.lanes({"hung": hung, "cured": cured}, "Two", "worker")
    waits, goes_on = picture.figure.axes
    assert waits.get_xlim() == goes_on.get_xlim()  # the missing steps stay empty
    alone = {bar for bar in reduced(waits) if len(bar[2]) == 1}
    assert alone == {(1, False, (0,)), (2, False, (1,))}
    words = "; worker 0 waits in the all-reduce of step 1 for good; worker 1"
    assert words in picture.alt
    assert checks.written(waits.texts).count("waits for ever") == 2


def test_what_cannot_be_drawn_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="'empty' has no steps"):
        devices.lanes({"empty": []}, "")
