"""Progress bars that leave nothing in a notebook when they are done, and the share of
its time that a measurement takes.
"""

import os

from tqdm import auto, notebook

VIEW = "application/vnd.jupyter.widget-view+json"


class tqdm(auto.tqdm):
    """`tqdm.auto.tqdm`, whose output in a notebook is empty once it is closed.

    The view of a bar that was closed is kept in the notebook's file; opened again, or
    without a kernel, it would read "Error displaying widget: model not found".

    Example:
        >>> list(tqdm(range(2), desc="demo"))
        [0, 1]
    """

    def __init__(self, *arguments: object, **options: object):
        self._output = None
        if issubclass(auto.tqdm, notebook.tqdm):
            options["display"] = False
        super().__init__(*arguments, **{"leave": False, **options})
        if not self.disable and hasattr(self, "container"):
            from IPython.display import display

            # A widget of ipywidgets 7 would display itself, and take no display_id.
            view = {"version_major": 2, "version_minor": 0}
            view["model_id"] = self.container.model_id
            bundle = {VIEW: view, "text/plain": repr(self.container)}
            self._output = display(bundle, raw=True, display_id=True)

    def close(self) -> None:
        super().close()
        output, self._output = self._output, None
        if output:
            output.update({"text/html": ""}, raw=True)


def pace() -> float:
    """The share of its time that each measurement takes: 1, or what COURSE_PACE says.

    Whoever rehearses a lesson, or tests the course, waits less so; intervals are wider.
    ValueError says what COURSE_PACE may be.

    Example:
        >>> pace()
        1.0
    """
    text = os.environ.get("COURSE_PACE") or "1"
    if text.replace(".", "", 1).isdigit() and 0 < float(text) <= 1:
        return float(text)
    raise ValueError(f"COURSE_PACE is {text!r}: give it a number from 0.1 to 1.")
