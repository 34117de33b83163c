"""Prediction and exercises of notebook 01."""

from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.exercises.functions import parts
from course_utils.lessons.nb01 import judge

TITLE = "Floats: why ten thousand ones are not 10,000"


PREDICTION = Prediction(
    measures=("ten thousand ones, summed in float16", "the sum"),
    example="10_000",
    parse=within(1e-6, 1e6),
    wanted="one number above 0, and not above 1,000,000",
    respond="You expect the sum to say {:,.10g}. The measurement comes further down.".format,
)

EXERCISES = [
    Exercise(
        id=9,
        minutes=4,
        solution="""\
answer = 0b1_10001_1001000000  # 6.25 = 1.5625 * 2**2""",
        answer=judge.CODE,
        explore=judge.lab_of_bits,
        hints=[
            "Halve 6.25 until it lies between 1 and 2. How often did you halve it?",
            "6.25 is binary 110.01, which is 1.1001 × 2**2. The exponent field holds 2 + 15.",
            "The fraction field begins after the point: the 1 before it is not stored.",
        ],
        wrong=[
            (0xC641, "1 10001 1001000001 is -6.25391"),
            (0x1C640, "Give 16 bits"),
            ("1 10001 1001000000", "without quotes"),
        ],
        right="1 10001 1001000000 is −1.5625 × 2**2.",
    ),
    Exercise(
        id=11,
        minutes=2,
        solution="""\
answer = 2 ** (1 + 23) + 1  # the implicit bit and 23 stored ones; 2**24 is a power of two""",
        answer=judge.FIRST_GAP,
        explore=lambda answer: judge.lab_of_number(answer, "float32"),
        hints=[
            "The significand has 24 bits: 1 implicit and 23 stored.",
            "With 3 bits you can write 1 to 7, and 8 as 1.00 × 2**3. Which is the first that is too"
            " long?",
        ],
        wrong=[
            (2**24 + 2, "float32 holds 16,777,218"),
            (2**24 + 3, "smaller one that it cannot"),
            (10**20, "cannot hold 1e+20"),
            (0, "positive whole number"),
        ],
        right="16,777,217 needs 25 bits. From 2**24 on the gap is 2, and float32 skips it.",
    ),
    Exercise(
        id=4,
        minutes=2,
        solution="""\
largest = (2 - 2**-10) * 2**15
gap = 2**-10 * 2**15
answer = largest + gap / 2  # a tie: the last bit of the largest number is 1""",
        answer=judge.LIMIT,
        explore=judge.lab_of_number,
        hints=[
            "The largest finite number is 65,504. How large is the gap right below it?",
            "If the exponent went on, 65,536 would follow. What happens halfway?",
            "The fraction of 65,504 is all ones, so its last bit is odd.",
        ],
        wrong=[(65518, "to 65,504, a finite number"), (65530, "not the smallest")],
        right="65,520 is the tie between 65,504 and 65,536. The even neighbor is beyond the range.",
    ),
    Exercise(
        id=10,
        minutes=3,
        solution=parts(judge.FITTING_FORMATS.right),
        answer=judge.FITTING_FORMATS,
        explore=judge.lab_of_format,
        hints=[
            "Gradients ask for range, scores for a small gap, counts for both.",
            "Write 0.002 as a power of two, and compare it with the gaps above 1.",
            "With n significant bits, whole numbers are exact up to 2**n.",
        ],
        right="Range is bfloat16's strength, the gap float16's. 99,999 needs 17 bits: float32.",
    ),
]
