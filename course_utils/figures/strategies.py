"""The strategies in one picture: who holds the weights, what is cut, what crosses between."""

from matplotlib.patches import FancyBboxPatch, Rectangle

from course_utils.figures.base import COLORS, INK, Picture, canvas

BATCH = 64
GRADIENT = "#E69F00"  # no dtype's color
# In inches: a panel and the room between two; how far a process and the replicas stand from
# the border of what is around them.
PANEL, GAP, INSET = (3.1, 2.62), (0.3, 0.25), 0.1
# Heights below a panel's top: its second line; the tops of the machine, of the process, of the
# batch and of the replicas; the line on which the gradients meet.
FITS, MACHINE, PROCESS, STRIP, REPLICA, MEET = -0.2, -0.33, -0.54, -0.95, -1.31, -2.2
THICK, TALL, WIDEST = 0.13, 0.56, 1.25  # the batch; a replica; how wide one may be
WORKER = 1.75  # how tall a machine is that has others beside it
TITLE = "Each device holds all the weights and takes a part of the batch"
NAMES = ("No strategy", "MirroredStrategy", "MultiWorkerMirroredStrategy", "TPUStrategy")


def strategies() -> Picture:
    """Four panels: one device, `MirroredStrategy`, `MultiWorkerMirroredStrategy`, `TPUStrategy`.

    A dashed border is a machine and a solid one a process. The hatched strip is the batch of 64
    pictures, cut where replicas share it. A full bar is a copy of the weights. Orange arrows are
    gradients: they go down to a line and come back as one sum. The numbers are an example: a
    machine may have more devices, and a TPU one core or thousands.

    Example:
        >>> strategies().alt.split(";")[0]
        'No strategy: one machine, one process, one device with the weights and all 64 pictures'
    """
    width, height = (2 * side + gap for side, gap in zip(PANEL, GAP, strict=True))
    figure, ax = canvas(width=width + 0.1, height=height + 0.4)
    ax.set(xlim=(-0.02, width + 0.02), ylim=(-height - 0.02, 0.12), aspect="equal")
    ax.set_axis_off()
    ax.set_title(TITLE, color=INK, fontsize=11)
    right, low = PANEL[0] + GAP[0], -PANEL[1] - GAP[1]
    _one_machine(ax, 0, 0, NAMES[0], "one device", ["device"])
    _one_machine(ax, right, 0, NAMES[1], "several devices in one machine", ["device 0", "device 1"])
    _many_machines(ax, 0, low, NAMES[2], "several machines, listed in TF_CONFIG")
    cores = [f"core {i}" for i in range(4)]
    _one_machine(ax, right, low, NAMES[3], "a TPU, here with four cores", cores)
    return Picture(figure, " ".join(_told()))


