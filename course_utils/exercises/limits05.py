"""How exercise 5 of notebook 05 is judged: what limits four steps, and what 16 bits buy."""

from .answers import describe, missing_key, number

PARTS = ("input", "arithmetic", "memory", "overhead")
# Milliseconds of each part of one float32 step, recorded with `profiling` on a CPU with two cores:
# batch normalization, GELU and dropout on images; a deep, narrow network on 8 images; the course's
# CNN on 256; the same behind a slow tf.data pipeline.
STEPS = {
    "A": (0.0, 7.5, 132.8, 5.5),
    "B": (0.0, 0.7, 1.1, 4.0),
    "C": (0.0, 33.4, 6.8, 2.6),
    "D": (140.1, 81.3, 24.8, 6.6),
}
LIMITS = {name: PARTS[parts.index(max(parts))] for name, parts in STEPS.items()}
LARGEST, SMALLEST = "largest speedup", "smallest speedup"
BECOME = (1, 1 / 4, 1 / 2, 1)  # what 16 bits leave of each part


def speedup(step, become=BECOME):
    """How many times as fast a step gets, with what is left of each of its parts.

    >>> round(speedup("C"), 2), round(speedup("C", (1, 0.25, 1, 1)), 2)
    (2.98, 2.41)
    """
    after = sum(part * left for part, left in zip(STEPS[step], become, strict=True))
    return sum(STEPS[step]) / after


SPEEDUPS = {name: speedup(name) for name in STEPS}
RIGHT = {
    **LIMITS,
    LARGEST: max(SPEEDUPS.values()),
    SMALLEST: min(SPEEDUPS.values()),
}
WORDS = {
    "input": "it waits for input in",
    "arithmetic": "products and convolutions take",
    "memory": "the other operations take",
    "overhead": "nothing runs in",
}
CHOICE = '"input", "overhead", "memory" or "arithmetic"'


def check_limits(answer):
    """Compare a dictionary of four names and two numbers.

    >>> check_limits({**RIGHT, "B": "memory"})
    'B: the other operations take 1.1 of 5.8 ms. Another part takes more.'
    """
    if problem := missing_key(answer, list(RIGHT)):
        return problem
    names = {}
    for step in STEPS:
        given = answer[step]
        names[step] = given.strip().lower() if isinstance(given, str) else None
        if names[step] not in PARTS:
            return f"{step}: you gave {describe(given)}; choose one of {CHOICE}."
    wrong = [step for step in STEPS if names[step] != LIMITS[step]]
    if wrong:
        return _wrong_name(wrong[0], names)
    values = {}
    for key in (LARGEST, SMALLEST):
        values[key] = number(answer[key])
        if values[key] is None:
            return f"{key}: you gave {describe(answer[key])}; give one number, as 2 for twice."
    largest, smallest = values.values()
    if _near(largest, RIGHT[SMALLEST]) and _near(smallest, RIGHT[LARGEST]):
        return "The two speedups are swapped. C gains most."
    for key in values:
        if not _near(values[key], RIGHT[key]):
            return f"The four names are right. {key}: {_wrong_speedup(key, values[key])}"
    return None


def _wrong_name(step, names):
    given, parts = names[step], STEPS[step]
    if len(set(names.values())) == 1:
        return f'You gave "{given}" four times. Each name belongs to one step.'
    took = parts[PARTS.index(given)]
    return f"{step}: {WORDS[given]} {took:g} of {sum(parts):.4g} ms. Another part takes more."


def _near(value, right):
    return abs(value - right) <= 0.03


def _wrong_speedup(key, value):
    step = "C" if key == LARGEST else "B"
    right = RIGHT[key]
    for other in STEPS:
        if _near(value, SPEEDUPS[other]):
            which = "more" if key == LARGEST else "less"
            return f"that is the speedup of {other}, and another step gains {which}."
    for wrong, message in _mistakes(step, right):
        if abs(value - wrong) <= 0.006 * max(1, wrong) or value == round(wrong, 1):
            return message
    return f"you gave {value:.4g}. Add up what is left of {step}'s parts and divide its time by it."


def _mistakes(step, right):
    """Numbers that are not the speedup of a step, and what to say."""
    return [
        (1 / right, "that is upside down, so divide the time before by the time after."),
        (100 * right, "that is a percentage, and 2 stands for twice."),
        (100 * (right - 1), "that is the gain in percent, and 2 stands for twice."),
        (right - 1, "that is the gain, and 2 stands for twice as fast."),
        (
            speedup(step, (1, 1 / 4, 1, 1)),
            "that leaves the other operations as they were, and they take half.",
        ),
        (
            speedup(step, (1, 1 / 2, 1 / 2, 1)),
            "that halves the products, and they take a quarter.",
        ),
        (
            speedup(step, (1, 1 / 4, 1 / 4, 1)),
            "that takes a quarter of the other operations, and half of them is left.",
        ),
        (
            speedup(step, (1, 1 / 4, 1 / 2, 1 / 2)),
            "that shortens the time in which nothing runs, and it stays.",
        ),
        (
            speedup(step, (1, 1 / 4, 1 / 2, 0)),
            "that leaves out the time in which nothing runs, and it stays.",
        ),
        (speedup(step, (1, 3 / 4, 1 / 2, 1)), "that takes a quarter off, and a quarter is left."),
        (4, "that is what products gain, and the rest of the step gains less."),
        (1, "a part of each step gets shorter, so none stays as it was."),
        (sum(STEPS[step]) / right, f"those are the milliseconds of {step} after the change."),
    ]
