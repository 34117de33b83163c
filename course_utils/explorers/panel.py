"""InstrumentPanel: patients, what instruments read with them, and which causes that
leaves.
"""

from course_utils.clinic import elimination
from course_utils.explorers import fragment


class InstrumentPanel:
    """An interactive figure: choose instruments, see which causes their readings leave,
    name one.

    The table says for each cause what tells it from all others. `record` is what
    `records.clinic()` gives.

    Raises ValueError for a record without a patient.
    """

    def __init__(self, record: dict):
        if not record["patients"]:
            raise ValueError("Give a record with one patient at least.")
        self.record = record

    def _repr_mimebundle_(self, **selection):
        title = "InstrumentPanel: the cheapest instruments that tell a cause from the others"
        heads = ["cause", "instruments that tell it", "minutes"]
        rows = []
        patients = []
        instruments = self.record["instruments"]
        for patient in self.record["patients"]:
            few = elimination.cheapest(self.record, patient["key"])
            prices = "; ".join(
                f"{instruments[i]['name']}: {patient['readings'][i]['text']}"
                for i in few
            )
            cost = f"{elimination.minutes(self.record, few)}"
            rows.append([patient["diagnosis"], prices, cost])
            patients.append(
                {name: patient[name] for name in PATIENT_FIELDS} | {"cheapest": few}
            )
        data = {"instruments": instruments, "patients": patients}
        return fragment.bundle("panel", title, heads, sorted(rows), data)


PATIENT_FIELDS = ("symptom", "diagnosis", "cure", "loss", "healthy", "readings")
