"""How exercises 5 and 6 of notebook 01 are judged: sums that float16 rounds back."""

from .answers import describe, missing_key, number

# --- 5: updates that vanish ---------------------------------------------------------------------

RATIOS = (2048, 4096)
SHARES = {2048: 1 / 1024, 4096: 1}
NOT_THE_SHARES = [
    (
        {2048: 1, 4096: 1},
        "With ratio 2048 nearly every w gets more than half a step added, and moves. Which w gets"
        " exactly half?",
    ),
    (
        {2048: 0, 4096: 1},
        "With ratio 2048 one w gets exactly half a step. That tie goes to the even neighbor.",
    ),
    (
        {2048: 0.5, 4096: 1},
        "About one half is right for a ratio of 3072. With 2048, w / ratio is half a step or more.",
    ),
    ({2048: 1023 / 1024, 4096: 0}, "Those are the shares that change. Give those that stay."),
    ({2048: 1, 4096: 1 / 1024}, "The two are swapped: the larger ratio adds less."),
    ({2048: 1, 4096: 1024}, "Those are counts. Divide by the 1,024 numbers."),
    (
        {2048: 0, 4096: 0},
        "In float64 and float32 no w stays. Turn w into float16 before you divide and add.",
    ),
    (
        {2048: 1 / 1024, 4096: 0},
        "Ratio 2048 is right. With ratio 4096 every w gets less than half a step added.",
    ),
    (
        {2048: 1 / 1024, 4096: 1 / 1024},
        "Ratio 2048 is right. With 4096 the addend is half as large: does any w still move?",
    ),
]


def check_shares(answer):
    """Compare a dictionary ratio -> share with 1/1024 and 1.

    >>> check_shares({2048: 1, 4096: 1024})
    'Those are counts. Divide by the 1,024 numbers.'
    """
    if problem := missing_key(answer, list(RATIOS)):
        return problem
    given = {ratio: number(answer[ratio]) for ratio in RATIOS}
    for ratio, value in given.items():
        if value is None:
            return f"Ratio {ratio}: you gave {describe(answer[ratio])}; give a share, such as 0.25."

    if all(abs(given[ratio] - share) < 3e-5 for ratio, share in SHARES.items()):  # 0.001 too
        return None
    if given[4096] == 100:
        return "Those are percentages. Give shares between 0 and 1."
    for shares, message in NOT_THE_SHARES:
        if all(abs(given[r] - s) <= max(3e-5, 0.002 * min(s, 1)) for r, s in shares.items()):
            return message  # 513/1024 counts as one half
    wrong = next((r for r in RATIOS if abs(given[r] - SHARES[r]) > 3e-5), 4096)
    if not 0 <= given[wrong] <= 1:
        return f"Ratio {wrong}: you gave {given[wrong]:g}, and a share lies between 0 and 1."
    side = "small" if given[wrong] < SHARES[wrong] else "large"
    return f"Ratio {wrong}: {given[wrong]:g} is too {side}. Half a step of float16 is 2**-11 there."


# --- 6: where a sum stalls ----------------------------------------------------------------------

SUMS = {"float16": 512, "bfloat16": 64}
NOT_THE_SUMS = [
    (
        (2048, 256),
        "Those are the sums of 1.0, or how many additions count. The addend here is 0.25.",
    ),
    ((2500, 2500), "That is the exact sum. Round to the format after each addition."),
    ((2500, 2496), "You round once, at the end. A running sum is rounded at each step."),
    (
        (1024, 128),
        "The sums stop earlier. Where 0.25 is half a step, it is a tie, and the even sum stays.",
    ),
    ((64, 512), "The two are swapped: bfloat16 has fewer fraction bits."),
    ((256, 32), "There the step is 0.25, so the next sum is exact. Go on until 0.25 is lost."),
    ((512, 512), "float16 is right. bfloat16 has 7 fraction bits and stops earlier."),
    ((512, 2500), "float16 is right. bfloat16 has the larger range, but not the finer steps."),
    ((65504, 256), "65,504 is where the range ends. No sum of ten thousand 0.25 gets that far."),
]


def check_sums(answer):
    """Compare a dictionary format -> sum with 512 and 64.

    >>> check_sums({"float16": 2500, "bfloat16": 2500})[:27]
    'That is the exact sum. Roun'
    """
    if problem := missing_key(answer, list(SUMS)):
        return problem
    given = {}
    for name in SUMS:
        given[name] = number(answer[name])
        if given[name] is None:
            return f"{name}: you gave {describe(answer[name])}; give one finite number."
    if given == SUMS:
        return None
    for sums, message in NOT_THE_SUMS:
        if tuple(given.values()) == sums:
            return message
    name = next(name for name in SUMS if given[name] != SUMS[name])
    right = "".join(f"{other} is right. " for other in SUMS if given[other] == SUMS[other])
    if abs(given[name] - SUMS[name]) == 0.25:
        return f"{right}{name}: you gave {given[name]:g}, one addition beside the end."
    side = "further" if given[name] < SUMS[name] else "less far"
    return (
        f"{right}{name}: you gave {given[name]:g}, and the sum gets {side}. "
        "Where is 0.25 half a step?"
    )
