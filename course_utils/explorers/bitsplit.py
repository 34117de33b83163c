"""BitSplit: sixteen bits divided between exponent and fraction, over the sizes of
tensors.
"""

from course_utils import records
from course_utils.explorers import fragment
from course_utils.explorers.scalescope import percent
from course_utils.gradients import splits

BOUND = 0.002  # where the green band ends
SCALES = range(25)  # of gradients, as powers of two
TABLE_SCALE = 10  # the scale in the static table
# epochs of the recorded training
EARLY = 5
LATE = 85
NOTE = (
    "Error: ‖rounded − exact‖ / ‖exact‖. Shares: of the values that are not zero. The loss scale "
    "multiplies gradients. Band below 0.2 %: where our tensors lie in bfloat16."
)
RECORDED_NOTE = (
    " Recorded from the course's CNN in float32, with 256 images: weights and the outputs of all "
    f"layers after {LATE} epochs of training, the gradients of both after {EARLY} and {LATE}."
)


class BitSplit:
    """An interactive figure: drag the border between exponent and fraction, and see
    what is lost.

    Args:
        tensors: name=values, as `gradients.OctaveHistogram.from_values` takes them, or **{"any
            name": values}; a loss scale multiplies those whose name begins with "gradient".
            Without any, weights, activations and gradients recorded from the course's CNN.

    Example: `BitSplit(weights=model.get_weights(), gradients=tape_gradients)`
    """

    def __init__(self, **tensors: object):
        self.note = NOTE if tensors else NOTE + RECORDED_NOTE
        self.tensors = {
            name: splits.survey(values, SCALES if name.startswith("gradient") else [0])
            for name, values in tensors.items()
        } or _recorded_tensors()

    def _repr_mimebundle_(self, **selection):
        title = "BitSplit: the relative error that each split of 16 bits makes"
        shares = {name: tensor["kept"] for name, tensor in self.tensors.items()}
        columns = {name: scales[0] for name, scales in shares.items()}
        columns |= {
            f"{name} × 2^{TABLE_SCALE}": scales[TABLE_SCALE]
            for name, scales in shares.items()
            if len(scales) > 1
        }
        rows = []
        for place, bits in enumerate(splits.EXPONENT_BITS):
            name = f"{bits} + {15 - bits} {splits.NAMES.get(bits, '')}".rstrip()
            errors = [column[place][0] for column in columns.values()]
            texts = [
                "overflow" if error is None else percent(error) for error in errors
            ]
            rows.append([name, *texts])
        heads = ["exponent + fraction bits", *columns]
        return fragment.bundle("bitsplit", title, heads, rows, self._data())

    def _data(self):
        return {
            "bound": BOUND,
            "note": self.note,
            "splits": [
                {
                    "bits": bits,
                    "name": splits.NAMES.get(bits, ""),
                    **splits.split_limits(bits),
                }
                for bits in splits.EXPONENT_BITS
            ],
            "tensors": [{"name": name, **one} for name, one in self.tensors.items()],
        }


def _recorded_tensors():
    early = records.splits()[EARLY]
    late = records.splits()[LATE]
    return {
        "weights": late["weights"],
        "activations": late["activations"],
        f"gradients, epoch {EARLY}": early["gradients"],
        f"gradients, epoch {LATE}": late["gradients"],
    }
