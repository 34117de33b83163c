"""The figure of notebook 10: what was predicted beside what was measured."""

from course_utils.figures.base import (
    INK,
    Picture,
    canvas,
    legend_below,
    name_all,
    write,
)

LOOKS = {
    "guess": ("#E69F00", "D", "your guess"),
    "predicted": ("#0072B2", "o", "predicted"),
}
PLACES = {"guess": 1.04, "predicted": 1.19, "measured": 1.38}  # of the numbers, in axes
# times too much or too little; what is farther out stands at the edge, as an arrow
FARTHEST = 4


def draw_report_card(card: list[dict]) -> Picture:
    """A line for each quantity: how far what was guessed and predicted lies from the
    measured.

    `card`: dicts with quantity, unit, guess, predicted and measured, each a number or
    None. On the logarithmic axis 1 is what was measured; without it a line has its
    numbers alone.
    """
    figure, ax = canvas(8.0, 1.5 + 0.46 * len(card))
    ax.set_xscale("log", base=2)
    ax.axvline(1, color=INK, linewidth=1.5)
    beside = {"transform": ax.get_yaxis_transform(), "ha": "left", "fontsize": 10}
    words = []
    for y, row in enumerate(card):
        numbers = {
            key: f"{row[key]:.3g} {row['unit']}"
            for key in PLACES
            if row[key] is not None
        }
        numbers.setdefault("measured", "unknown")
        for key, text in numbers.items():
            write(ax, PLACES[key], y, text, **beside)
        summary = ", ".join(f"{key} {text}" for key, text in numbers.items())
        words.append(f"{row['quantity']}: {summary}")
        for key, (color, marker, label) in LOOKS.items():
            if row[key] and row["measured"]:
                times = row[key] / row["measured"]
                at = min(max(times, 1 / FARTHEST), FARTHEST)
                shape = marker
                if at != times:
                    shape = ">" if times > 1 else "<"
                ax.plot([1, at], [y, y], color=color, linewidth=2, alpha=0.6)
                look = {"color": color, "markersize": 9, "markeredgecolor": INK}
                ax.plot(at, y, shape, label=label, **look)
    for key, place in PLACES.items():
        ax.text(place, 1.02, key, transform=ax.transAxes, fontweight="bold")
    ticks = [1 / FARTHEST, 0.5, 1, 2, FARTHEST]
    ax.set_xticks(ticks, ["¼", "½", "measured", "2 ×", "4 ×"])
    ax.minorticks_off()
    name_all(ax.yaxis, [row["quantity"] for row in card], fontsize=10)
    ax.set(xlim=(0.92 / FARTHEST, 1.09 * FARTHEST), ylim=(len(card) - 0.4, -0.6))
    ax.set_title("How far from what was measured", loc="left")
    ax.grid(axis="x", color=INK, alpha=0.25)
    legend_below(figure, len(LOOKS))
    return Picture(figure, "; ".join(words) + ".")
