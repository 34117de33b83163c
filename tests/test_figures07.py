"""The figures of notebook 07: replica timelines, and what is left of N times the speed."""

import io

import pytest
from matplotlib.text import Text
from PIL import Image
from test_figures import contrast

from course_utils.figures import distributed
from course_utils.figures.base import COLORS, LINES, MARKERS


def rows(decided_alone):
    """Replica 1 of two overflows in step 1; the scale was 8."""
    found = []
    for step in range(3):
        for replica in range(2):
            overflow = (step, replica) == (1, 1)
            taken = decided_alone or step != 1
            finite = not decided_alone or step < 1
            scale = 8.0 if decided_alone or step < 1 else 4.0
            found.append(
                {"step": step, "replica": replica, "overflow": overflow, "taken": taken,
                 "finite": finite, "scale": scale}
            )  # fmt: skip
    return found


@pytest.fixture
def timelines():
    runs = {"Keras's own": rows(True), "all decide": rows(False)}
    return distributed.replica_timelines(runs, "Two runs")


@pytest.fixture
def lines():
    shares = {"slow": [1, 0.5, 0.25], "fast": [1, 1, 0.96]}
    return distributed.efficiency([1, 2, 1024], shares, "Shares")


def points(ax):
    """Marker, place and whether it is filled, of all that stands at a step."""
    return {
        (p.get_marker(), float(p.get_xdata()[0]), round(float(p.get_ydata()[0]), 2),
         p.get_markerfacecolor() != "none")
        for p in ax.lines if len(p.get_xdata()) == 1
    }  # fmt: skip


def test_every_step_of_every_replica_has_its_sign(timelines):
    own, safe = (points(ax) for ax in timelines.figure.axes)
    star = ("*", 1.0, 0.68, True)
    assert own == {("o", 0, 0, True), ("o", 0, 1, True), star} | {
        ("X", step, replica, True) for step in (1, 2) for replica in (0, 1)
    }
    assert safe == {("o", s, r, s != 1) for s in range(3) for r in (0, 1)} | {star}


def test_the_scale_stands_below_each_step(timelines):
    labels = [t.get_text() for t in timelines.figure.axes[0].get_yticklabels()]
    assert labels == ["replica 0", "replica 1", "loss scale\nafter the step"]
    for ax in timelines.figure.axes:  # below the last lane and above the axis
        assert all(1.2 < t.get_position()[1] < ax.get_ylim()[0] for t in ax.texts)
    scales = [[t.get_text() for t in ax.texts] for ax in timelines.figure.axes]
    assert scales == [["$2^{3}$"] * 3, ["$2^{3}$", "$2^{2}$", "$2^{2}$"]]
    odd = [
        {**row, "scale": scale} for row, scale in zip(rows(True), [0, 0, 3, 3, 1, 1], strict=True)
    ]
    (ax,) = distributed.replica_timelines({"odd": odd}, "Odd").figure.axes
    assert [t.get_text() for t in ax.texts] == ["0", "3", "$2^{0}$"]


def test_timelines_in_words(timelines):
    assert timelines.alt == (
        "Keras's own: replica 1 overflows in step 1, takes the step; in the end the weights of "
        "replicas 0 and 1 are not finite. all decide: replica 1 overflows in step 1, is skipped; "
        "in the end the weights are finite."
    )


def dotted(ax):
    """Where the dotted part of each lane begins."""
    return {
        float(lane.get_segments()[0][0][1]): float(lane.get_segments()[0][0][0])
        for lane in ax.collections if lane.get_linewidth() == 2
    }  # fmt: skip


