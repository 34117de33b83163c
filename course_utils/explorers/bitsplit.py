"""BitSplit: sixteen bits divided between exponent and fraction, over the sizes of tensors."""

from course_utils import splits
from course_utils.benchmark import records
from course_utils.explorers import fragment
from course_utils.explorers.scalescope import percent

BOUND = 0.002  # what bfloat16's rounding alone stays below
SHOWN = 10  # the scale in the static table, as a power of two
EARLY, LATE = 5, 85  # epochs of the recorded training
NOTE = (
    "Error: ‖rounded − exact‖ / ‖exact‖. Shares: of the values that are not zero. The loss scale "
    "multiplies gradients. Recorded from the course's CNN in float32, with 256 images: weights and "
    f"the outputs of all layers after {LATE} epochs of training, all gradients after {EARLY} and "
    f"{LATE}."
)


class BitSplit:
    """An interactive figure: drag the border between exponent and fraction, and see what is lost.

    Show it as the last line of a cell. Without JavaScript, and in a notebook that is not trusted,
    a table shows the same errors. `tensors` are those recorded from the course's CNN: {name:
    `splits.survey`}, of the gradients at 25 scales.

    Example: `BitSplit()`
    """

    def __init__(self):
        early, late = (records.splits()[epoch] for epoch in (EARLY, LATE))
        self.tensors = {
            "weights": late["weights"],
            "activations": late["activations"],
            f"gradients, epoch {EARLY}": early["gradients"],
            f"gradients, epoch {LATE}": late["gradients"],
        }

    def _repr_mimebundle_(self, include=None, exclude=None):
        title = "BitSplit: the relative error that each split of 16 bits makes"
        kept = {name: found["kept"] for name, found in self.tensors.items()}
        scaled = {f"{name} × 2^{SHOWN}": k[SHOWN] for name, k in kept.items() if len(k) > 1}
        columns = {name: k[0] for name, k in kept.items()} | scaled
        rows = []
        for place, bits in enumerate(splits.EXPONENT_BITS):
            name = f"{bits} + {15 - bits} {splits.NAMES.get(bits, '')}".rstrip()
            rows.append([name, *(_error(column[place][0]) for column in columns.values())])
        heads = ["exponent + fraction bits", *columns]
        return fragment.bundle("bitsplit", title, heads, rows, self._data())

    def _data(self):
        return {
            "bound": BOUND,
            "note": NOTE,
            "splits": [
                {"bits": bits, "name": splits.NAMES.get(bits, ""), **splits.limits(bits)}
                for bits in splits.EXPONENT_BITS
            ],
            "tensors": [{"name": name, **found} for name, found in self.tensors.items()],
        }


def _error(error):
    return "overflow" if error is None else percent(error)
