"""The figures of notebook 07: replica timelines, and what is left of N times the speed."""

import io

import pytest
from matplotlib.text import Text
from PIL import Image
from test_figures import contrast

from course_utils.figures import distributed


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
        "replica 0 and 1 are not finite. all decide: replica 1 overflows in step 1, is skipped; in "
        "the end the weights are finite."
    )


def test_a_replica_may_end_earlier_than_another():
    hung = [row for row in rows(True) if (row["step"], row["replica"]) < (1, 1)]
    picture = distributed.replica_timelines({"hung": hung}, "Hung")
    assert len(points(picture.figure.axes[0])) == 3
    assert picture.alt.startswith("hung: nothing overflows; ")


def test_a_run_without_steps_is_refused():
    with pytest.raises(ValueError, match="'empty' has no steps"):
        distributed.replica_timelines({"empty": []}, "None")


def test_a_line_for_each_link(lines):
    (ax,) = lines.figure.axes
    assert [list(line.get_ydata()) for line in ax.lines] == [[100, 50, 25], [100, 100, 96]]
    looks = {(line.get_marker(), line.get_linestyle(), line.get_color()) for line in ax.lines}
    assert len(looks) == 2 and [t.get_text() for t in ax.get_xticklabels()] == ["1", "2", "1,024"]
    assert lines.alt == (
        "slow: 50 % at 2, 25 % at 1,024 devices. fast: 100 % at 2, 96 % at 1,024 devices."
    )


def test_more_links_than_looks_are_refused():
    with pytest.raises(ValueError, match="5 links are too many: give up to 4"):
        distributed.efficiency([1], {str(n): [1] for n in range(5)}, "Five")


@pytest.mark.parametrize("name", ["timelines", "lines"])
def test_they_are_drawn_and_read_on_light_and_dark(name, request):
    picture = request.getfixturevalue(name)
    image = Image.open(io.BytesIO(picture.png())).convert("RGBA")
    assert image.getpixel((0, 0))[3] == 0 and 700 < image.width < 1800
    for text in picture.figure.findobj(Text):
        if text.get_text().strip():
            for background in ("#ffffff", "#111111"):
                assert contrast(text.get_color(), background) > 4, text.get_text()
