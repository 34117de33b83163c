"""Three recorded steps of notebook 05 that are to be read, and the judge of the
reading.
"""

from .answers import near
from .judges import Choice, Fields, Number

# Milliseconds of each part of one step. In A the pipeline reads ahead and takes the
# whole step for a batch; in B products are most of what runs, and little runs.
STEPS = {
    "A": {"input": 16, "launch": 2, "products": 9, "other": 3},
    "B": {"input": 0, "launch": 7, "products": 2.1, "other": 0.9},
    "C": {"input": 0, "launch": 2, "products": 24, "other": 6},
}
PIECES = {"A": 6, "B": 30, "C": 6}  # operations of a step


def mystery(letter):
    """The trace of three steps, "A", "B" or "C", to be read with `profiling`."""
    from pathlib import Path  # late, as all that loads pandas

    from course_utils.profiling import Event, Trace

    parts = STEPS[letter]
    events = []
    whole = sum(parts.values())
    pieces = PIECES[letter]

    def add(line, name, start, length, **stats):
        events.append(Event("/host:CPU", line, name, start, start + length, stats))

    for number in range(3):
        begin = at = number * whole
        add("python", "train", begin, whole, step_num=number)
        if parts["input"]:
            add(
                "tf_data_1", "map/DecodeJpeg:DecodeJpeg", begin - parts["launch"], whole
            )
            add("python", "IteratorGetNext", begin, parts["input"])
            at += parts["input"]
        for piece in range(pieces):
            at += parts["launch"] / pieces
            product = piece % 3 < 2  # two products, then something else
            name, part = (
                ("dense/MatMul:MatMul", "products") if product else ("Mul:Mul", "other")
            )
            length = parts[part] / pieces * (1.5 if product else 3)
            add(f"tf_Compute/{piece % 2}", name, at, length)
            at += length
    return Trace(
        Path("mystery"), tuple(sorted(events, key=lambda e: (e.start, -e.end)))
    )


def limit(letter):
    """The judge of what takes most of a step."""
    parts = STEPS[letter]
    right = max(parts, key=lambda part: parts[part])
    whole = sum(parts.values())
    wrong = {
        part: f"{part} takes {ms:g} of {whole:g} ms, and another part takes more."
        for part, ms in parts.items()
        if part != right
    }
    if letter == "B":
        wrong["products"] = (
            "products are 70 % of the time in which operations run, and for most of the step none"
            " runs. Take shares of the step."
        )
    return Choice(right, wrong, options=tuple(parts))


def gain(letter):
    """The judge of what faster products gain."""
    parts = STEPS[letter]
    whole = sum(parts.values())
    sooner = whole / (whole - parts["products"] / 2)
    # a pipeline that never rests takes as long as before
    right = 1.0 if parts["input"] else sooner
    ran = parts["products"] / (parts["products"] + parts["other"])
    wrong = {
        2: "products are twice as fast, and the rest of the step stays as it was.",
        1
        / (
            1 - ran / 2
        ): "that takes the products' share of the operations. Take their share of"
        " the step.",
        1
        / (
            1 - parts["products"] / whole
        ): "that lets products take no time. They take half.",
        1 / right: "that is upside down: divide the time before by the time after.",
        right - 1: "that is the gain. Give how many times as fast, as 2 for twice.",
    }
    wrong[sooner] = (
        "the step is ready sooner, and then waits longer for the next batch."
    )
    wrong = {
        value: said for value, said in wrong.items() if not near(value, right, 0.01)
    }
    return Number(
        right,
        wrong,
        otherwise=f"You gave {{value:.4g}}. Its step takes {whole:g} ms. How long if its products"
        " take half?",
        asked="give one number, as 2 for twice",
        close=0.006,
    )


JUDGE = Fields(
    {letter: limit(letter) for letter in STEPS}
    | {f"{letter} gains": gain(letter) for letter in STEPS}
)
