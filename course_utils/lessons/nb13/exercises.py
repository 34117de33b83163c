"""Prediction and exercises of notebook 13."""

from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.exercises.judges import Fields, Number

TITLE = "How far could it go?"

PREDICTION = Prediction(
    measures=("the best possible time, of the measured time", "%"),
    example=50,
    parse=within(1e-6, 100),
    wanted="a percentage above 0 and up to 100, such as 50 for one half",
    respond="You expect that the best possible time is {:g} % of the measured one.".format,
)

ROWS = 64
INPUTS = 512
OUTPUTS = 256
FLOPS = 2 * ROWS * INPUTS * OUTPUTS
INPUT_NUMBERS = ROWS * INPUTS
WEIGHT_NUMBERS = INPUTS * OUTPUTS
OUTPUT_NUMBERS = ROWS * OUTPUTS
NUMBERS = INPUT_NUMBERS + WEIGHT_NUMBERS + OUTPUT_NUMBERS
COUNT = Fields(
    {
        "flops": Number(
            FLOPS,
            {
                FLOPS / 2: "That counts multiplications. An addition follows each one.",
                3 * FLOPS: "That counts the two products of the way back, too."
                " The forward pass is one product.",
                2
                * OUTPUT_NUMBERS: "That is one multiplication for each result. Each result is"
                " a sum over all 512 inputs.",
                2 * WEIGHT_NUMBERS: "That is one row. The layer turns 64 of them.",
            },
            otherwise="{value:.9g} does not fit: two for each row, input and output.",
            close=0.001,
        ),
        "bytes": Number(
            4 * NUMBERS,
            {
                NUMBERS: "That counts numbers. In float32 each has 4 bytes.",
                4 * (INPUT_NUMBERS + OUTPUT_NUMBERS): "The weights are read as well.",
                4 * (INPUT_NUMBERS + WEIGHT_NUMBERS): "The result is written as well.",
                2 * NUMBERS: "In float32 a number has 4 bytes, not 2.",
            },
            otherwise="{value:.9g} does not fit: the layer reads its input and its weights, and"
            " it writes its result.",
            close=0.001,
        ),
        "flops per byte": Number(
            FLOPS / (4 * NUMBERS),
            {
                4 * NUMBERS / FLOPS: "That is upside down: bytes for each flop.",
                FLOPS / NUMBERS: "That is flops for each number. A number has 4 bytes.",
            },
            otherwise="{value:g} does not fit: divide the flops by the bytes.",
            close=0.005,
        ),
    }
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
        (3.9, 4): "That is near: give two decimals.",
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
    otherwise="You gave {value:.4g}. In float32 the layer reaches 8.1 TFLOP/s; how many"
    " numbers does memory bring in float16?",
    asked="give one number, without quotes or units",
    close=0.005,
)

PEAK = Fields(
    {
        "blocks of 4": Number(
            200,
            {
                640: "That is the step that keeps everything.",
                160: "The backward pass also holds one block's outputs again.",
                40: "You count one block. The inputs of all 16 are kept as well.",
                20: "That counts outputs. Each has 10 MB.",
            },
            otherwise="{value:g} does not fit: 16 inputs of blocks, and the 4 outputs of one.",
            asked="give one number, in MB",
        ),
        "best block": Number(
            8,
            {
                (1, 2, 4): "Short blocks keep many inputs. Try longer ones.",
                (
                    16,
                    32,
                    64,
                ): "Long blocks recompute many outputs at once. Try shorter ones.",
            },
            otherwise="Blocks of {value:g} layers: 64 / {value:g} inputs and {value:g} outputs.",
            asked="give the layers in one block",
        ),
    }
)

EXERCISES = [
    Exercise(
        id=1,
        minutes=5,
        solution="""\
flops = 2 * 64 * 512 * 256
moved = 4 * (64 * 512 + 512 * 256 + 64 * 256)  # input, weights, result
answer = {"flops": flops, "bytes": moved, "flops per byte": flops / moved}""",
        answer=COUNT,
        hints=[
            "Each of the 64 · 256 results is a sum of 512 products.",
            "Bytes: the input, the weights and the result, 4 for each number.",
        ],
        right="23 flops for each byte. A device that can do more while it moves a byte waits for"
        " the bytes of this layer.",
    ),
    Exercise(
        id=2,
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
        right="In float32 arithmetic is the limit, in float16 memory: half of the 65 is out of"
        " reach.",
    ),
    Exercise(
        id=3,
        minutes=3,
        solution='answer = {"blocks of 4": (64 / 4 + 4) * 10, "best block": 8}',
        answer=PEAK,
        wrong=[({"blocks of 4": 170, "best block": 8}, "170 does not fit")],
        hints=[
            "Kept from the forward pass: the input of each block. Made again: one block's outputs.",
            "Add the two for blocks of 1, 2, 4, 8, 16, 32 and 64 layers.",
        ],
        right="8 + 8 outputs in place of 64: 8 is the square root of the depth.",
    ),
]
