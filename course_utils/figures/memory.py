"""Where the bytes of a training step are, counted and measured."""

import numpy as np

from course_utils.figures.base import INK, Picture, canvas, legend, legend_below, panels
from course_utils.figures.looks import bar_look, line_look


def alive(lines: dict) -> Picture:
    """MB of arrays that are alive while each operation of a step runs, a line a policy.

    `lines`: policy to the MB in the order of the operations; the highest point of each
    is marked. Policies may have different numbers of operations.
    """
    figure, ax = canvas(width=8.0, height=3.4)
    words = []
    for policy, mb in lines.items():
        part = np.linspace(0, 100, len(mb))
        look = line_look(policy) | {"marker": ""}
        ax.plot(part, mb, label=policy, **look)
        top = int(np.argmax(mb))
        at = (part[top], mb[top])
        ax.plot(*at, line_look(policy)["marker"], color=look["color"], markersize=8)
        place = {"xytext": (6, 4), "textcoords": "offset points", "fontsize": 9}
        ax.annotate(f"{mb[top]:.1f} MB", at, color=INK, **place)
        words.append(
            f"{policy} has its peak of {mb[top]:.1f} MB after {part[top]:.0f} % of the "
            "operations"
        )
    tops = [max(mb) for mb in lines.values()]
    share = f": at the peak {tops[-1] / tops[0]:.2f} times" if len(tops) > 1 else ""
    ax.set_title(f"Arrays that are alive in a step{share}")
    ax.set(xlabel="operations that have run (%)", ylabel="MB", ylim=(0, None))
    ax.margins(y=0.15)
    legend(ax)
    return Picture(figure, "; ".join(words) + ".")


def peak_parts(measured) -> Picture:
    """The counted and the measured peak of a step: a panel for each batch, two policies
    in each.

    `measured`: the DataFrame of `profiling.peaks`. A bar stacks the medians of the
    variables, the arrays and the working space. Beside it are the medians of what the
    step asked for and of what the allocator gave, each with its range over the builds.
    """
    batches = list(dict.fromkeys(measured["batch"]))
    figure, axes = panels(len(batches), width=8.4, height=3.9)
    words = []
    shares = []
    for ax, batch in zip(axes, batches, strict=True):
        here = measured[measured["batch"] == batch]
        policies = list(dict.fromkeys(here["policy"]))
        for place, policy in enumerate(policies):
            own = here[here["policy"] == policy].drop(columns=["policy", "batch"])
            middle = own.median()
            working = 0 if np.isnan(middle["working"]) else middle["working"]
            arrays = middle["counted"] - middle["variables"]
            stack = (
                ("variables", middle["variables"], {"color": "#999999"}),
                ("arrays alive, counted", arrays, bar_look(policy)),
                ("working space", working, {"color": "#F0E442", "hatch": "xx"}),
            )
            bottom = 0
            for label, mb, look in stack:
                ax.bar(
                    place - 0.12,
                    mb,
                    0.5,
                    bottom,
                    label=label,
                    **look | {"edgecolor": INK},
                )
                bottom += mb
            for shift, column, label, marker in (
                (0.26, "asked", "asked for, measured", "D"),
                (0.42, "given", "given by the allocator", "^"),
            ):
                low, high = own[column].min(), own[column].max()
                ax.plot(2 * [place + shift], [low, high], color=INK, linewidth=1.5)
                ax.plot(place + shift, middle[column], marker, color=INK, label=label)
            shares.append(bottom / middle["asked"])
            words.append(
                f"batch {batch}, {policy}: counted {middle['counted']:.0f} MB, working "
                f"space {working:.0f}, asked {own['asked'].min():.0f} to "
                f"{own['asked'].max():.0f}, given {own['given'].min():.0f} to "
                f"{own['given'].max():.0f}"
            )
        names = [name.replace("mixed_", "mixed_\n") for name in policies]
        ax.set_xticks(range(len(policies)), names, fontsize=9)
        ax.set(xlim=(-0.5, len(policies) - 0.4), ylim=(0, None))
        ax.set_title(f"batch {batch}", fontsize=10)
        ax.margins(y=0.1)
    axes[0].set_ylabel("peak of a step (MB)")
    found = np.array(shares)[np.isfinite(shares)]
    figure.suptitle(
        f"Count and working space are {found.min():.2f} to {found.max():.2f} of what "
        "was asked for"
        if len(found)
        else "Counted: this device's allocator does not tell what it gave",
        color=INK,
    )
    handles, labels = axes[0].get_legend_handles_labels()
    shown = dict(zip(labels[:5], handles[:5], strict=True))
    legend_below(figure, 3, handles=shown.values(), labels=shown.keys())
    return Picture(figure, "; ".join(words) + ".")
