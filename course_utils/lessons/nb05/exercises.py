"""Prediction and exercises of notebook 05."""

from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.lessons.nb05 import slow_training

TITLE = "Find out where the time goes"

PREDICTION = Prediction(
    measures=("products, of a step's time", "%"),
    example=50,
    parse=within(1e-6, 100),
    wanted="a percentage above 0 and up to 100, such as 50 for one half",
    respond="You expect products to take {:g} % of the step. The measurement comes below.".format,
)

EXERCISES = [
    Exercise(
        id=9,
        minutes=12,
        solution="""\
answer = ["batch", "graph", "tensorflow", "prefetch", "float32", "statistics"]""",
        answer=slow_training.judge,
        hints=[
            "Take the longest part of the newest bar first. A network of three Dense layers needs"
            " eight products in one step. How many `calls` does your table show?",
            "In the column `op`, PyFunc is Python, TopKV2 sorts, and a MatMul that takes far"
            " longer than the other products computes in a wider dtype.",
        ],
        right='None of the six was about 16 bits. Add `"bfloat16"` as the seventh and see what'
        " it does now.",
        wrong=[
            ("batch", "give a list of names"),
            (["batch", "shuffle"], "You gave the text 'shuffle' in the list"),
            (["bfloat16"], "this step spends its time elsewhere"),
            ([], "You repaired 0 of 6"),
            (
                ["graph", "batch"],
                "2 of 6 faults. The rest shows in these parts of the bar",
            ),
            (
                ["batch", "graph", "tensorflow", "prefetch", "statistics"],
                "of the bar: products.",
            ),
        ],
    )
]
