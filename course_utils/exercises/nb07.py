"""Prediction and exercises of notebook 07.

Example: `exercises.load("07")[2].check(6.07)`
"""

from . import exchange07 as exchange
from . import replicas07 as replicas
from .answers import describe
from .engine import Prediction

TITLE = "Train on many devices without losing the weights"


def read_guess(value):
    """Keep a percentage above 0 and up to 100; a number up to 1 is a percentage too.

    >>> read_guess(90.0)
    (90.0, 'You expect the weights to stay finite in 90 % of these steps. Section 3 measures it.')
    """
    if not 0 < value <= 100:
        return (
            None,
            f"You gave {describe(value)}: give a percentage above 0 and up to 100, such as 90 for"
            " nine in ten.",
        )
    if value <= 1:
        return value, (
            f"Read as {value:g} %. If you mean a share of {value:g}, give {100 * value:g};"
            " section 3 measures it."
        )
    return value, (
        f"You expect the weights to stay finite in {value:g} % of these steps. Section 3 measures"
        " it."
    )


PREDICTION = Prediction(
    task="""\
Two replicas train one model under `mixed_float16`, each on its half of every batch. Keras's own
`LossScaleOptimizer` looks for overflows, as it does on one device. In some steps the gradient
overflows on one of the two replicas, as often on the first as on the second.

After how many percent of these steps are all weights still finite numbers? Guess before you run
any code; section 3 measures it.""",
    stub="guess = ...  # percent of these steps, 100 = all\nq.predict(guess)",
    solution="guess = 100\nq.predict(guess)",
    read=read_guess,
)

EXERCISES = [*replicas.EXERCISES, *exchange.EXERCISES]
