"""Prediction and exercises of notebook 10."""

from . import capstone, paired
from .answers import number
from .engine import Exercise, Prediction
from .functions import Function
from .judges import Fields, Number

TITLE = "The capstone"

GUESSED = {"speedup": 99, "memory": 9, "accuracy": 100}  # {name: its largest value}


def three(guess):
    """A guess of three numbers, {name: number}, or None.

    >>> three({"speedup": 1.5, "memory": 0.5, "accuracy": 80})
    {'speedup': 1.5, 'memory': 0.5, 'accuracy': 80.0}
    """
    if not isinstance(guess, dict) or set(guess) != set(GUESSED):
        return None
    values = {name: number(guess[name]) for name in GUESSED}
    fit = all(
        values[name] and 0 < values[name] <= most for name, most in GUESSED.items()
    )
    return values if fit else None


def shown(guess):
    """The same in words."""
    said = f"{guess['speedup']:g} times as fast, {guess['memory']:g} times the memory"
    return f"{said}, {guess['accuracy']:g} % right"


PREDICTION = Prediction(
    measures={
        "speedup": ("speedup of a Transformer", "×"),
        "memory": ("peak memory of a Transformer's step", "×"),
        "accuracy": ("digits 5 to 9 told right", "%"),
    },
    example={"speedup": 1.5, "memory": 0.5, "accuracy": 60},
    read=three,
    said=lambda guess: f"You expect: {shown(guess)}. Section 7 measures it.",
    wanted='three numbers, such as `guess = {"speedup": 1.5, "memory": 0.5, "accuracy": 60}`,'
    " above 0 and at most 99, 9 and 100",
    shown=shown,
)

DECIDE = Fields(
    {
        "images": Number(
            440,
            {
                480: "The 16-bit copy of the weights is missing: 1 GB more at any batch.",
                220: "That takes 50 MB an image: activations have half the bytes.",
                640: "You left out what is there at any batch.",
                240: "That is float32's.",
            },
            otherwise="{value:g} does not fit: (16 − 4 − 1) GB, at 25 MB an image.",
        ),
        "micro-batches": Number(
            4,
            {
                3: "The sum of the gradients takes 2 GB: so 360 images fit, and not 440.",
                3.06: "A micro-batch is run or not: take the next whole number.",
            },
            otherwise="{value:g} are too few or not needed: 1,100 images, at most 360 at once.",
        ),
    }
)

EXERCISES = [
    Exercise(
        id=1,
        minutes=6,
        solution=capstone.CODE,
        answer=capstone.repair_problem,
        slips=capstone.REPAIR_SLIPS,
        wrong=[
            (print, "give a dictionary"),
            (
                {"positions": 3, "attention": None, "head": "float32"},
                "give the class itself",
            ),
            (
                {"positions": int, "attention": None, "head": "float32"},
                "the class of a layer",
            ),
        ],
        hints=[
            "Two of them are an argument each: what would the layer do if nobody had set it?",
            "`ops.add` of bfloat16 and float32 is float32. Which of the two can be cast without"
            " losing what was computed?",
            "`self.compute_dtype` names the policy's dtype. Cast the waves, not the places.",
        ],
        right="Clean, still mixed, trained and saved whole, and no two of 2,048 positions alike.",
    ),
    Exercise(
        id=2,
        minutes=4,
        solution=capstone.CHOOSE,
        name="choose",
        answer=Function(capstone.choose_problem, capstone.SIZES),
        slips=capstone.CHOOSE_SLIPS,
        wrong=[
            (lambda gradients: 1 / 0, "ZeroDivisionError"),
            (lambda gradients: "2**15", "return one number"),
            (lambda gradients: print(end=""), "returns None"),
        ],
        hints=[
            "float16 ends at 65,504. The largest magnitude of all arrays decides.",
            "`2.0 ** np.floor(np.log2(limit))` is the largest power of two that is not above it.",
        ],
        right="As large as the room allows: the small gradients gain from every power of two.",
    ),
    Exercise(
        id=3,
        minutes=2,
        solution="""\
import math

images = (16_000 - 4_000 - 1_000) / 25
at_once = (16_000 - 4_000 - 1_000 - 2_000) / 25
answer = {"images": images, "micro-batches": math.ceil(1100 / at_once)}""",
        answer=DECIDE,
        hints=[
            "First take off what is there at any batch, then divide by what an image adds.",
            "In 16 bits an image takes half, and 1 GB more is gone before the first one. Where"
            " gradients are summed, another 2 GB are.",
        ],
        right="What stays is paid once a step, and what an image adds sets the batch.",
    ),
    Exercise(
        id=4,
        minutes=4,
        solution=paired.CODE,
        name="verdict",
        answer=Function(paired.problem, paired.RUNS),
        slips=paired.SLIPS,
        wrong=[(lambda a, b, t: 1 / 0, "ZeroDivisionError"), (min, "TypeError")],
        hints=[
            "Subtract pair by pair first: what all seeds share is gone then.",
            "`differences.std(ddof=1) / len(a) ** 0.5` is the standard error of their mean.",
        ],
        right="The pairs carry the comparison, and three of them rarely prove a small difference.",
    ),
]
