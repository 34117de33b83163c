"""Every explorer with something to show, for the tests that hold for all of them."""

IMPORTS = """import numpy as np
from course_utils import records
from course_utils.explorers import *
"""
# By the name of an explorer's module: what makes one.
SOURCES = {
    "floatlab": "FloatLab('65520')",
    "scalescope": "ScaleScope({f'a_rather_long_scope/block_{k}/dense/kernel': np.append(1.0,"
    " 2.0 ** np.random.default_rng(k).normal(2 * k - 30, 1 + k, 20_000)) for k in range(5)})",
    "bitsplit": "BitSplit()",
    "blocklab": "BlockLab(np.random.default_rng(0).normal(size=(90, 33)) ** 9)",
    "panel": "InstrumentPanel(records.clinic())",
    "softmaxcliff": "SoftmaxCliff(lambda policy, gaps, scale:"
    " np.where(gaps < 9, 1, np.nan if policy == 'mixed_float16' and scale > 9 else 0),"
    " [-9, 3, *np.arange(14, 40)])",
    "doesitpay": "DoesItPay(points=[(64, 'float32', 35e6), (64, 'mixed_bfloat16', 25e6)])",
}
HOSTS = ", ".join(f"[data-{name}]" for name in SOURCES)


def made(source):
    names = {}
    exec(IMPORTS, names)
    return eval(source, names)
