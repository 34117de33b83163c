"""A patient whom you examine: instruments at a price, and a cause that you name."""

import random
from types import EllipsisType
from typing import NamedTuple

from course_utils import records
from course_utils.clinic import elimination


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

    Raises ValueError for any other number.

    Example:
        >>> case = CaseFile(2)
        >>> case.ask("flow")
        Dtype flow: 16-bit ids. An Embedding is given bfloat16.
        Paid so far: 2 min
        >>> print(case.bill())
        patient 2: 2 min paid, 0 other causes fit; 1 would have done: examine
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
        self.asked: list[str] = []

    def __repr__(self):
        return f"Patient {self.number}: {self._offer}."

    @property
    def _offer(self):
        """What can be asked, at which price."""
        instruments = self.record["instruments"].items()
        prices = (f'"{key}" ({each["minutes"]} min)' for key, each in instruments)
        return f"ask {', '.join(prices)}"

    def ask(self, instrument: str = "") -> None:
        """Print what an instrument reads, and what all cost so far.

        Raises ValueError for a name that no instrument has.
        """
        instruments = self.record["instruments"]
        if instrument not in instruments:
            raise ValueError(f"There is no instrument {instrument!r}: {self._offer}.")
        if instrument not in self.asked:
            self.asked.append(instrument)
        reading = self.patient["readings"][instrument]
        print(
            f"{instruments[instrument]['name']}: {reading['kind']}. {reading['text']}"
        )
        paid = elimination.minutes(self.record, self.asked)
        print(f"Paid so far: {paid} min")

    def names(self, cause: str | EllipsisType) -> Named | EllipsisType:
        """Your answer: a word from the list of causes."""
        if cause is ...:
            return cause
        return Named(self.patient["key"], tuple(self.asked), cause)

    def bill(self) -> str:
        """What you paid, how many other causes fit, and what would have been enough."""
        record = self.record
        key = self.patient["key"]
        least = elimination.cheapest(record, key)
        fit = len(elimination.rivals(record, key, self.asked))
        causes = "cause fits" if fit == 1 else "causes fit"
        return (
            f"patient {self.number}: {elimination.minutes(record, self.asked)} min paid, "
            f"{fit} other {causes}; {elimination.minutes(record, least)} would have done: "
            f"{', '.join(least)}"
        )


def assign(name: str) -> list[CaseFile]:
    """Three of the patients from the fifth on, others for each name.

    Example:
        >>> [case.number for case in assign("Ada")] == [case.number for case in assign("Ada")]
        True
    """
    others = range(5, len(records.clinic()["patients"]) + 1)
    return [CaseFile(n) for n in random.Random(name).sample(others, 3)]
