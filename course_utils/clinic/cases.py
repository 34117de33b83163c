"""A patient whom you examine: instruments at a price, and a cause that you name."""

import random
from functools import cached_property
from types import EllipsisType
from typing import NamedTuple

from course_utils import records
from course_utils.clinic import elimination

CORE = 4  # patients of the core: `examine` is closed there, which would name two


class Named(NamedTuple):
    """A cause that somebody named, with what was asked before.

    Attributes:
        patient: its key in the record.
        asked: the instruments, in turn.
        cause: the word that was given.

    Shown, it leaves the patient out, whose key is the right word.
    """

    patient: str
    asked: tuple[str, ...]
    cause: object

    def __repr__(self):
        return f"Named(cause={self.cause!r})"


class CaseFile:
    """A patient, by number from 1 on, and the instruments that you have paid for.

    `enough` are the cheapest that prove its cause, and `budget` is what these and the
    cheapest of all cost. Raises ValueError for any other number.

    Example:
        >>> case = CaseFile(2)
        >>> case.ask("flow")
        Dtype flow: 16-bit ids. An Embedding is given bfloat16.
        Paid so far: 3 of 5 min
        >>> print(case.bill())
        patient 2: 3 min paid, 0 other causes fit; 3 would have done: flow
    """

    def __init__(self, number: int):
        self.record = records.clinic()
        patients = self.record["patients"]
        if number not in range(1, len(patients) + 1):
            raise ValueError(
                f"There is no patient {number!r}: give a number from 1 to {len(patients)}."
            )
        self.number = number
        self.patient = patients[number - 1]
        self.instruments = dict(self.record["instruments"])
        if number <= CORE:
            del self.instruments["examine"]
        self.asked: list[str] = []

    @cached_property
    def enough(self) -> list[str]:
        return elimination.cheapest(self.record, self.patient["key"], self.instruments)

    @cached_property
    def budget(self) -> float:
        least = min(tool["minutes"] for tool in self.instruments.values())
        return elimination.minutes(self.record, self.enough) + least

    def __repr__(self):
        prices = (
            f'"{key}" ({tool["minutes"]} min)' for key, tool in self.instruments.items()
        )
        return f"Patient {self.number}: ask {', '.join(prices)}."

    def ask(self, instrument: str = "") -> None:
        """Print what an instrument reads, and what all cost so far.

        Raises ValueError for what is no instrument here.
        """
        if instrument not in self.instruments:
            raise ValueError(
                f"{instrument!r} is no instrument that is open here. {self}"
            )
        if instrument not in self.asked:
            self.asked.append(instrument)
        reading = self.patient["readings"][instrument]
        print(
            f"{self.instruments[instrument]['name']}: {reading['kind']}. "
            f"{reading['text']}"
        )
        paid = elimination.minutes(self.record, self.asked)
        print(f"Paid so far: {paid} of {self.budget} min")

    def names(self, cause: str | EllipsisType) -> Named | EllipsisType:
        """Your answer: a word from the list of causes."""
        if cause is ...:
            return cause
        return Named(self.patient["key"], tuple(self.asked), cause)

    def bill(self) -> str:
        """What you paid, how many other causes fit, and what would have been enough."""
        record = self.record
        fit = len(elimination.rivals(record, self.patient["key"], self.asked))
        causes = "cause fits" if fit == 1 else "causes fit"
        return (
            f"patient {self.number}: {elimination.minutes(record, self.asked)} min paid, "
            f"{fit} other {causes}; {elimination.minutes(record, self.enough)} would have "
            f"done: {', '.join(self.enough)}"
        )


def assign(name: str) -> list[CaseFile]:
    """Three of the patients from the fifth on, others for each name.

    Example:
        >>> [case.number for case in assign("Ada")] == [case.number for case in assign("Ada")]
        True
    """
    others = range(CORE + 1, len(records.clinic()["patients"]) + 1)
    return [CaseFile(n) for n in random.Random(name).sample(others, 3)]
