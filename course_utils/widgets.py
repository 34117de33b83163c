"""ipywidgets panels for what needs the kernel; core widgets of ipywidgets 7.7 and 8
only.
"""

from collections.abc import Callable

import ipywidgets
from IPython.display import Markdown, display

# An output of its own above each panel: it stays where a restart has taken the panel.
NEEDS_THE_KERNEL = Markdown(
    "<small>The controls need the kernel: after a restart, run this cell again.</small>"
)


def interact(**controls: object) -> Callable[[Callable], Callable]:
    """`ipywidgets.interact`, with controls that are never wider than the page, as on a
    phone.

    Example: `@interact(format=["float16", "bfloat16"])` above a function of `format`.
    """

    def show(function):
        panel = ipywidgets.interactive(function, **controls)
        for control in panel.kwargs_widgets:
            control.layout.max_width = "calc(100% - 4px)"  # and margins of 2 px
        display(NEEDS_THE_KERNEL, panel)
        return function

    return show


def sliders(
    points: dict[int, int],
    low: int,
    high: int,
    show: Callable[[dict[int, int]], object],
    name: str = "",
) -> ipywidgets.VBox:
    """Upright sliders for a curve, {place: whole number}, above what `show` makes of
    it.

    `show({place: value})` returns what to display; it is called at once and after each
    move. What the controls need is displayed at once, above what is returned.

    Example: `sliders({10: 5, 20: 5}, 0, 9, lambda values: values, "step")`.
    """
    look = {"orientation": "vertical", "continuous_update": False}
    # so that six stand in a row on a phone
    look["layout"] = ipywidgets.Layout(width="40px")
    row = {
        str(at): ipywidgets.IntSlider(value, low, high, description=str(at), **look)
        for at, value in points.items()
    }

    def redraw(**values):
        display(show({at: values[str(at)] for at in points}))

    output = ipywidgets.interactive_output(redraw, row)
    display(NEEDS_THE_KERNEL)
    above = [ipywidgets.Label(name), ipywidgets.HBox(list(row.values()))]
    return ipywidgets.VBox([*above, output])
