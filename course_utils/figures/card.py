"""The report card: guessed and predicted beside measured, whatever the unit."""

from course_utils.figures.base import INK, Picture, canvas, legend_below

LOOKS = {"guess": ("#E69F00", "D"), "predicted": ("#0072B2", "o")}
PLACES = {"guess": 1.04, "predicted": 1.19, "measured": 1.38}  # of the numbers, in axes
# times too much or too little; what is farther out stands at the edge, as an arrow
FARTHEST = 4


def report_card(card: list[dict]) -> Picture:
    """A line for each quantity: how far what was guessed and predicted lies from the
    measured.

    `card`: dicts with quantity, unit, guess, predicted and measured, each a number or
    None. On the logarithmic axis 1 is what was measured; without it a line has its
    numbers alone.
    """
    figure, ax = canvas(8.0, 1.5 + 0.46 * len(card))
    ax.set_xscale("log", base=2)
    ax.axvline(1, color=INK, linewidth=1.5)
    words = []
    marked = set()
    for y, row in enumerate(card):
        said = {key: _number(row[key], row["unit"]) for key in PLACES}
        said["measured"] = said["measured"] or "unknown"
        for key, (color, marker) in LOOKS.items():
            if not row[key] or not row["measured"]:
                continue
            times = row[key] / row["measured"]
            at = min(max(times, 1 / FARTHEST), FARTHEST)
            shape = marker if at == times else "<>"[times > 1]
            label = None if key in marked else {"guess": "your guess"}.get(key, key)
            marked.add(key)
            ax.plot([1, at], [y, y], color=color, linewidth=2, alpha=0.6)
            ax.plot(
                at,
                y,
                shape,
                color=color,
                markersize=9,
                markeredgecolor=INK,
                label=label,
            )
        for key, place in PLACES.items():
            ax.text(
                place,
                y,
                said[key],
                transform=ax.get_yaxis_transform(),
                color=INK,
                va="center",
            )
        known = (
            f"{'guessed' if key == 'guess' else key} {said[key]}"
            for key in said
            if said[key]
        )
        words.append(f"{row['quantity']}: {', '.join(known)}")
    for key, place in PLACES.items():
        ax.text(place, 1.02, key, transform=ax.transAxes, color=INK, fontweight="bold")
    ticks = [1 / FARTHEST, 0.5, 1, 2, FARTHEST]
    ax.set_xticks(ticks, ["¼", "½", "measured", "2 ×", "4 ×"])
    ax.minorticks_off()
    ax.set_yticks(range(len(card)), [row["quantity"] for row in card])
    ax.set(xlim=(0.92 / FARTHEST, 1.09 * FARTHEST), ylim=(len(card) - 0.4, -0.6))
    ax.set_title("How far from what was measured", loc="left", color=INK)
    ax.grid(axis="x", color=INK, alpha=0.25)
    if marked:
        legend_below(figure, len(marked))
    return Picture(figure, "; ".join(words) + ".")


def _number(value, unit):
    """A value with its unit: "1.53 ×"; nothing for None."""
    return "" if value is None else f"{value:.3g} {unit}"
