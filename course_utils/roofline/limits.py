"""What a measured step is limited by, and why 16 bits did or did not make it faster."""

import statistics
from dataclasses import dataclass

from course_utils import stepping

FAR = 3  # times the predicted time: from here on the kernels, not the roofs, are the limit


@dataclass(frozen=True)
class Limit:
    """What limits a step.

    Attributes:
        kind: "input", "launch", "kernels", "arithmetic" or "memory"; "unknown" if nothing was
            predicted.
        reason: one sentence.
    """

    kind: str
    reason: str


def typical(times) -> float:
    """The step time of a series: its median, which one slow first step or hiccup does not move.

    Example:
        >>> typical([412, 71, 70, 69, 140, 70, 70])
        70
    """
    return statistics.median(times)


def with_input(step: float, load: float, prefetch: bool = True) -> float:
    """The time from step to step when a batch takes `load` to make ready.

    With prefetch the next batch is made during the step, and the longer of the two counts;
    without it they come one after the other.

    Example:
        >>> with_input(20, 30) / with_input(10, 30)
        1.0
        >>> with_input(20, 30, prefetch=False) / with_input(10, 30, prefetch=False)
        1.25
    """
    return max(step, load) if prefetch else step + load


def floor_ms(trainee, x, y, seconds: float = 3) -> float:
    """The median step with a single sample: launches and the update, hardly any arithmetic.

    Args:
        trainee: a `stepping.Trainee`; its weights are trained on this one sample.
        x, y: arrays of samples and labels, of which the first is taken.
        seconds: how long to go on; at least five steps are made, and the first two not counted.
    """
    turns = stepping.rounds(seconds, "steps with one sample", at_least=5)
    times = [1e3 * trainee.step(x[:1], y[:1]).seconds for _ in turns]
    return typical(times[2:])


def limit(measured_ms, prediction, load_ms=0.0, floor_ms=None) -> Limit:
    """Names what limits a measured step.

    Args:
        measured_ms: the median step on data that lie ready.
        prediction: a `Prediction` for the same model, batch and policy on this device.
        load_ms: how long a batch takes to make ready, with nothing else running.
        floor_ms: what the function of that name measured for the same model and policy.

    Example:
        limit(26.5, predict(work(model, 256), this), load_ms=2, floor_ms=8).reason
    """
    if load_ms > measured_ms:
        return Limit(
            "input",
            f"A batch takes {load_ms:.3g} ms to make ready and a step {measured_ms:.3g} ms: "
            "the step waits for its input.",
        )
    if floor_ms is not None and floor_ms > measured_ms / 2:
        return Limit(
            "launch",
            f"A step with a single sample takes {floor_ms:.3g} of {measured_ms:.3g} ms: "
            "most of the time goes into what does not depend on the batch.",
        )
    if not prediction.ms:
        return Limit("unknown", "No layer of the model has a formula, so nothing was predicted.")
    times = measured_ms / prediction.ms
    if times > FAR:
        return Limit(
            "kernels",
            f"The step takes {times:.3g} times what the roofs allow: "
            "the kernels stay far below them, or something else takes the time.",
        )
    share = prediction.share[prediction.bound]
    return Limit(
        prediction.bound,
        f"The step takes {times:.3g} times what the roofs allow, and {100 * share:.0f} % of that "
        f"is bound by {prediction.bound}.",
    )


def verdict(predicted: float, measured: float, limit_16: Limit | None = None) -> str:
    """One sentence on what mixed precision was to buy, whether it did, and if not, why.

    Args:
        predicted, measured: speed against float32, as in `predict_policies` and
            `benchmark.Comparison`.
        limit_16: what limits the 16-bit step, from `limit`.

    Example:
        >>> verdict(1.9, 1.8)
        'The roofs promise 1.9 times the speed of float32, and you measured 1.8: it did.'
        >>> verdict(1.02, 1.4)
        'The roofs promise no more speed than float32, and you measured 1.4: it gained more.'
    """
    nothing = float(f"{predicted:.2g}") <= 1
    promise = "no more speed than" if nothing else f"{predicted:.2g} times the speed of"
    told = f"The roofs promise {promise} float32, and you measured {measured:.2g}: "
    if nothing and measured > 1.1:
        return told + "it gained more."
    if measured >= 0.8 * predicted:
        return told + ("it did." if measured > 1.1 else "there was little to gain.")
    why = f" {limit_16.reason}" if limit_16 else ""
    return told + ("it gained less." if measured > 1.1 else "it did not help.") + why
