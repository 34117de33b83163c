"""Prediction and exercises of notebook 09; what speaks against a wrong cause is
computed.
"""

import functools
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from course_utils import records
from course_utils.clinic import cases, elimination
from course_utils.exercises.answers import describe
from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.exercises.functions import parts
from course_utils.exercises.judges import Choice, Fields

TITLE = "Find the fault: a debugging clinic"

try:
    RECORD = records.clinic()
    PATIENTS = {patient["key"]: patient for patient in RECORD["patients"]}
except (OSError, ValueError, KeyError, TypeError):
    raise ValueError(
        "Notebook 09 has no exercises, because data/measurements/clinic.json is missing or"
        " damaged: get this file of the course again."
    ) from None
NUMBERS = {key: str(number) for number, key in enumerate(PATIENTS, 1)}
SCALED = [
    p for p in PATIENTS.values() if p["larger_scale"] is not None and not p["well"][0]
]


@functools.cache  # each wrong answer asks for it anew
def case_of(patient: str) -> cases.CaseFile:
    """The case of a patient, by its key."""
    return cases.CaseFile(int(NUMBERS[patient]))


def against(patient: str, guess: str, asked: Collection[str] = ()) -> str:
    """What speaks against a cause: the quickest instrument that reads something else
    there, of those that were asked, else of all that are open.
    """
    mine, theirs = (PATIENTS[key]["readings"] for key in (patient, guess))
    instruments = case_of(patient).instruments
    tells = [i for i in instruments if mine[i]["kind"] != theirs[i]["kind"]]
    best = min(tells, key=lambda i: i not in asked)  # they stand by their price
    cause = PATIENTS[guess]["diagnosis"]
    if best not in asked:
        return f"It is not “{cause}”, though nothing that you read speaks against it. Ask `{best}`."
    name = instruments[best]["name"]
    then, here = (readings[best]["kind"] for readings in (theirs, mine))
    return f"{cause}: then {name} reads “{then}”. Here it reads “{here}”."


# Sorted: by their numbers, the first four would be the answers.
CAUSES = Choice("", {}, tuple(sorted(PATIENTS)))


@dataclass(frozen=True)
class Diagnosis:
    """The judge of `CaseFile.names`: the cause of a patient, certain, in its budget.

    Attributes:
        patient: whose cause is asked for.
        others: whose causes are taken too.
    """

    patient: str
    others: tuple = ()

    @property
    def right(self) -> cases.Named:
        """A right answer."""
        asked = tuple(case_of(self.patient).enough)
        return cases.Named(self.patient, asked, self.patient)

    def __call__(self, answer: object) -> str | None:
        if not isinstance(answer, cases.Named):
            return (
                f"You gave {describe(answer)}: give `names(...)` of a case, with a word "
                "from the list of causes."
            )
        key, asked, word = answer
        cause = CAUSES.read(word)
        if cause is None:
            return CAUSES(word)
        if key not in (self.patient, *self.others):
            return f"That is patient {NUMBERS[key]}: take a case that this exercise asks for."
        if cause != key:
            return against(key, cause, asked)
        case = case_of(key)
        if count := len(elimination.rivals(RECORD, key, asked)):
            return (
                f"It is that, but by luck: by their kinds, your readings fit {count} more. To be "
                f"certain, ask {', '.join(case.enough)}."
            )
        if (paid := elimination.minutes(RECORD, asked)) > case.budget:
            return (
                f"It is that, for {paid} minutes, and {case.budget} are allowed. What told you "
                "most? Take the other lines out."
            )
        return None

    def examples(self) -> Iterator[tuple]:
        """Yield `(wrong answer, what is said of it)`."""
        right = self.right
        everything = tuple(case_of(self.patient).instruments)
        for cause in PATIENTS:
            if cause != right.patient:
                wrong = right._replace(cause=cause)
                yield wrong, against(right.patient, cause, right.asked)
        yield right._replace(asked=()), "It is that, but by luck"
        paid = elimination.minutes(RECORD, everything)
        yield right._replace(asked=everything), f"It is that, for {paid} minutes"


