"""Prediction and exercises of notebook 09; what speaks against a wrong cause is
computed.
"""

import json

from course_utils import paths
from course_utils.clinic import elimination

from .answers import number
from .engine import Exercise, Prediction
from .functions import parts
from .judges import Choice, Fields

TITLE = "The debugging clinic"

FILE = paths.data("measurements/clinic.json")
try:
    RECORD = json.loads(FILE.read_text(encoding="utf-8"))
    PATIENTS = {patient["key"]: patient for patient in RECORD["patients"]}
except (OSError, ValueError, KeyError, TypeError):
    raise ValueError(
        f"Notebook 09 has no exercises, because data/measurements/{FILE.name} is missing or "
        "damaged: get this file of the course again."
    ) from None
NUMBERS = {key: str(number) for number, key in enumerate(PATIENTS, 1)}
SCALED = [
    p for p in PATIENTS.values() if p["larger_scale"] is not None and not p["well"][0]
]


def against(patient, guess):
    """What speaks against a cause: the quickest instrument that read something else
    there.
    """
    mine, theirs = (PATIENTS[key]["readings"] for key in (patient, guess))
    tells = [i for i in RECORD["instruments"] if mine[i]["kind"] != theirs[i]["kind"]]
    best = min(tells, key=lambda i: RECORD["instruments"][i]["minutes"])
    name, then, here = (each[best] for each in (RECORD["instruments"], theirs, mine))
    reads = (
        f"then {name['name']} reads “{then['kind']}”. Here it reads “{here['kind']}”."
    )
    return f"{PATIENTS[guess]['diagnosis']}: {reads}"


def causes(patient):
    """The judge of a diagnosis."""
    wrong = {guess: against(patient, guess) for guess in PATIENTS if guess != patient}
    return Choice(patient, wrong, options=tuple(PATIENTS))


def alone(patient):
    """The judge of the quickest instrument that tells a cause without any other."""
    left = {
        tool: len(PATIENTS) - len(elimination.struck(RECORD, patient, [tool]))
        for tool in RECORD["instruments"]
    }
    (best,) = elimination.fewest(RECORD, patient)
    wrong = {
        tool: f"{{value}} leaves {count} causes."
        if count > 1
        else "{value} tells it alone, and another one does so for less."
        for tool, count in left.items()
        if tool != best
    }
    return Choice(best, wrong, options=tuple(RECORD["instruments"]))


def diagnosis(id, patient, right, *hints, tool=False):
    """The exercise that asks for the cause of a patient, and the instrument that would
    have done.
    """
    answer = causes(patient)
    solution = f'answer = "{patient}"'
    if tool:
        answer = Fields({"cause": answer, "instrument": alone(patient)})
        solution = parts({name: f'"{value}"' for name, value in answer.right.items()})
    return Exercise(
        id=id,
        minutes=2 if tool else 1,
        solution=solution,
        answer=answer,
        hints=[*hints, "Read the texts of the instruments again, above."],
        right=right,
    )


def patients(guess):
    """A guess of a number of patients, or None."""
    value = number(guess)
    return value if value in range(len(SCALED) + 1) else None


PREDICTION = Prediction(
    measures={"": ("patients cured by a larger scale", f"of {len(SCALED)}")},
    example=3,
    read=patients,
    wanted=f"a whole number from 0 to {len(SCALED)}",
    said="You expect {:g} of them to get well. Section 2 tries it.".format,
)

FALLS = "the loss falls, all the way, and the thin line lies on it."
FLAT = "the loss is a number, and it stays where it was."
NO_LOSS = "the words in the picture say that no step has a loss."
NOT_ITS_FAMILY: dict[str, dict] = {
    "slow": {("nan", "still", "worse", "scale"): FALLS},
    "scale_loss": {("nan", "worse", "slow", "scale"): FLAT},
    "dice": {
        ("still", "worse", "slow", "scale"): NO_LOSS,
    },
    "remat": {
        ("nan", "still", "slow"): "the loss is a number, and it moves, the wrong way.",
        "scale": "a scale that is too small leaves the loss where it was.",
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
WARD = Fields(
    {
        NUMBERS[key]: causes(key)
        for key in PATIENTS
        if key not in "mask ids batchnorm slow".split()
    }
)

EXERCISES = [
    Exercise(
        id=1,
        minutes=2,
        solution=parts(
            {number: f'"{family}"' for number, family in TRIAGE.right.items()}
        ),
        answer=TRIAGE,
        hints=[
            "Where no thick line is drawn, the loss is NaN in each step.",
            "Where both lines are one, the numbers are right. What can still be wrong?",
        ],
        right="Three of these show their family. Patient 4 has a curve as good as the healthy"
        " one's, so what is wrong there is not in the numbers.",
    ),
    diagnosis(
        2,
        "mask",
        "0 · inf is NaN: so rows that need no mask are hit, too.",
        "Which number in that line has float16 not got?",
        tool=True,
    ),
    diagnosis(
        3,
        "ids",
        "4097 is 4096 in bfloat16: the row of another word.",
        "It is well in float32. What is handed over in 16 bits that is no measurement?",
        'Try instruments that nobody has paid for yet: `ask("files", 2)`.',
        tool=True,
    ),
    diagnosis(
        4,
        "batchnorm",
        "The step was skipped, so the weights are what they were. The moving statistics are not.",
        "Something that is not trained is infinite. Who has changed it, and when?",
    ),
    diagnosis(
        6,
        "slow",
        "What does not compute is not computed faster.",
        "What happens in the part of a step that no dtype changes?",
    ),
    Exercise(
        id=7,
        minutes=10,
        solution=parts({number: f'"{cause}"' for number, cause in WARD.right.items()}),
        answer=WARD,
        hints=[
            "Find each in the panel, or `ask`.",
            "Read the whole text of what `probe` finds.",
        ],
        right="The ward is empty.",
    ),
]
