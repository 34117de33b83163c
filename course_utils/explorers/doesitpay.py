"""DoesItPay: from which batch on 16 bits save memory, counted for three networks."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from course_utils.explorers import fragment

LEFT_OUT = (
    "The optimizer is Adam. Left out are dropout, the working space of the routines, and "
    "the gradients of the activations. Where scores stay in float32 (MultiHeadAttention "
    "without dropout) or go (fused attention), 16 bits pay later. All parts are added up, "
    "though a step does not hold all of them at one moment: the copies go early, so that "
    "at a small batch 16 bits may cost less than this."
)
SIDES = (14, 28, 56, 112, 224)  # pixels
TOKENS = tuple(2**n for n in range(6, 14))
WIDTHS = (256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
BATCHES = tuple(2**n for n in range(13))
DTYPES = ("float32", "bfloat16", "float16")


class Counts(NamedTuple):
    """How many numbers a training step keeps: weights, and activations of one example."""

    copies: int  # weights that a 16-bit policy copies
    singles: int  # weights of layers that compute in float32 under every policy
    activations: int  # what layers put out, in the policy's compute dtype
    logits: int  # the same in float32 under every policy

    @property
    def break_even(self) -> float:
        """The batch at which 16 bits save as much as they cost."""
        return self.copies / self.activations


def cnn(side: int, width: int) -> Counts:
    """The course's CNN, `models.mnist_cnn(width)`, for images of side × side pixels.

    Example:
        >>> cnn(28, 32)
        Counts(copies=1010176, singles=1290, activations=34912, logits=10)
    """
    first = side - 2
    pool = first // 2
    flat = (pool - 2) ** 2 * 2 * width
    weights = (9 + 1) * width + (9 * width + 1) * 2 * width + (flat + 1) * 4 * width
    outputs = (first**2 + pool**2) * width + flat + 4 * width
    return Counts(weights, (4 * width + 1) * 10, outputs, 10)


def transformer(tokens: int, width: int, blocks: int, head: int, words: int) -> Counts:
    """Blocks as `models.transformer_block`, between embeddings of words and positions,
    and logits for each word from the same embedding.

    A block has 12 width² + 13 width weights. It keeps 14 width numbers for each token
    (two normalizations, query, key, value, their weighted sum, its projection, a sum,
    four of the hidden layer, one after it, a sum) and a score for each head and token.
    Korthikanti et al., 2022, https://arxiv.org/abs/2205.05198, keep GELU's input too
    (4 more), and not what is only added to something (2 fewer).
    """
    weights = blocks * (12 * width**2 + 13 * width) + (words + tokens + 2) * width
    each = blocks * (14 * width + width // head * tokens)
    return Counts(weights, 0, tokens * each, tokens * words)


@dataclass(frozen=True)
class Network:
    """A preset, and the sizes that its sliders offer."""

    name: str
    count: Callable[..., Counts]
    places: int  # tokens, or pixels of a side
    width: int
    unit: str  # "tokens" or "pixels"
    choices: tuple[tuple, tuple]  # of places and of widths
    note: str


def _of_text(name, tokens, width, note, **shape):
    note = (
        f"{shape['blocks']} blocks ({note}). A block has 12 × width² + 13 × width weights. For "
        "each token 14 × width activations count, and one attention score for each head and "
        f"token; a head is {shape['head']} wide. There are embeddings of {shape['words']:,} words."
    )
    note += f" {shape['words']:,} logits a token stay in float32."
    count = partial(transformer, **shape)
    return Network(name, count, tokens, width, "tokens", (TOKENS, WIDTHS), note)


NETWORKS = (
    Network(
        "The course's CNN", cnn, 28, 32, "pixels", (SIDES, (8, 16, 32, 64, 128)),
        "Two convolutions, a pooling and two dense layers, counted layer by layer. The "
        "width is the number of filters of the first one. The 10 logits stay in float32. In "
        "so short a network the gradients of the activations are large: those of the first two "
        "layers take about three quarters of what all activations take.",
    ),
    _of_text("GPT-2", 1024, 768, "Radford et al., 2019", blocks=12, head=64, words=50_257),
    _of_text("7 billion parameters", 2048, 4096, "as many and as wide as those of Llama 7B, "
             "Touvron et al., 2023, but of GPT-2's form", blocks=32, head=128, words=32_000),
)  # fmt: skip


class DoesItPay:
    """An interactive figure: set batch, tokens or pixels, and width, and see whether 16
    bits save memory.

    Args:
        points: (batch, dtype, bytes) of measured peaks of the course's CNN, a dtype
            being "float32", "bfloat16" or "float16", or a policy's name. Of several for
            a batch and a dtype the last one counts; bytes that are not finite are left
            out. A batch shows if it was measured in float32 and in 16 bits.

    Raises ValueError for a batch or bytes below one, and for another dtype.

    Example: `DoesItPay(points=[(64, "float32", 35e6), (64, "mixed_bfloat16", 25e6)])`
    """

    def __init__(self, points: Iterable[tuple[int, str, float]] | None = None):
        peaks: dict[tuple[int, str], float] = {}
        for batch, policy, size in points or ():
            dtype = str(policy).removeprefix("mixed_")
            if dtype not in DTYPES or batch < 1 or size < 1:
                raise ValueError(
                    f"{(batch, policy, size)} is no point: give a batch and bytes of at least 1, "
                    f"and as dtype one of {', '.join(DTYPES)}."
                )
            if math.isfinite(size):
                peaks[int(batch), dtype] = float(size)
        self.points = [
            [batch, dtype, round(1 - size / peaks[batch, "float32"], 4)]
            for (batch, dtype), size in peaks.items()
            if dtype != "float32" and (batch, "float32") in peaks
        ]

    def _repr_mimebundle_(self, **selection):
        title = "DoesItPay: from which batch on a training step in 16 bits saves memory"
        heads = ["network", "weights", "activations of one example", "equal at batch"]
        rows = [_row(network) for network in NETWORKS]
        return fragment.bundle("doesitpay", title, heads, rows, self._data())

    def _data(self):
        networks = []
        for each in NETWORKS:
            places, widths = each.choices
            grid = [[each.count(place, width) for width in widths] for place in places]
            start = {
                "place": places.index(each.places),
                "width": widths.index(each.width),
            }
            networks.append(
                {"name": each.name, "unit": each.unit, "places": places, "widths": widths,
                 "start": start, "note": each.note, "counts": grid}
            )  # fmt: skip
        batches = sorted({*BATCHES, *(batch for batch, _, _ in self.points)})
        return {
            "networks": networks,
            "batches": batches,
            "points": self.points,
            "note": LEFT_OUT,
        }


def _row(network):
    """A preset's line of the static table."""
    counts = network.count(network.places, network.width)
    side = f"{network.places} × " if network.unit == "pixels" else ""
    return [
        f"{network.name}, {side}{network.places} {network.unit}",
        f"{sum(counts[:2]):,}",
        f"{counts.activations + counts.logits:,}",
        f"{counts.break_even:.3g}",
    ]
