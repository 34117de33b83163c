"""Time, memory and loss of three policies on one machine."""

from typing import TYPE_CHECKING

from course_utils.figures.base import INK, Picture, legend, name_all, panels
from course_utils.figures.looks import bar_looks, line_look
from course_utils.figures.series import around_one, beside
from course_utils.figures.words import described, or_unknown

if TYPE_CHECKING:
    from course_utils.benchmark.compare import Comparison

RATIO = ["speedup", "speedup_low", "speedup_high"]  # columns


def draw_policies(comparison: "Comparison", guess: float | None = None) -> Picture:
    """Time, memory and loss of compared policies: a panel each, and in the first
    two a row for each policy.

    Beside a bar of speed stands the median of the paired ratios to float32 and the
    interval, drawn as a line; its axis is logarithmic. The dashed line is a guess of
    the better speedup. What is NaN is called unknown.
    """
    table = comparison.table
    rows = range(len(table))
    figure, axes = panels(1, 6.6, 6.0, rows=3, height_ratios=(5, 4, 4))
    time, memory, loss = axes
    looks = bar_looks(table.index)
    time.barh(rows, table["speedup"] - 1, 0.66, left=1, **looks)
    time.hlines(rows, *table[RATIO[1:]].T.to_numpy(), color=INK, linewidth=2)
    memory.barh(rows, table["peak_mb"].fillna(0), 0.66, **looks)
    names = []
    for y, (name, row) in enumerate(table.iterrows()):
        names.append(f"{name}\n{or_unknown(row['step_ms'], '{:.3g} ms a step')}")
        speed = or_unknown(row["speedup"], "{:.2f}×")
        if not row[RATIO].isna().any():
            speed += "\n({:.2f} to {:.2f})".format(*row[RATIO[1:]])
        beside(time, y, "1×" if name == "float32" else speed)
        beside(memory, y, or_unknown(row["peak_mb"], "{:.0f} MB"))
    around_one(time, [*table[RATIO].to_numpy(float).ravel(), guess or 1.0])
    name_all(time.yaxis, names)
    time.set_ylim(len(table) - 0.4, -0.6)
    name_all(memory.yaxis, table.index)
    memory.invert_yaxis()
    memory.set_xlim(0, None)
    if table["peak_mb"].isna().all():
        memory.set_xticks([])
    _losses(loss, comparison.steps)
    dashes = ""
    if guess is not None:
        dashes = " (dashed: your guess)"
        time.axvline(guess, color=INK, linestyle="--", linewidth=1.5)
    where = f"(batch {comparison.batch_size} on {comparison.device})"
    look = {"fontsize": 10, "loc": "left"}
    time.set_title(f"Time: speed of a step against float32{dashes}", pad=18, **look)
    memory.set_title("Memory: peak of a step, in MB", **look)
    loss.set_title(f"Loss of each step {where}", **look)
    figure.suptitle(_verdict(table, guess), size=13)
    return described(figure)


def _losses(ax, steps):
    """A line for each policy, named with its mean over the last quarter of the rounds."""
    if steps.empty:
        return
    late = steps[steps["round"] >= 0.75 * (steps["round"].max() + 1) - 1]
    last = late.groupby("policy")["loss"].mean()
    for number, (policy, own) in enumerate(steps.groupby("policy", sort=False)):
        look = line_look(policy) | {"marker": "" if len(own) > 9 else "o"}
        # the later ones are thinner: where all lie on one another, each is seen
        look["linewidth"] = max(1.2, 5 - 1.6 * number)
        label = f"{policy}\nlast quarter: {or_unknown(last[policy], '{:.3f}')}"
        ax.plot(own["round"] + 1, own["loss"], label=label, **look)
    legend(ax, loc="center left", bbox_to_anchor=(1.01, 0.5))
    ax.margins(y=0.1)
    ax.set_ylim(0, None)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("step")


def _verdict(table, guess):
    """What the better policy's ratio to float32 says, below what was guessed."""
    speed = table["speedup"].filter(like="mixed_")
    title = "Not measured"
    if speed.notna().any():
        better = speed.idxmax()
        verdict = table["verdict"][better]
        times = f"{speed[better]:.2f}×"
        if verdict == better:
            title = f"{better} is faster than float32: {times}"
        elif verdict == "float32":
            title = f"{better} is slower than float32: {times}"
        elif verdict == "cannot tell":
            title = f"{better}: {times}, and this run cannot tell more"
        else:
            title = f"{better} and float32: {verdict}"
    return title if guess is None else f"You guessed {guess:g}×\n{title}"
