"""InstrumentPanel as a learner uses it, on a bare page: it rules out what Python rules
out.
"""

import pytest
from explorer_pages import Panel
from playwright.sync_api import expect

from course_utils import records
from course_utils.clinic import cheapest, minutes, ruled_out
from course_utils.explorers import InstrumentPanel

pytestmark = pytest.mark.browser
RECORD = records.clinic()
PATIENTS, TOOLS = RECORD["patients"], RECORD["instruments"]
DIAGNOSES = sorted(patient["diagnosis"] for patient in PATIENTS)


class Shown(Panel):
    explorer = InstrumentPanel

    def __init__(self, place):
        super().__init__(place)
        self.answer = self.inside.locator(".answer")
        self.tools, self.causes = (
            self.inside.get_by_role("toolbar", name=name).get_by_role("button")
            for name in ("instruments", "causes")
        )

    def choose(self, number):
        self.button(f"patient {number}").click()

    def ask(self, *tools):
        """Press instruments, which puts those away that were asked already."""
        for tool in tools:
            self.tools.nth(list(TOOLS).index(tool)).click()

    def cause(self, patient):
        return self.causes.nth(DIAGNOSES.index(patient["diagnosis"]))

    def named(self, patient):
        """What is answered when one names a patient's cause."""
        self.cause(patient).click()
        return self.answer.text_content()


@pytest.mark.slow
def test_readings_leave_what_python_leaves_and_each_cause_is_answered(show):
    panel = show(RECORD)
    for number, patient in list(enumerate(PATIENTS, start=1))[::5]:
        panel.choose(number)
        expect(panel.inside.locator(".symptom")).to_have_text(patient["symptom"])
        few = cheapest(RECORD, patient["key"])
        names = ", ".join(TOOLS[tool]["name"] for tool in few)
        price = f"{minutes(RECORD, few):g} minute"
        right = f"Yes: {patient['diagnosis']}. {patient['cure']} You took "
        lucky = panel.named(patient)
        assert lucky.startswith(f"{right}0 minutes, and {len(PATIENTS) - 1} other")
        assert f"causes still fit. To be certain: {names} ({price}" in lucky
        panel.ask(*few)
        out = ruled_out(RECORD, patient["key"], few)
        fit = f"{len(PATIENTS) - len(out)} of {len(PATIENTS)} causes fit."
        expect(panel.sentence).to_contain_text(price)
        expect(panel.sentence).to_contain_text(fit)
        expect(panel.inside.locator("[data-out]")).to_have_count(len(out))
        proven = panel.named(patient)
        assert proven.startswith(f"{right}{price}")
        assert f"no other cause fits. Enough would have been: {names}" in proven
        for other in (other for other in PATIENTS if other is not patient):
            answer = f"No instrument tells this from “{patient['diagnosis']}”."
            if why := out.get(other["key"]):
                tool = TOOLS[why]["name"]
                here, there = (one["readings"][why]["text"] for one in (patient, other))
                answer = (
                    f"No. {tool} reads “{here}” here, and with "
                    f"“{other['diagnosis']}” it reads “{there}”."
                )
                ruled = f"ruled out: {tool} would read “{there}”"
                expect(panel.cause(other)).to_contain_text(ruled)
            assert panel.named(other) == answer
        panel.ask(*few)  # to put them away
        expect(panel.sentence).to_contain_text("0 instruments, 0 minutes")
        other = next(other for other in PATIENTS if other["key"] in out)
        assert panel.named(other).startswith("No, though nothing")


def test_by_keyboard_and_said(show):
    panel = show(RECORD)
    panel.tools.first.focus()
    panel.press("Enter")
    reading = next(iter(PATIENTS[0]["readings"].values()))["text"]
    expect(panel.spoken).to_contain_text(reading)
    panel.press("Tab")
    panel.press("Enter")
    expect(panel.answer).not_to_be_empty()
    expect(panel.spoken).to_have_text(panel.answer.text_content())
