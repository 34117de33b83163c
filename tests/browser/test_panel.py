"""InstrumentPanel as a learner uses it, on a bare page: it rules out what Python rules
out.
"""

import json

import pytest
from explorer_pages import Panel
from playwright.sync_api import expect

from course_utils.clinic import fewest, minutes, struck
from course_utils.explorers import InstrumentPanel
from tools.canonical import COURSE

pytestmark = pytest.mark.browser
RECORD = json.loads(
    (COURSE / "data/measurements/clinic.json").read_text(encoding="utf-8")
)
PATIENTS = RECORD["patients"]
TOOLS = RECORD["instruments"]


class Shown(Panel):
    explorer = InstrumentPanel

    def __init__(self, place):
        super().__init__(place)
        self.sentence, self.answer = (
            self.inside.locator(f".{c}") for c in ("sentence", "answer")
        )
        self.tools, self.causes = (
            self.inside.get_by_role("toolbar", name=name).locator(".card")
            for name in ("instruments", "causes")
        )

    def choose(self, number):
        self.inside.get_by_role("button", name=f"patient {number}", exact=True).click()

    def ask(self, *tools):
        for tool in tools:
            self.tools.nth(list(TOOLS).index(tool)).click()

    def cause(self, patient):
        return self.causes.nth(
            sorted(p["diagnosis"] for p in PATIENTS).index(patient["diagnosis"])
        )

    def fitting(self):
        names = self.causes.locator("b").all_inner_texts()
        out = [card.get_attribute("data-out") for card in self.causes.all()]
        return {name for name, struck in zip(names, out, strict=True) if not struck}


def test_readings_leave_the_causes_that_python_leaves_and_say_why(show):
    panel = show(RECORD)
    tools = list(TOOLS)
    for number, patient in list(enumerate(PATIENTS, start=1))[::5]:
        panel.choose(number)
        expect(panel.inside.locator(".symptom")).to_have_text(patient["symptom"])
        three = [tools[(number + 3 * n) % len(tools)] for n in range(1, 4)]
        for count, tool in enumerate(three, start=1):
            panel.ask(tool)
            asked = three[:count]
            out = struck(RECORD, patient["key"], asked)
            left = {p["diagnosis"] for p in PATIENTS if p["key"] not in out}
            assert panel.fitting() == left
            expect(panel.sentence).to_contain_text(f"{minutes(RECORD, asked):g} minute")
            expect(panel.sentence).to_contain_text(
                f"{len(left)} of {len(PATIENTS)} causes fit"
            )
        for other in (p for p in PATIENTS if p["key"] in out):
            why = out[other["key"]]
            expect(panel.cause(other)).to_contain_text(
                f"{TOOLS[why]['name']} would read “{other['readings'][why]['text']}”"
            )
    panel.ask(*three)  # to put them away
    expect(panel.sentence).to_contain_text("0 instruments, 0 minutes")


def test_each_wrong_cause_is_answered_and_the_right_one_with_its_price(show):
    panel = show(RECORD)
    for number, patient in list(enumerate(PATIENTS, start=1))[::5]:
        panel.choose(number)
        few = fewest(RECORD, patient["key"])
        others = {other["key"]: other for other in PATIENTS if other is not patient}
        known = struck(RECORD, patient["key"], few)
        for asked in ([], few):
            panel.ask(*asked)
            for key, other in others.items():
                panel.cause(other).click()
                answer = panel.answer.text_content()
                if key not in known:
                    assert (
                        answer
                        == f"No instrument tells this from “{patient['diagnosis']}”."
                    )
                elif asked:
                    texts = [
                        p["readings"][known[key]]["text"] for p in (patient, other)
                    ]
                    assert answer == (
                        f"No. {TOOLS[known[key]]['name']} reads “{texts[0]}” here, and with "
                        f"“{other['diagnosis']}” it reads “{texts[1]}”."
                    )
                else:
                    assert answer.startswith("No, though nothing")
        price = minutes(RECORD, few)
        names = ", ".join(TOOLS[tool]["name"] for tool in few)
        proof = f"{names} ({price:g} minute{'s' * (price != 1)})."
        right = f"Yes: {patient['diagnosis']}. {patient['cure']} You took "
        panel.cause(patient).click()
        answer = panel.answer.text_content()
        assert answer.startswith(f"{right}{price:g} minute")
        assert answer.endswith(f"no other cause fits. Enough would have been: {proof}")
        panel.ask(*few)  # to put them away: named by luck
        panel.cause(patient).click()
        answer = panel.answer.text_content()
        assert answer.startswith(f"{right}0 minutes, and {len(PATIENTS) - 1} other")
        assert answer.endswith(f"causes still fit. To be certain: {proof}")


def test_by_keyboard_and_said(show):
    panel = show(RECORD)
    panel.tools.first.focus()
    panel.press("Enter")
    reading = PATIENTS[0]["readings"][list(TOOLS)[0]]["text"]
    expect(panel.spoken).to_contain_text(reading)
    panel.press("End")
    panel.press("Space")
    expect(panel.sentence).to_contain_text("2 instruments")
    panel.press("Tab")
    panel.press("Enter")
    expect(panel.answer).not_to_be_empty()
    expect(panel.spoken).to_have_text(panel.answer.text_content())
