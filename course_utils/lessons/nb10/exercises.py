"""Prediction and exercises of notebook 10."""

from course_utils.exercises.engine import Exercise, Prediction, several
from course_utils.lessons.nb10 import judge

TITLE = "Capstone: fine-tune a Transformer in mixed precision"

SUMMARY = "{speedup:g} times as fast, {memory:g} times the memory, {accuracy:g} % right"

PREDICTION = Prediction(
    measures={
        "speedup": ("speedup of a Transformer", "×"),
        "memory": ("peak memory of a Transformer's step", "×"),
        "accuracy": ("digits 5 to 9 told right", "%"),
    },
    example={"speedup": 1.5, "memory": 0.5, "accuracy": 60},
    parse=several({"speedup": 99, "memory": 9, "accuracy": 100}),
    respond=f"You expect: {SUMMARY}. Section 7 measures it.".format_map,
    wanted='three numbers, such as `guess = {"speedup": 1.5, "memory": 0.5, "accuracy": 60}`,'
    " above 0 and at most 99, 9 and 100",
    show=SUMMARY.format_map,
)

EXERCISES = [
    Exercise(
        id=1,
        minutes=6,
        solution=judge.CODE,
        answer=judge.repair_problem,
        slips=judge.REPAIR_SLIPS,
        wrong=[
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
            "Two of them are an argument each. Attention works without one, the head needs one.",
            "`ops.add` of bfloat16 and float32 is float32. Which of the two widens the other, and"
            " what has to be computed before you cast it?",
            "`self.compute_dtype` names the policy's dtype. Cast the waves, not the places.",
        ],
        right="Clean, still mixed, trainable, loaded again, and no two of 2,048 positions alike.",
    ),
    Exercise(
        id=3,
        minutes=3,
        solution=judge.PLANS,
        name="plans",
        answer=judge.plans_problem,
        slips=judge.PLAN_SLIPS,
        hints=[
            "Which setting saves memory in float32, too?",
            "Give the same `accumulate` once with 32 bits and once with 16.",
        ],
        right="The next cell measures them.",
    ),
    Exercise(
        id=2,
        minutes=3,
        solution=judge.DECISION,
        name="decision",
        answer=judge.decision_problem,
        slips=judge.DECISION_SLIPS,
        hints=[
            "Which rows of section 5 keep both limits? If one of them has 32 bits, who needs 16?",
            "Draw zero, the two points to each side, and your interval on a line.",
        ],
        right="Your numbers allow this word. The next cell looks your plan up in your table.",
    ),
]
