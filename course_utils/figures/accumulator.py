"""What the dtype of an accumulator costs in a long sum of products."""

from course_utils.figures.base import COLORS, INK, LINES, MARKERS, Picture, canvas, legend


def accumulator_errors(table, title: str = "Long sums need a wide accumulator") -> Picture:
    """Lines: the error of D = A·B + C against the number of products in a sum, for each rule.

    Args:
        table: a DataFrame with the columns values (a panel for each), k (products in a sum), rule
            (the words beside the line), accumulator and result (their dtypes), and error
            (relative, in the norm).
        title: stands above the panels.

    Raises:
        ValueError: the table has no row.

    Example:
        figures.accumulator.accumulator_errors(table)
    """
    if not len(table):
        raise ValueError("The table has no error to draw: give it at least one row.")
    panels = list(table.groupby("values", sort=False))
    figure, axes = canvas(len(panels), width=8.0, height=3.6, sharey=True, squeeze=False)
    words = []
    for ax, (values, rows) in zip(axes[0], panels, strict=True):
        for rule, line in rows.groupby("rule", sort=False):
            accumulator, result = line["accumulator"].iloc[0], line["result"].iloc[0]
            color, style = COLORS[accumulator], LINES[result]
            look = {"color": color, "linestyle": style, "marker": MARKERS[result]}
            ax.plot(line["k"], line["error"], label=rule, markersize=5, **look)
            ends = f"{line['error'].iloc[0]:.1g} at K = {line['k'].iloc[0]:,}"
            ends += f" to {line['error'].iloc[-1]:.1g} at K = {line['k'].iloc[-1]:,}"
            words.append(f"{values}, {rule}: from {ends}")
        ax.set(xscale="log", yscale="log", xlabel="K, products in one sum")
        ax.set_xticks(sorted(set(rows["k"])), [f"{k:,}" for k in sorted(set(rows["k"]))])
        ax.tick_params(axis="x", labelsize=8, which="minor", bottom=False)
        ax.set_title(values, color=INK, fontsize=10)
    axes[0][0].set_ylabel("relative error of D")
    figure.suptitle(title, color=INK, fontsize=11)
    legend(axes[0][0], fontsize=8)
    return Picture(figure, "; ".join(words) + ".")
