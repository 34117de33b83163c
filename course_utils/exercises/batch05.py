"""How exercise 4 of notebook 05 is judged: the largest batch that fits a budget of memory."""

import math
import random

from .answers import call, describe, number

MIB = 2**20


def largest_batch(budget_mib, fixed, per_image):
    """The slow and obvious reference: add an image as long as it fits.

    >>> largest_batch(1, 500_000, 100_000)
    5
    """
    images, used = 0, fixed + per_image
    while used <= budget_mib * MIB:
        images, used = images + 1, used + per_image
    return images


def _exact(budget_mib, fixed, per_image, unit=MIB):
    return max(0.0, (budget_mib * unit - fixed) / per_image)


def _power_of_two(*trial):
    images = largest_batch(*trial)
    return 2 ** int(math.log2(images)) if images else 0


def _in_order(*order):
    return lambda *trial: _formula(*(trial[place] for place in order))


def _formula(budget_mib, fixed, per_image):
    return max(0, (budget_mib * MIB - fixed) // per_image)


NOT_THE_BATCH = [  # what a mistaken function gives, and what to say
    (
        lambda *t: math.ceil(_exact(*t)),
        "You round up, and the last image does not fit any more: round down.",
    ),
    (lambda *t: round(_exact(*t)), "You round to the nearest: the last image may not fit."),
    (_exact, "A batch has whole images: round down."),
    (
        lambda b, f, p: b * MIB // p,
        "You fill the whole budget with images: take off `fixed` first.",
    ),
    (
        lambda b, f, p: max(0, (b * 10**6 - f) // p),
        "You count a MiB as `10**6` bytes, and it has `2**20`.",
    ),
    (
        lambda b, f, p: b * 10**6 // p,
        "You count a MiB as `10**6` bytes and forget `fixed`.",
    ),
    (
        lambda b, f, p: max(0, math.ceil((b * 10**6 - f) / p)),
        "You count a MiB as `10**6` bytes, and you round up.",
    ),
    (
        lambda b, f, p: max(0, (b * 2**30 - f) // p),
        "You count a MiB as `2**30` bytes, which is a GiB.",
    ),
    (
        lambda b, f, p: (b * 2**10 - f) // p,
        "You count a MiB as `2**10` bytes, which is a KiB.",
    ),
    (lambda b, f, p: (b - f) // p, "The budget is in MiB and `fixed` in bytes: convert first."),
    (
        lambda b, f, p: 0,
        "That leaves no room: the budget is `budget_mib * 2**20` bytes, and `fixed` and `per_image`"
        " are in bytes already.",
    ),
    (
        lambda b, f, p: b * MIB // (f + p),
        "You count `fixed` for each image, and it is there once.",
    ),
    (lambda b, f, p: (b * MIB + f) // p, "You add `fixed` to the budget: it takes room away."),
    (lambda b, f, p: max(0, (b * MIB - 2 * f) // p), "You take off `fixed` twice."),
    (lambda b, f, p: max(0, (b * MIB - f) // p - 1), "One more image fits."),
    (_power_of_two, "You go down to a power of two, and any number of images will do."),
    (
        lambda *t: (largest_batch(*t) // 8) * 8,
        "You go down to a multiple of 8, and any number of images will do.",
    ),
    (
        lambda b, f, p: b * MIB - f,
        "That is the room for images, in bytes: divide it by `per_image`.",
    ),
]


def trials():
    """Budgets where images are left over, without an exact fit; then three special ones.

    >>> [largest_batch(*trial) for trial in trials()][-3:]
    [77, 0, 0]
    """
    source = random.Random(5)
    for budget, left in ((1500, 0.7), (600, 0.2), (256, 0.9), (2000, 0.45)):
        per_image = source.randint(10**5, 10**6)  # `left` is the part of an image that is left over
        images = int(source.uniform(0.9, 0.98) * budget * MIB / per_image)
        yield budget, budget * MIB - int((images + left) * per_image), per_image
    yield 64, 64 * MIB - 77 * 300_000, 300_000  # to the last byte
    yield 8, 12 * MIB, 300_000  # the fixed bytes alone are too many
    yield 8, 8 * MIB - 1000, 300_000  # not one image


def check_batch(function):
    """Compare the learner's function with `largest_batch`.

    >>> check_batch(lambda b, f, p: (b * 2**20 - f) // p)[-40:]
    'is the least: a batch is never negative.'
    """
    if not callable(function):
        return f"You gave {describe(function)}: give the function itself, without parentheses."
    lists, results = list(trials()), []
    for trial in lists:
        result, problem = call(function, *trial)
        if problem:
            return problem
        if result is None:
            return "Your function returns None: end it with `return`."
        if number(result) is None:
            return f"Your function returns {describe(result)}: one whole number is needed."
        results.append(number(result))
    right = [largest_batch(*trial) for trial in lists]
    if results == right:
        return None
    return _ordinary(lists[:-3], results[:-3], right) or _special(lists, results, right)


def _ordinary(lists, results, right):
    """What is wrong where images fit and bytes are left."""
    if results == right[: len(results)]:
        return None
    wrong = [t for t, result, value in zip(lists, results, right, strict=False) if result != value]
    trial = wrong[0]
    said = _said(trial, results[lists.index(trial)], largest_batch(*trial))
    for mistake, message in NOT_THE_BATCH:
        if all(
            math.isclose(mistake(*trial), result, rel_tol=1e-9, abs_tol=1e-6)
            for trial, result in zip(lists, results, strict=True)
        ):
            return f"{said} {message}"
    for order in ((0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        if results == [_in_order(*order)(*trial) for trial in lists]:
            return f"{said} The arguments come as budget_mib, fixed, per_image: in this order."
    return said


def _special(lists, results, right):
    full, over, none = (_said(*each) for each in list(zip(lists, results, right, strict=True))[-3:])
    if results[-3] != right[-3]:
        return f"{full} The budget may be used to the last byte."
    if results[-2] < 0:
        return f"{over} 0 is the least: a batch is never negative."
    if results[-2] != right[-2]:
        return f"{over} The fixed bytes alone do not fit."
    return f"{none} Not one image fits."


def _said(trial, result, value):
    budget, fixed, per_image = trial
    return (
        f"With {budget:,} MiB, {fixed:,} fixed bytes and {per_image:,} per image your function"
        f" gives {result:.10g}; {value} is needed."
    )
