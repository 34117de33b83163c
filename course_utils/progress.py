"""Progress bars that leave nothing in a notebook when they are done."""

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

    def __init__(self, *arguments, **options):
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
