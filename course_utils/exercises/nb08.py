"""Prediction and exercises of notebook 08."""

from . import smaller
from .engine import Exercise, Prediction
from .functions import Function
from .judges import Choice, Fields

TITLE = "Smaller still"

NETWORKS = "ABCDE"
MEASURES = ("size", "accuracy", "latency")


def orders(guess):
    """Three orders of five letters, {measure: letters}, or None.

    >>> orders({"size": "edcba", "accuracy": "A B C D E", "latency": "ABCDE"})
    {'size': 'EDCBA', 'accuracy': 'ABCDE', 'latency': 'ABCDE'}
    """
    if not isinstance(guess, dict) or set(guess) != set(MEASURES):
        return None
    texts = {key: "".join(str(guess[key]).upper().split()) for key in MEASURES}
    return (
        texts
        if all(sorted(text) == list(NETWORKS) for text in texts.values())
        else None
    )


def shown(orders):
    """The same in words."""
    return ", ".join(f"{key} {letters}" for key, letters in orders.items())


PREDICTION = Prediction(
    measures={
        name: (f"order by {name}", "best first")
        for name in ("size", "accuracy", "latency")
    },
    example={"size": "ECDBA", "accuracy": "ABDCE", "latency": "EDCBA"},
    read=orders,
    said=lambda guess: f"The best first: {shown(guess)}. Section 5 measures it.",
    wanted='three orders, such as `guess = {"size": "ABCDE", "accuracy": "ABCDE", "latency":'
    ' "ABCDE"}`, each with all five letters',
    shown=shown,
)

WRONG: dict[str, dict] = {
    "microcontroller": {
        ("A", "B"): "its file has more than 128 kB.",
        "D": "zeros take as much room as other numbers where nothing is unpacked.",
        "E": "it fits, but C fits as well and reads more digits right.",
    },
    "download": {("A", "B", "C", "D"): "packed it has 60 kB or more."},
    "laptop": {
        ("B", "C"): "it is right as often as A, and more was done to it.",
        ("D", "E"): "it is less often right than A.",
    },
}
RIGHT = dict(zip(WRONG, "CEA", strict=True))
DEVICES = Fields(
    {k: Choice(RIGHT[k], WRONG[k], options=tuple(NETWORKS)) for k in WRONG}
)

EXERCISES = [
    Exercise(
        id=3,
        minutes=2,
        solution=smaller.AFFINE,
        name="affine",
        answer=Function(smaller.affine_problem, smaller.RANGES),
        slips=smaller.AFFINE_SLIPS,
        wrong=[
            (lambda low, high: 1.0, "(scale, zero)"),
            (lambda *given: 1 / 0, "ZeroDivision"),
        ],
        hints=[
            "First widen the range: `low = min(low, 0.0)`, `high = max(high, 0.0)`.",
            "255 steps lie between 256 integers, and `low` must land on −128.",
        ],
        right="256 levels over the range, one of them exactly on 0.",
    ),
    Exercise(
        id=4,
        minutes=2,
        solution=smaller.FLOAT32,
        name="to_float32",
        answer=Function(smaller.float32_problem, ("mixed_bfloat16", "mixed_float16")),
        slips=smaller.FLOAT32_SLIPS,
        wrong=[(lambda *given: 1 / 0, "ZeroDivisionError")],
        hints=[
            "The weights of a mixed policy are float32 already. Only the computation is not.",
            '`with dtype_policy("float32"):` around `build()`, then `set_weights`.',
        ],
        right="Nothing is lost: the variables were float32 all the time.",
    ),
    Exercise(
        id=5,
        minutes=2,
        solution=f"answer = {RIGHT}".replace("'", '"'),
        answer=DEVICES,
        hints=[
            "Only the download packs: look there in the second column, else in the first.",
            "On the laptop nothing has to be saved.",
        ],
        right="The limit chooses, and without one there is nothing to make smaller.",
    ),
]