def test_a_replica_that_ends_early_is_seen_to_end(timelines):
    """As in a hang: replica 1 has skipped step 1, replica 0 never finishes it."""
    hung = [r for r in rows(False) if r["step"] == 0 or (r["step"], r["replica"]) == (1, 1)]
    picture = distributed.replica_timelines({"hung": hung, "cured": rows(False)}, "Two")
    ends, goes_on = picture.figure.axes
    assert ends.get_xlim() == goes_on.get_xlim()  # the missing steps stay empty
    assert dotted(goes_on) == {} and dotted(ends) == {0: 0.25, 1: 1.25}
    assert picture.alt.startswith(
        "hung: replica 1 overflows in step 1, is skipped; replica 0 ends after step 0; "
        "replica 1 ends after step 1; in the end the weights are finite. cured: "
    )
    signs = [t.get_text() for t in picture.figure.legends[0].get_texts()]
    assert "no further step" in signs
    others = [t.get_text() for t in timelines.figure.legends[0].get_texts()]
    assert others == signs[:-1] and "ends" not in timelines.alt


def test_a_replica_without_any_step_has_a_dotted_lane():
    alone = [{**row, "replica": 2} for row in rows(False) if row["replica"] == 1]
    picture = distributed.replica_timelines({"one": alone}, "One of three")
    (ax,) = picture.figure.axes
    assert dotted(ax) == {0: ax.get_xlim()[0], 1: ax.get_xlim()[0]}
    assert "replica 0 ends before its first step; replica 1 ends before" in picture.alt


def test_weights_that_were_lost_before_a_replica_ended_are_told():
    early = [row for row in rows(True) if (row["step"], row["replica"]) != (2, 1)]
    alt = distributed.replica_timelines({"mine": early}, "Early").alt
    assert alt.endswith("replica 1 ends after step 1; in the end the weights of replicas 0 and 1 "
                        "are not finite.")  # fmt: skip


@pytest.mark.parametrize("replicas", [1, 3, 4])
def test_any_number_of_replicas_has_lanes(replicas):
    every = [{**row, "replica": r} for row in rows(True) if row["replica"] for r in range(replicas)]
    picture = distributed.replica_timelines({"all": every}, "All")
    (ax,) = picture.figure.axes
    assert {p[2] for p in points(ax) if p[0] != "*"} == set(range(replicas))
    named = {1: "replica 0", 3: "replicas 0, 1 and 2", 4: "replicas 0, 1, 2 and 3"}[replicas]
    assert picture.alt.endswith(f"in the end the weights of {named} are not finite.")


def test_a_run_without_steps_is_refused():
    with pytest.raises(ValueError, match="'empty' has no steps"):
        distributed.replica_timelines({"empty": []}, "None")


def test_a_line_for_each_link(lines):
    (ax,) = lines.figure.axes
    assert [list(line.get_ydata()) for line in ax.lines] == [[100, 50, 25], [100, 100, 96]]
    looks = {(line.get_marker(), line.get_linestyle(), line.get_color()) for line in ax.lines}
    dtypes = {(MARKERS[d], LINES[d], COLORS[d]) for d in MARKERS}
    assert len(looks) == 2 and not looks & dtypes
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "2", "1,024"]
    assert lines.alt == (
        "slow: 50 % at 2, 25 % at 1,024 devices. fast: 100 % at 2, 96 % at 1,024 devices."
    )


def test_more_links_than_looks_are_refused():
    with pytest.raises(ValueError, match="5 links are too many: give up to 4"):
        distributed.efficiency([1], {str(n): [1] for n in range(5)}, "Five")


def test_the_middle_of_many_devices_is_told():
    alt = distributed.efficiency([1, 2, 4, 8, 16], {"x": [1, 0.9, 0.8, 0.7, 0.6]}, "Five").alt
    assert alt == "x: 90 % at 2, 80 % at 4, 60 % at 16 devices."


@pytest.mark.parametrize("name", ["timelines", "lines"])
def test_they_are_drawn_and_read_on_light_and_dark(name, request):
    picture = request.getfixturevalue(name)
    image = Image.open(io.BytesIO(picture.png())).convert("RGBA")
    assert image.getpixel((0, 0))[3] == 0 and 700 < image.width < 1800
    for text in picture.figure.findobj(Text):
        if text.get_text().strip():
            for background in ("#ffffff", "#111111"):
                assert contrast(text.get_color(), background) > 4, text.get_text()
