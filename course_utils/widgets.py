"""ipywidgets panels for what needs the kernel; core widgets of ipywidgets 7.7 and 8
only.
"""

import time

import ipywidgets
import keras
from IPython.display import display

from course_utils import figures

REDRAW_SECONDS = 0.5
# Read below a panel that an earlier session has left in the page.
NEEDS_THE_KERNEL = (
    "<small>The controls need the kernel: after a restart, run this cell again.</small>"
)


class TrainingPanel(keras.callbacks.Callback):
    """A live view of `fit`: progress bar, loss and accuracy curves, and the loss scale.

    Show `panel.box`, pass the panel to `fit` as a callback, and call `fit` inside `with
    panel:`; an interrupt of the kernel then ends training and keeps everything. (A stop
    button could not work: clicks are handled after the cell has ended.) Training ends
    after `seconds` even if epochs are left. `history` has a dict per step: step, loss
    and accuracy of this batch (Keras reports means since the epoch's start; batches are
    of one size), and loss_scale where there is one; `interrupted` tells whether an
    interrupt ended it.

    Example: `with (panel := TrainingPanel(20)): model.fit(x, y, callbacks=[panel],
    verbose=0)`.
    """

    def __init__(self, seconds: float):
        super().__init__()
        self.seconds = seconds
        self.history = []
        self.interrupted = False
        self._summed = {}  # loss and accuracy of this epoch's batches, added up
        self._bar = ipywidgets.FloatProgress(min=0, max=1, description="training")
        self._text = ipywidgets.Label("not started")
        self._image = ipywidgets.Image(
            format="png", layout=ipywidgets.Layout(max_width="720px")
        )
        self.box = ipywidgets.VBox(
            [ipywidgets.HBox([self._bar, self._text]), self._image]
        )

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not KeyboardInterrupt:
            return False
        self.interrupted = True
        self._finish("stopped by you")
        print(
            f"You stopped the training after {len(self.history)} steps; they are kept."
        )
        return True

    def on_train_begin(self, logs=None):
        self.history.clear()
        self.interrupted = False
        self._start = time.perf_counter()
        self._next_draw = self._start + REDRAW_SECONDS
        self._bar.value = 0

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        summed = {key: float(mean) * (batch + 1) for key, mean in (logs or {}).items()}
        before, self._summed = self._summed if batch else {}, summed
        row = {"step": len(self.history) + 1}
        row |= {key: value - before.get(key, 0.0) for key, value in summed.items()}
        scale = getattr(self.model.optimizer, "dynamic_scale", None)
        if scale is not None:
            row["loss_scale"] = float(keras.ops.convert_to_numpy(scale))
        self.history.append(row)
        now = time.perf_counter()
        if self._is_late():
            self.model.stop_training = True
        if now >= self._next_draw:
            self._bar.value = self._progress(batch, now)
            self._show(f"epoch {self._epoch + 1}, step {row['step']}")
            # Where drawing is slow it takes at most a fifth of the time.
            drawn = time.perf_counter()
            self._next_draw = drawn + max(REDRAW_SECONDS, 4 * (drawn - now))

    def on_train_end(self, logs=None):
        self._finish("time is up" if self._is_late() else "done")

    def _progress(self, batch, now):
        """The share that is done: of the epochs, or of the time if that is further on."""
        steps = self.params.get("steps") or 0
        share = (
            (self._epoch + (batch + 1) / steps) / self.params["epochs"] if steps else 0
        )
        return min(1.0, max(share, (now - self._start) / self.seconds))

    def _is_late(self):
        return time.perf_counter() - self._start >= self.seconds

    def _finish(self, state):
        self._bar.value = self._bar.value if self.interrupted else 1
        self._show(f"{state} after {len(self.history)} steps")

    def _show(self, state):
        last = self.history[-1] if self.history else {}
        forms = {"loss": ".4f", "accuracy": ".4f", "loss_scale": "g"}
        told = [
            f"{k.replace('_', ' ')} {last[k]:{form}}"
            for k, form in forms.items()
            if k in last
        ]
        self._text.value = " · ".join([state, *told])
        if self.history:
            self._image.value = figures.training(self.history).png()


def interact(**controls):
    """`ipywidgets.interact`, with controls that are never wider than the page, as on a
    phone.

    Example: `@interact(format=["float16", "bfloat16"])` above a function of `format`.
    """

    def show(function):
        panel = ipywidgets.interactive(function, **controls)
        for control in panel.kwargs_widgets:
            control.layout.max_width = "calc(100% - 4px)"  # and margins of 2 px
        panel.children += (ipywidgets.HTML(NEEDS_THE_KERNEL),)
        display(panel)
        return function

    return show


def sliders(points: dict, low: int, high: int, show, name: str = "") -> ipywidgets.VBox:
    """Upright sliders for a curve, {place: whole number}, above what `show` makes of
    it.

    `show({place: value})` returns what to display; it is called at once and after each
    move.

    Example: `sliders({10: 5, 20: 5}, 0, 9, figures.loss_scale, "step")`.
    """
    look = {"orientation": "vertical", "continuous_update": False}
    # so that six stand in a row on a phone
    look["layout"] = ipywidgets.Layout(width="40px")
    row = {
        str(at): ipywidgets.IntSlider(value, low, high, description=str(at), **look)
        for at, value in points.items()
    }

    def moved(**values):
        display(show({at: values[str(at)] for at in points}))

    shown = ipywidgets.interactive_output(moved, row)
    note = ipywidgets.HTML(NEEDS_THE_KERNEL)
    above = [ipywidgets.Label(name), ipywidgets.HBox(list(row.values()))]
    return ipywidgets.VBox([*above, shown, note])