class DifferentPatients(Fields):
    """The judge of several patients, none of them twice."""

    def __call__(self, answer: Any) -> str | None:
        if problem := super().__call__(answer):
            return problem
        different = {answer[name].patient for name in self.judges}
        if len(different) < len(self.judges):
            return "You examined one patient twice: name the causes of three different ones."
        return None


def examination(id: int, minutes: int, patient: str, right: str, hint: str) -> Exercise:
    """The exercise that asks for the cause of a patient of the core."""
    number = NUMBERS[patient]
    name = f"case_{number}"
    enough = case_of(patient).enough
    asks = (f'{name}.ask("{tool}")\n' for tool in enough)
    return Exercise(
        id=id,
        minutes=minutes,
        solution=f"""\
from course_utils import clinic

{name} = clinic.CaseFile({number})
{"".join(asks)}answer = {name}.names("{patient}")""",
        answer=Diagnosis(patient),
        hints=[
            hint,
            f"{len(enough)} of the instruments can prove it.",
        ],
        right=right,
    )


PREDICTION = Prediction(
    measures=("patients cured by a larger scale", f"of {len(SCALED)}"),
    example=3,
    parse=within(0, len(SCALED)),
    wanted=f"a number from 0 to {len(SCALED)}",
    respond="You expect {:g} patients to get well. Section 2 tries it.".format,
)

FALLS = "the loss falls, with small bumps, to the end."
NOT_ITS_FAMILY: dict[str, dict] = {
    "waits": {("nan", "later", "still", "jump"): FALLS},
    "scale_loss": {
        ("nan", "later", "jump", "fine"): "the loss stays where it was, a number."
    },
    "grown": {
        "nan": "the thick line falls before it ends in NaN.",
        ("still", "jump", "fine"): "the bar at the top marks the steps that are NaN.",
    },
    "pretrained": {
        ("later", "still", "jump", "fine"): "no step has a loss that is a number."
    },
}
TRIAGE = Fields(
    {
        NUMBERS[key]: Choice(
            PATIENTS[key]["family"], wrong, options=tuple(RECORD["families"])
        )
        for key, wrong in NOT_ITS_FAMILY.items()
    }
)
THREE = DifferentPatients(
    {
        name: Diagnosis(case.patient["key"], tuple(PATIENTS)[cases.CORE :])
        for name, case in zip("abc", cases.assign("Ada"), strict=True)
    }
)

EXERCISES = [
    Exercise(
        id=1,
        minutes=2,
        solution=parts(TRIAGE.right),
        answer=TRIAGE,
        hints=[
            "Where no thick line is drawn, the loss is NaN in each step.",
            "Read the words below the picture: where is a loss lowest, and where is it last?",
        ],
        right="Patient 4 has a curve as good as a healthy one's: what is wrong there is not in"
        " the losses.",
    ),
    examination(
        2,
        4,
        "mask",
        "0 · inf is NaN: so rows that need no mask are hit, too.",
        "Which number has float16 not got?",
    ),
    examination(
        3,
        3,
        "ids",
        "4097 is 4096 in bfloat16: the row of another word.",
        "What is handed over in 16 bits that is no measurement?",
    ),
    examination(
        4,
        4,
        "batchnorm",
        "The step was skipped, so the weights are what they were. The moving statistics are not.",
        "A healthy scale dips, too. What else does a model keep beside its weights?",
    ),
    examination(
        8,
        3,
        "waits",
        "The step waits for its batch, and no format computes what is not there yet.",
        "What has to be there before a step can begin?",
    ),
    Exercise(
        id=7,
        minutes=12,
        solution="""\
from course_utils import clinic

a, b, c = clinic.assign("Ada")
a.ask("examine")
a.ask("scale")
a.ask("ranges")
b.ask("examine")
c.ask("probe")
answer = {
    "a": a.names("pretrained"),
    "b": b.names("bfloat16"),
    "c": c.names("clip"),
}""",
        answer=THREE,
        wrong=[(dict.fromkeys("abc", THREE.right["a"]), "three different ones")],
        hints=[
            '`a.ask("examine")` takes a minute.',
            "Read the whole text of what `probe` finds.",
        ],
        right="Three found their cause, each within its minutes.",
    ),
]
