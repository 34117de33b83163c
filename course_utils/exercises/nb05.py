"""Prediction and exercises of notebook 05."""

from . import mystery, slow
from .engine import Exercise, Prediction, within
from .judges import Number, nearly

TITLE = "Find out where the time goes"

PREDICTION = Prediction(
    measures={"": ("products, of a step's time", "%")},
    example=50,
    read=within(1e-6, 100),
    wanted="a percentage above 0 and up to 100, such as 50 for one half",
    said="You expect that they take {:g} % of the step. The measurement comes below.".format,
)

SPEEDUP = 0.32 * 100 / 8.1  # float16 reaches what memory allows, float32 its peak
ROOFLINE = Number(
    SPEEDUP,
    {
        65
        / 8.1: "That is the ratio of the peaks. In float16 the layer does 100 operations per"
        " byte, and it takes 203 to reach the peak.",
        16
        / 8.1: "That leaves 50 operations per byte. In float16 the bytes are halved, so it is"
        " 100.",
        2.0: "Half the bytes make it twice as fast where memory is the limit in both dtypes. In"
        " float32 arithmetic is.",
        65
        / 16: "That takes the wrong limit twice. In each dtype the lower one counts: in float32"
        " it is 8.1, and memory allows 16.",
        8
        / 8.1: "That halves the operations per byte. Half the bytes make it twice as many: 100.",
        1.0: "In float32 the arithmetic is the limit, and float16 has a higher peak. So it gains.",
        1
        / SPEEDUP: "That is upside down: divide what float16 reaches by what float32 reaches.",
        65
        / 32: "That is how far float16 stays below its peak. Divide 32 by what float32 reaches.",
        32: "That is what float16 reaches, in TFLOP/s. Divide by that of float32.",
        SPEEDUP
        - 1: "That is the gain. Give how many times as fast it is, as 2 for twice.",
    },
    rules=(nearly(4, SPEEDUP, 0.02),),
    otherwise="You gave {value:.4g}. In float32 the layer reaches 8.1 TFLOP/s; how many numbers"
    " does memory bring in float16?",
    asked="give one number, without quotes or units",
    close=0.005,
)

EXERCISES = [
    Exercise(
        id=9,
        minutes=12,
        solution="""\
answer = ["batch", "graph", "tensorflow", "prefetch", "float32", "statistics"]""",
        answer=slow.judge,
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
            (["batch", 3], "in the list"),
            (["graph", "graph"], "stands in the list twice"),
            (["bfloat16"], "this step spends its time elsewhere"),
            ([], "You repaired 0 of 6"),
            (["graph", "Batch"], "You gave the text 'Batch' in the list"),
            (
                ["graph", "batch"],
                "2 of 6 faults. The rest shows in these parts of the bar",
            ),
            (
                ["batch", "graph", "tensorflow", "prefetch", "statistics"],
                "of the bar: products.",
            ),
        ],
    ),
    Exercise(
        id=7,
        minutes=5,
        solution="""\
answer = {
    "A": "input",  # the pipeline takes the whole step to make the next batch
    "B": "launch",
    "C": "products",
    "A gains": 1.0,
    "B gains": 10 / (10 - 2.1 / 2),
    "C gains": 32 / (32 - 24 / 2),
}""",
        answer=mystery.JUDGE,
        hints=[
            '`profiling.budget(mysteries["A"])` gives the milliseconds of each part.',
            "In A, look at the lane of the input pipeline: does it ever rest?",
        ],
        right="A wants a faster pipeline, B a larger batch. Only C wants 16 bits.",
    ),
    Exercise(
        id=1,
        minutes=4,
        solution="""\
in_float32 = min(8.1, 0.32 * 50)  # TFLOP/s: the peak, or what memory allows
in_float16 = min(65, 0.32 * 100)
answer = in_float16 / in_float32""",
        answer=ROOFLINE,
        hints=[
            "Memory allows bytes per second times operations per byte. Compare that with the peak,"
            " once for each dtype.",
            "In `float32` the layer reaches 8.1 TFLOP/s. In `float16` it does 100 operations per"
            " byte, and memory allows 0.32 × 100.",
        ],
        right="In float32 arithmetic is the limit, in float16 memory: half of the 8 is out of"
        " reach.",
    ),
]
