"""The bars of a slow training, repair by repair."""

from collections.abc import Sequence

from IPython.display import display

from course_utils import figures, profiling
from course_utils.lessons.nb05.slow_training import colleague

_recordings: dict = {}  # traces by the repairs made until then


def show_repairs(repairs: Sequence[str]) -> None:
    """Draws a bar for the step as it was and one after each repair, and lists the five
    longest operations of the newest.

    What was recorded once is not recorded again.

    Example:
        show_repairs(["graph"])
    """
    rows = {}
    for number in range(len(repairs) + 1):
        made = tuple(repairs[:number])
        if made not in _recordings:
            step = colleague(made)
            traces = profiling.record_in_turns({"step": step}, steps=4, seconds=1)
            _recordings[made] = traces["step"]
        name = f"{number}. {made[-1]}" if made else "as it was"
        rows[name] = profiling.budget(_recordings[made])
    ms = [f"{sum(row.values()):.0f} ms" for row in rows.values()]
    ends = ms if len(ms) == 1 else [ms[0], ms[-1]]
    title = f"{len(repairs)} repairs: {' → '.join(ends)} a step"
    display(figures.time_budget(rows, title))
    print(*(f"{part} {ms:.1f} ms" for part, ms in rows[name].items()))
    longest = profiling.op_times(_recordings[made]).head(5)
    print(longest.round(2).to_string(index=False))
