"""A patient, and a run of its training: what each step's loss, scale and milliseconds
were.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import keras
import numpy as np
import tensorflow as tf
from mixed_precision_lint.steppers import steppers

from course_utils.training import dtype_policy


@dataclass(repr=False)
class TrainingRun:
    """What a training showed.

    Attributes:
        model: as it is afterwards.
        criterion: a function that tells from a run whether it went well.
        losses: of each step.
        scales: the dynamic loss scale before each step, NaN where there is none.
        ms: milliseconds of each step.
        waits: the part of them in which the batch came.
        report: accuracy and loss on what was held out; {} where nothing was, where the
            model compiles no loss, and after `train(steps=...)`.
    """

    model: keras.Model
    criterion: "Callable[[TrainingRun], bool]"
    losses: list[float]
    scales: list[float]
    ms: list[float]
    waits: list[float]
    report: dict[str, float]

    @property
    def well(self) -> bool:
        """Whether it does what its learner wants of it."""
        return bool(self.criterion(self))

    def __repr__(self):
        text = "no step was taken"
        if self.losses:
            few = [self.losses[at * (len(self.losses) - 1) // 5] for at in range(6)]
            losses = "  ".join(f"{loss:.3g}" for loss in few)
            text = f"loss in {len(self.losses)} steps: {losses}"
        if self.report:
            text += "\nheld out: {accuracy:.0%} right, loss {loss:.3g}".format(
                **self.report
            )
        return text


def scale_of(optimizer: keras.optimizers.Optimizer) -> float:
    """The dynamic loss scale of a Keras optimizer, NaN where there is none."""
    if not optimizer.built:
        return getattr(optimizer, "initial_scale", np.nan)
    return float(getattr(optimizer, "dynamic_scale", np.nan))


@dataclass
class Patient:
    """What fails, as all eleven instruments take it: one of the course's, or your own.

    Attributes:
        build: a function that returns the compiled `keras.Model`, each time afresh.
        batches: what `fit` takes from a dataset, gone through more than once: a list, or
            a tf.data.Dataset, of (x, y) or (x, y, sample weights), each an array, a
            list or a dictionary of them. One batch for 50 steps is `[(x, y)] * 50`.
        well: a function of a `TrainingRun`: whether it did what you want of it.
        held: (x, y) to test it on, x as in a batch and y whole numbers, classes; or None.
            Of several outputs the first gives the accuracy.
        resumed: a function that saves a model and returns what it reads again, or None.
            After three quarters of the batches, then a list, it takes the model's place.
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
        ...     well=lambda run: run.losses[-1] < run.losses[0] / 9,
        ... )
        >>> for key, instrument in clinic.INSTRUMENTS.items():
        ...     print(f"{instrument.name:20} {clinic.read(key, yours).kind}")
        examine              nothing
        File inspector       no file
        Scale recorder       none
        Dtype flow           float32
        Smallest and largest finite
        Gradient histogram   fits
        Profiler             computes
        probe                nothing
        check_numerics       passes
        A float32 twin       well
        One layer in float32 cured by dense
    """

    build: Callable[[], keras.Model]
    batches: Sequence | tf.data.Dataset
    well: Callable[[TrainingRun], bool]
    held: tuple | None = None
    resumed: Callable[[keras.Model], keras.Model] | None = None
    in_float32: "Callable[[], Patient] | None" = None

    def twin(self) -> "Patient":
        """The same patient in float32."""
        if self.in_float32:
            return self.in_float32()
        under = dtype_policy("float32")
        resumed = under(self.resumed) if self.resumed else None
        return replace(self, build=under(self.build), resumed=resumed)

    def model(self) -> keras.Model:
        """A fresh model, whose `optimizer` is the one that its training steps: that of
        `compile`, or the first that a `train_step` names in its place.
        """
        model = self.build()
        every = steppers(model, model.optimizer, model._flatten_layers())
        model.optimizer = every[0].optimizer
        return model

    def batch(self) -> tuple:
        """The first (x, y, sample weights) of its batches, None for what is not there."""
        return keras.utils.unpack_x_y_sample_weight(next(iter(self.batches)))

    def train(
        self, model: keras.Model | None = None, steps: int | None = None
    ) -> TrainingRun:
        """Its training, watched: one step for each batch, and then a test on `held`.

        `model` is trained in place of a fresh one; its `jit_compile` and its dtypes stay
        what they are. `steps` are the most steps, after which nothing is tested.
        """
        model = model or self.model()
        run = TrainingRun(model, self.well, [], [], [], [], {})
        start = time.perf_counter()
        for at, batch in enumerate(self.batches):
            if at == steps:
                break
            if self.resumed and at == len(self.batches) * 3 // 4:
                model = self.resumed(model)
                run.model = model
            run.waits.append(1e3 * (time.perf_counter() - start))
            run.scales.append(scale_of(model.optimizer))
            if model.built and model.optimizer and not model.optimizer.built:
                # Else TensorFlow traces the step twice.
                model.optimizer.build(model.trainable_variables)
            # As `fit` does, which hands over the batch as it is.
            model.make_train_function()
            model.reset_metrics()  # else the loss is the mean of all since
            logs = model.train_function(iter([batch]))
            first = next(iter(logs))  # Keras 3.13 has the metrics before the loss
            run.losses.append(float(logs.get("loss", logs[first])))
            run.ms.append(1e3 * (time.perf_counter() - start))
            start = time.perf_counter()
        if self.held and model.loss and steps is None:
            x, y = self.held
            model.reset_metrics()
            outputs, classes = map(keras.tree.flatten, (model.predict(x, verbose=0), y))
            right = np.argmax(outputs[0], axis=-1) == classes[0]
            losses = model.evaluate(x, y, verbose=0)
            run.report = {"accuracy": np.mean(right), "loss": np.ravel(losses)[0]}
        return run
