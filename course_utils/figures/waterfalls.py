"""From the best possible time to the measured one, and predictions beside the clock."""

from course_utils.figures.base import INK, Picture, legend, panels
from course_utils.figures.looks import EDGE, bar_look, line_look
from course_utils.figures.traces import BUDGET

PARTS = {"products": "products", "other": "other\noperations", "launch": "starting"}
REST = ("#dddddd", "xx")  # color and hatch of what nothing explains


def waterfall(falls: dict, title: str) -> Picture:
    """The way from the best possible time of a step to the measured one, a panel for
    each policy.

    `falls`: {policy: (best, predicted, measured)}, where best is the `budget` of a
    `roofline.Floor`, predicted what `profiling.forecast` returns, and measured one
    number; all in ms. A bar for each part says what it adds to the best possible time;
    the last but one is what remains to the measured time, to the left where the
    prediction was too long.

    Example: `waterfall({"float32": ({"products": 3, "other": 1}, {"products": 5,
    "other": 2, "launch": 1}, 9)}, "One step")`.
    """
    figure, axes = panels(len(falls), height=3.2, sharey=True, sharex=True)
    words = []
    longest = 0.0
    for ax, (policy, (best, predicted, measured)) in zip(
        axes, falls.items(), strict=True
    ):
        least = sum(best.values())
        steps = {"best possible": (0.0, least, bar_look(policy))}
        end = least
        for part, name in PARTS.items():
            color, hatch = BUDGET[part]
            more = predicted[part] - best.get(part, 0.0)
            steps[name] = (end, more, {"color": color, "hatch": hatch, **EDGE})
            end += more
        rest = {"color": REST[0], "hatch": REST[1], **EDGE}
        steps["not explained"] = (end, measured - end, rest)
        steps["measured"] = (0.0, measured, bar_look(policy))
        for at, (start, more, look) in enumerate(steps.values()):
            ax.barh(at, more, 0.66, left=start, **look)
            sign = "" if start == 0 else "+" if more >= 0 else "−"
            label = f"{sign}{abs(more):.3g}"
            right = max(start, start + more)
            ax.text(right, at, f" {label}", color=INK, va="center", fontsize=9)
        ax.set_yticks(range(len(steps)), list(steps), fontsize=9)
        ax.set(xlabel="ms", title=policy)
        ends = [start + more for start, more, _ in steps.values()]
        longest = max(longest, *ends)
        told = ", ".join(
            f"{name} {more:.3g}".replace("\n", " ")
            for name, (_, more, _) in steps.items()
        )
        words.append(f"{policy}: {told} ms")
    axes[0].set_xlim(0, 1.18 * longest)
    axes[0].invert_yaxis()
    figure.suptitle(title, color=INK)
    return Picture(figure, "; ".join(words) + ".")


def forecasts(table, title: str = "Predicted over measured") -> Picture:
    """Each prediction divided by the measured time; 1 is right.

    `table`: a DataFrame with the columns device, case, policy and ratio. A panel for
    each device, a row for each case, a marker for each policy. The band is 15 % to both
    sides.

    Example: `forecasts(profiling.recorded_forecasts())`.
    """
    devices = list(dict.fromkeys(table["device"]))
    cases = list(dict.fromkeys(table["case"]))
    figure, axes = panels(
        len(devices), height=1.6 + 0.3 * len(cases), sharey=True, sharex=True
    )
    words = []
    for ax, device in zip(axes, devices, strict=True):
        ax.axvspan(0.85, 1.15, color="#00000018", linewidth=0)
        ax.axvline(1, color=INK, linewidth=1)
        here = table[table["device"] == device]
        for policy, group in here.groupby("policy", sort=False):
            look = line_look(policy) | {"linestyle": "none"}
            rows = [cases.index(case) for case in group["case"]]
            ax.plot(group["ratio"], rows, label=policy, **look)
        ax.set_title(device, fontsize=10)
        ax.set(xlabel="predicted / measured")
        ax.set_yticks(range(len(cases)), cases, fontsize=9)
        told = ", ".join(
            f"{row.case} {row.policy} {row.ratio:.2f}" for row in here.itertuples()
        )
        words.append(f"{device}: {told}")
    axes[0].invert_yaxis()
    legend(axes[-1], fontsize=9)
    figure.suptitle(title, color=INK)
    return Picture(figure, "; ".join(words) + ".")
