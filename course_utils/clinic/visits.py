"""A training that is watched: what each step's loss, scale and milliseconds were."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import keras
import numpy as np

from course_utils.training import dtype_policy


@dataclass(repr=False)
class Visit:
    """What a training showed.

    Attributes:
        model: as it is afterwards.
        losses: of each step.
        scales: the dynamic loss scale before each step, NaN where there is none.
        ms: milliseconds of each step.
        waits: the part of them in which the batch came.
        report: accuracy and loss on what was held out, {} where nothing was, or where the
            model compiles no loss.
        wanted: what tells from a visit whether it went well.
    """

    model: keras.Model
    losses: list[float]
    scales: list[float]
    ms: list[float]
    waits: list[float]
    report: dict
    wanted: Callable | None = None

    @property
    def well(self) -> bool:
        """Whether it does what its learner wants of it."""
        if self.wanted is None:
            raise ValueError(
                "Nobody said what is wanted: give `train` a function, such as "
                "`well=lambda visit: visit.losses[-1] < 0.5`."
            )
        return bool(self.wanted(self))

    def __repr__(self):
        few = [self.losses[at * (len(self.losses) - 1) // 5] for at in range(6)]
        losses = "  ".join(f"{loss:.3g}" for loss in few)
        shown = f"loss in {len(self.losses)} steps: {losses}"
        if self.report:
            shown += "\nheld out: {accuracy:.0%} right, loss {loss:.3g}".format(
                **self.report
            )
        return shown


def train(
    model, batches, held=None, resumed=None, well=None, steps=None, step=None
) -> Visit:
    """Train a compiled `keras.Model` by one step for each batch, and watch it.

    Args:
        model: is trained; its `jit_compile` and its dtypes stay what they are.
        batches: (x, y) after (x, y), each an array or what `train_on_batch` takes; a
            list, or a tf.data.Dataset.
        held: (x, y), x as in a batch and y whole numbers, classes: what the model is
            tested on at the end, unless `steps` ends it before.
        resumed: a function that saves a model and returns what it reads again. After
            three quarters of the batches, then a list, it takes the model's place.
        well: a function of a `Visit`: whether it did what you want of it.
        steps: the most steps.
        step: a function (model, x, y) that takes a step and returns its loss, in place
            of `train_on_batch`.

    Example:
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> visit = train(model, [(np.ones((4, 2)), np.ones((4, 1)))] * 20)
        >>> len(visit.ms), visit.losses[-1] < visit.losses[0], visit.scales[0]
        (20, True, nan)
    """
    visit = Visit(model, [], [], [], [], {}, well)
    start = time.perf_counter()
    for at, batch in enumerate(batches):
        if at == steps:
            break
        if resumed and at == len(batches) * 3 // 4:
            model = visit.model = resumed(model)
        visit.waits.append(1e3 * (time.perf_counter() - start))
        visit.scales.append(scale_of(model.optimizer))
        model.reset_metrics()  # Keras 3.13 returns the mean of all losses since
        result = (step or type(model).train_on_batch)(model, *batch)
        # A step that is not written yet returns nothing.
        loss = np.nan if result is None else np.ravel(result)[0]
        visit.losses.append(float(loss))
        visit.ms.append(1e3 * (time.perf_counter() - start))
        start = time.perf_counter()
    if held and model.loss and steps is None:
        x, y = held
        model.reset_metrics()
        right = np.argmax(model.predict(x, verbose=0), axis=-1) == y
        loss = model.evaluate(x, y, verbose=0)
        visit.report = {"accuracy": np.mean(right), "loss": loss}
    return visit


def scale_of(optimizer) -> float:
    """The dynamic loss scale of a Keras optimizer, NaN where there is none."""
    if not optimizer.built:
        return getattr(optimizer, "initial_scale", np.nan)
    return float(getattr(optimizer, "dynamic_scale", np.nan))


@dataclass
class Patient:
    """What fails, as all eleven instruments take it: one of the course's, or your own.

    Attributes:
        build: a function that returns the compiled `keras.Model`, each time afresh.
        batches: (x, y) after (x, y), gone through more than once: a list, or a
            tf.data.Dataset. One batch for 50 steps is `[(x, y)] * 50`.
        well: a function of a `Visit`: whether it did what you want of it.
        held: (x, y) to test it on, or None.
        resumed: a function that saves a model and returns what it reads again, or None.
        in_float32: a function that returns the same patient in float32; without one,
            its functions are called under that policy, and must set none themselves.

    Example, with all instruments on a model of one's own:
        >>> from course_utils import clinic
        >>> def build():
        ...     keras.utils.set_random_seed(0)
        ...     model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        ...     model.compile(keras.optimizers.SGD(0.1), "mse")
        ...     return model
        >>> yours = clinic.Patient(
        ...     build,
        ...     batches=[(np.ones((4, 2)), np.ones((4, 1)))] * 20,
        ...     well=lambda visit: visit.losses[-1] < visit.losses[0] / 9,
        ... )
        >>> for key, instrument in clinic.INSTRUMENTS.items():
        ...     print(f"{instrument.name:20} {clinic.read(key, yours).kind}")
        examine              nothing
        Scale recorder       none
        Dtype flow           float32
        File inspector       no file
        probe                nothing
        Smallest and largest finite
        Gradient histogram   fits
        Profiler             computes
        check_numerics       passes
        A float32 twin       well
        One layer in float32 cured
    """

    build: Callable
    batches: Iterable
    well: Callable
    held: tuple | None = None
    resumed: Callable | None = None
    in_float32: Callable | None = None

    def twin(self) -> "Patient":
        """The same patient in float32."""
        if self.in_float32:
            return self.in_float32()
        under = dtype_policy("float32")
        resumed = self.resumed and under(self.resumed)
        return replace(self, build=under(self.build), resumed=resumed)

    def train(self) -> Visit:
        """Its training, watched from the first batch to the last."""
        return train(self.build(), self.batches, **self.options())

    def batch(self) -> tuple:
        """The first (x, y) of its batches."""
        return next(iter(self.batches))

    def options(self) -> dict:
        """What `train` is given beside a model and batches."""
        return {"held": self.held, "resumed": self.resumed, "well": self.well}
