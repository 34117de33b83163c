"""How exercise 6 of notebook 06 is judged: a mean of losses that one step cannot poison."""

import math
import random
import statistics

from .answers import call, describe, number


def epoch_loss(losses):
    """The mean of the finite losses, and how many are not finite.

    >>> epoch_loss([1.0, math.inf, 3.0, math.nan]), epoch_loss([math.nan])
    ((2.0, 2), (nan, 1))
    """
    finite = [loss for loss in losses if math.isfinite(loss)]
    return (sum(finite) / len(finite) if finite else math.nan), len(losses) - len(finite)


def _trials():
    """Lists of losses: the first of them with two that are not finite, the last with no finite."""
    source = random.Random(6)
    nan, inf = math.nan, math.inf
    yield [1.5, nan, 1.0, inf, 3.5]
    yield [source.uniform(0.1, 3) for _ in range(7)]
    yield [nan, *(source.uniform(0.1, 3) for _ in range(4)), nan, 0.0]
    yield [*(source.uniform(-3, 3) for _ in range(5)), -inf, inf]
    yield [nan, inf]


def _filled(value):
    def fill(losses):
        return sum(v if math.isfinite(v) else value for v in losses) / len(losses)

    return fill


def _only(keep):
    def mean(losses):
        kept = [loss for loss in losses if keep(loss)]
        return sum(kept) / len(kept) if kept else math.nan

    return mean


def _median(losses):
    finite = sorted(loss for loss in losses if math.isfinite(loss))
    return statistics.median(finite) if finite else math.nan


NOT_THE_MEAN = [  # what a mistaken mean gives, and what to say
    (_filled(0.0), "You divide by all steps, as if a loss that is not finite were 0."),
    (
        lambda losses: sum(losses) / len(losses),
        "That is the mean of all, or one with weights of 0, and 0 · NaN is NaN: select the finite.",
    ),
    (
        _only(lambda loss: loss != math.inf),
        "NaN equals nothing, not even NaN, and infinity has two signs: ask `math.isfinite`.",
    ),
    (
        _only(lambda loss: not math.isnan(loss)),
        "NaN is left out and infinity is not, as `np.nanmean` does.",
    ),
    (_only(lambda loss: not math.isinf(loss)), "Infinity is left out and NaN is not."),
    (
        _median,
        "That is the median, and the mean is asked for.",
    ),
    (
        lambda losses: sum(v for v in losses if math.isfinite(v)),
        "That is the sum: divide it by the number of finite losses.",
    ),
]


def check_epoch_loss(function):
    """Compare the learner's function with `epoch_loss` on lists with NaN and infinity.

    >>> check_epoch_loss(lambda losses: (sum(losses) / len(losses), 0))[-29:]
    'aN is NaN: select the finite.'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    trials, results = list(_trials()), []
    for losses in trials:
        result, problem = call(function, list(losses))
        if problem and not any(map(math.isfinite, losses)):
            problem += ". The list has no finite loss: return NaN then."
        problem = problem or _form_problem(result, losses)
        if problem:
            return problem
        mean, count = result
        results.append((float(mean), number(count)))
    for (mean, count), losses in zip(results, trials, strict=True):
        right, left_out = epoch_loss(losses)
        if not _same(mean, right):
            where = f"For {_listed(losses)} your mean is {mean:.4g}; {right:.4g} is needed."
            return f"{where} {_mean_problem(results, trials)}".strip()
        if count != left_out:
            where = f"For {_listed(losses)} your count is {count:g}; {left_out} is needed."
            return f"{where} {_count_problem(count, losses)}".strip()
    return None


def _form_problem(result, losses):
    if result is None:
        return "Your function returns None: end it with `return mean, count`."
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        return f"Your function returns {describe(result)}: two values are needed, mean and count."
    mean, count = result
    if number(count) is None:
        return (
            f"Your function returns {describe(count)} as the count: give the mean first, then the"
            " count."
        )
    if number(mean) is None and not _not_finite(mean):
        return f"Your function returns {describe(mean)} as the mean: give one number."
    return None


def _not_finite(value):
    """Whether a value is a NaN or an infinity, of Python, of NumPy or of TensorFlow."""
    try:
        if isinstance(value, (bool, str, bytes)) or getattr(value, "shape", ()) != ():
            return False
        return not math.isfinite(float(value))
    except Exception:  # whatever the learner's object does
        return False


def _same(value, right):
    return math.isnan(value) and math.isnan(right) or abs(value - right) <= 1e-4


def _mean_problem(results, trials):
    if math.isnan(epoch_loss(trials[-1])[0]) and all(
        _same(mean, epoch_loss(losses)[0])
        for (mean, _), losses in zip(results[:-1], trials[:-1], strict=True)
    ):
        return "Without a finite loss there is no mean: 0 would look like a perfect epoch."
    for mistake, message in NOT_THE_MEAN:
        if all(
            _same(mean, mistake(losses)) or mean == mistake(losses)
            for (mean, _), losses in zip(results[:-1], trials[:-1], strict=True)
        ):
            return message
    return ""


def _count_problem(count, losses):
    if count == sum(map(math.isfinite, losses)):
        return "Those are the finite ones: count the others."
    if count == sum(map(math.isnan, losses)):
        return "That leaves out infinity, which is not finite either."
    if count == sum(map(math.isinf, losses)):
        return "That leaves out NaN, which is not finite either."
    return "Count the losses that are not finite."


def _listed(losses):
    return "[" + ", ".join(f"{loss:.3g}" for loss in losses) + "]"