def _one_machine(ax, x, y, name, fits, replicas):
    """A panel with one process, whose replicas exchange their gradients inside of it."""
    _titles(ax, x, y, name, fits)
    _border(ax, x, y + MACHINE, PANEL[0], PANEL[1] + MACHINE, "one machine", linestyle="--")
    process = PANEL[0] - 2 * INSET
    _border(ax, x + INSET, y + PROCESS, process, PANEL[1] + PROCESS - INSET, "one process")
    each = (process - 2 * INSET) / len(replicas)
    middles = [x + 2 * INSET + (i + 0.5) * each for i in range(len(replicas))]
    for middle, replica in zip(middles, replicas, strict=True):
        _replica(ax, middle, y, each - 0.1, replica, BATCH // len(replicas))
    if len(replicas) == 1:
        _write(ax, middles[0], y + MEET, "gradients stay here", va="center")
    else:
        _meet(ax, middles, y + REPLICA - TALL, y + MEET, "gradients are added up")


def _many_machines(ax, x, y, name, fits):
    """A panel with two machines, whose processes exchange their gradients over the network."""
    _titles(ax, x, y, name, fits)
    each = (PANEL[0] - 2 * INSET) / 2
    middles = []
    for worker in (0, 1):
        left = x + worker * (each + 2 * INSET)
        _border(ax, left, y + MACHINE, each, WORKER, f"machine {worker}", linestyle="--")
        process = each - 2 * INSET
        tall = WORKER + PROCESS - MACHINE - INSET
        _border(ax, left + INSET, y + PROCESS, process, tall, "one process")
        middles.append(left + each / 2)
        _replica(ax, middles[-1], y, process - 2 * INSET, "device", BATCH // 2)
    meet = y + MACHINE - WORKER - 0.11
    _meet(ax, middles, y + REPLICA - TALL, meet, "network: gradients are added up")


def _titles(ax, x, y, name, fits):
    _write(ax, x, y, name, ha="left", va="center", fontsize=11, fontweight="bold")
    _write(ax, x, y + FITS, fits, ha="left", va="center")


def _border(ax, x, top, width, height, name, **options):
    style = {"boxstyle": "round,pad=0,rounding_size=0.06", "facecolor": "none", "edgecolor": INK}
    corner = (x, top - height)
    ax.add_patch(FancyBboxPatch(corner, width, height, linewidth=1.1, **style, **options))
    _write(ax, x + 0.07, top - 0.11, name, ha="left", va="center")


def _replica(ax, x, y, width, name, pictures):
    """A part of the batch around x, and below it the device that computes with it."""
    words = "all 64 pictures" if pictures == BATCH else f"{pictures} pictures"
    words = words if width > 0.9 else str(pictures)  # a core is narrow
    _write(ax, x, y + STRIP + 0.04, words, va="bottom")
    corner = (x - width / 2, y + STRIP - THICK)
    ax.add_patch(Rectangle(corner, width, THICK, facecolor="none", edgecolor=INK, hatch="////"))
    style = {"arrowstyle": "->", "color": INK, "shrinkA": 0, "shrinkB": 1}
    ax.annotate("", (x, y + REPLICA), (x, y + STRIP - THICK), arrowprops=style)
    width = min(width, WIDEST)
    _border(ax, x - width / 2, y + REPLICA, width, TALL, "")
    _write(ax, x, y + REPLICA - 0.12, name, va="center")
    wide = min(width - 0.12, 0.9)
    bar = (x - wide / 2, y + REPLICA - 0.34)
    ax.add_patch(Rectangle(bar, wide, 0.12, facecolor=COLORS["float32"], linewidth=0))
    _write(ax, x, y + REPLICA - 0.45, "weights", va="center")


def _meet(ax, middles, top, y, words):
    """Broad arrows between the replicas and the line on which their gradients are added up."""
    ax.plot([middles[0], middles[-1]], [y, y], color=GRADIENT, linewidth=3)
    for x in middles:
        style = {"arrowstyle": "<|-|>", "color": GRADIENT, "linewidth": 2, "mutation_scale": 11}
        ax.annotate("", (x, top), (x, y), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})
    _write(ax, (middles[0] + middles[-1]) / 2, y - 0.05, words, va="top")


def _write(ax, x, y, text, ha="center", fontsize=9, **options):
    ax.text(x, y, text, ha=ha, color=INK, fontsize=fontsize, **options)


def _told():
    yield (
        f"{NAMES[0]}: one machine, one process, one device with the weights and all 64 pictures; "
        "the gradients stay there."
    )
    yield (
        f"{NAMES[1]}: one machine, one process, two devices; each has a copy of the weights and "
        "32 of the 64 pictures; their gradients are added up within the process."
    )
    yield (
        f"{NAMES[2]}: two machines, listed in TF_CONFIG, with one process each; each has a copy "
        "of the weights and 32 pictures; the gradients are added up over the network."
    )
    yield (
        f"{NAMES[3]}: one machine, one process, four cores; each has a copy of the weights and 16 "
        "pictures; their gradients are added up within the process."
    )
