"""The judge of four steps: what takes most of each, and what 16 bits gain."""

from .answers import near
from .judges import Choice, Fields, Number

WORDS = {
    "input": "it waits for input in",
    "arithmetic": "products and convolutions take",
    "memory": "the other operations take",
    "overhead": "nothing runs in",
}
# Milliseconds of each part of one float32 step, recorded with `profiling` on a CPU with two cores:
# batch normalization, GELU and dropout on images; a deep, narrow network on 8 images; the course's
# CNN on 256; the same behind a slow tf.data pipeline.
STEPS = {
    "A": (0.0, 7.5, 132.8, 5.5),
    "B": (0.0, 0.7, 1.1, 4.0),
    "C": (0.0, 33.4, 6.8, 2.6),
    "D": (140.1, 81.3, 24.8, 6.6),
}
BECOME = (1, 1 / 4, 1 / 2, 1)  # what 16 bits leave of each part
MISJUDGED = {  # what may be taken to be left of each part, and what is said
    (1, 1 / 4, 1, 1): "that leaves the other operations as they were, and they take half.",
    (1, 1 / 2, 1 / 2, 1): "that halves the products, and they take a quarter.",
    (1, 1 / 4, 1 / 4, 1): "that takes a quarter of the other operations, and half of them is left.",
    (1, 1 / 4, 1 / 2, 1 / 2): "that shortens the time in which nothing runs, and it stays.",
}


def speedup(step, become=BECOME):
    """How many times as fast a step gets, with what is left of each of its parts."""
    after = sum(part * left for part, left in zip(STEPS[step], become, strict=True))
    return sum(STEPS[step]) / after


def limit(step):
    """The judge of what takes most of a step."""
    parts = dict(zip(WORDS, STEPS[step], strict=True))
    right, whole = max(parts, key=parts.get), sum(parts.values())
    wrong = {
        part: f"{WORDS[part]} {took:g} of {whole:.4g} ms. Another part takes more."
        for part, took in parts.items()
        if part != right
    }
    asked = 'choose one of "input", "overhead", "memory" or "arithmetic"'
    return Choice(right, wrong, options=tuple(WORDS), asked=asked)


def gain(step, which):
    """The judge of the largest or the smallest speedup, which is this step's."""
    right = speedup(step)
    others = {
        speedup(other): f"that is the speedup of {other}, and another step gains {which}."
        for other in STEPS
        if other != step
    }
    mistakes = {
        1 / right: "that is upside down, so divide the time before by the time after.",
        right - 1: "that is the gain, and 2 stands for twice as fast.",
        **{speedup(step, left): said for left, said in MISJUDGED.items()},
        4: "that is what products gain, and the rest of the step gains less.",
    }
    return Number(
        right,
        # C's gain is A's speedup, and so another mistake.
        others | {v: said for v, said in mistakes.items() if not any(near(v, o) for o in others)},
        otherwise="You gave {value:.4g}. Add up what is left of"
        f" {step}'s parts and divide its time by it.",
        asked="give one number, as 2 for twice",
        accept=lambda value: abs(value - right) <= 0.03,
    )


JUDGES = {step: limit(step) for step in STEPS} | {
    "largest speedup": gain("C", "more"),
    "smallest speedup": gain("B", "less"),
}
RIGHT = {key: judge.right for key, judge in JUDGES.items()}
LIMITS = Fields(
    JUDGES,
    together=(
        (
            RIGHT | dict.fromkeys(STEPS, "memory"),
            lambda given: len({given[step] for step in STEPS}) == 1,
            lambda given: f'You gave "{given["A"]}" four times. Each name belongs to one step.',
        ),
        (
            RIGHT | {"largest speedup": speedup("B"), "smallest speedup": speedup("C")},
            lambda given: (
                near(given["largest speedup"], speedup("B"))
                and near(given["smallest speedup"], speedup("C"))
            ),
            "The two speedups are swapped. C gains most.",
        ),
    ),
)
