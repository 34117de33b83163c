"""BlockLab: 32 values that share a scale, and what each of them becomes in a block
format.
"""

import base64

import numpy as np
from numpy.typing import ArrayLike

from course_utils.explorers import fragment
from course_utils.formats import blocks

COUNT = 32
MOST = 64  # blocks of a tensor that the page holds
TITLES = {
    "mxfp8_e4m3": "MXFP8 E4M3",
    "mxfp8_e5m2": "MXFP8 E5M2",
    "mxfp6_e2m3": "MXFP6 E2M3",
    "mxfp6_e3m2": "MXFP6 E3M2",
    "mxint8": "MXINT8",
    "mxfp4_e2m1": "MXFP4",
    "nvfp4": "NVFP4",
    "e4m3_tensor": "E4M3 with one scale for the tensor",
    "e4m3": "E4M3 without a scale",
}


def parameters(name: str) -> dict:
    """What JavaScript has to know of a format of `blocks.BLOCK_FORMATS`, for JSON."""
    info = blocks.BLOCK_FORMATS[name]
    scales = {"ocp_e8m0": "power", "ocp_e4m3": "e4m3", "binary32": "float32"}
    scale_bits = info.stype.k / info.k if info.k else 0
    return _element(info.etype) | {
        "title": TITLES[name],
        "size": info.k,
        "bits": f"{info.etype.k + scale_bits:g}",
        "emax": info.etype.emax,
        "scale": "none" if name == "e4m3" else scales[info.stype.name],
        "e4m3": _element(info.stype) if name == "nvfp4" else None,
    }


def _element(info):
    return {
        "fraction": info.precision - 1,
        "lowest": 1 - info.bias,  # the octave of the smallest normal number
        "most": float(info.max),
        "least": float(info.min),
        "negative_zero": info.has_nz,
    }


def examples() -> dict:
    """{name: 32 numbers}: the blocks that every BlockLab has.

    Example:
        >>> list(examples())
        ['one outlier', 'even values', 'six decades', 'zeros']
    """
    chance = np.random.default_rng(5)
    signs = chance.choice([-1, 1], COUNT)
    even = signs * chance.uniform(0.5, 1, COUNT)
    outlier = even.copy()
    outlier[20] = 200
    decades = signs * 10.0 ** chance.permutation(np.linspace(-6, 0, COUNT))
    return {
        "one outlier": outlier,
        "even values": even,
        "six decades": decades,
        "zeros": np.zeros(COUNT),
    }


class BlockLab:
    """An interactive figure: drag one of 32 values, and see what their scale leaves to
    the others.

    Args:
        values: an array of numbers, one at least, of any shape. They are read as float32 and cut
            into blocks of 32, row by row; of more than 64 blocks the page has 64, evenly spaced.
            Without any it has those of `examples`, which is what they all are.

    ValueError with one sentence for what is no array of numbers. A value that is not
    finite is shown for what it does: its block becomes NaN.

    Example: `BlockLab(gradient)`
    """

    def __init__(self, values: ArrayLike | None = None):
        own = [] if values is None else [_tensor(values)]
        built_in = examples()
        self.tensors = [*own, _tensor(list(built_in.values()), list(built_in))]

    def _repr_mimebundle_(self, **selection):
        first = self.tensors[0]
        title = f"BlockLab: what {first['total']:,} values become in blocks"
        heads = ["format", "bits a value", "become 0, %", "wrong by, %"]
        formats = list(map(parameters, TITLES))
        rows = []
        for row, zeros, error in zip(
            formats, first["zeros"], first["errors"], strict=True
        ):
            error_percent = "NaN" if error is None else f"{100 * error:.3g}"
            rows.append(
                [row["title"], row["bits"], f"{100 * zeros:.3g}", error_percent]
            )
        data = {"formats": formats, "tensors": self.tensors}
        return fragment.bundle("blocklab", title, heads, rows, data)


def _tensor(values, names=None):
    """What the page holds of a tensor: blocks, their names, and each format's error."""
    results = [blocks.quantize(values, name).values.ravel() for name in TITLES]
    with np.errstate(over="ignore", invalid="ignore"):
        flat = np.asarray(values).astype(np.float32).ravel()
        length = np.linalg.norm(flat.astype(float)) or 1
        errors = [float(np.linalg.norm(rounded - flat)) / length for rounded in results]
    rows = np.pad(flat, (0, -flat.size % COUNT)).reshape(-1, COUNT)
    peaks = np.abs(rows).max(axis=1)
    count = len(rows)
    some = np.linspace(0, count - 1, min(count, MOST)).round().astype(int)
    # behind each block the largest size in all the others
    rests = [np.delete(peaks, at).max(initial=0) for at in some]
    row_bytes = np.column_stack([rows[some], rests]).astype("<f4").tobytes()
    nonzero = flat != 0
    return {
        "total": flat.size,
        "blocks": base64.b64encode(row_bytes).decode(),
        "names": names or [f"block {at + 1:,} of {count:,}" for at in some],
        "zeros": [
            np.sum(rounded[nonzero] == 0) / max(1, nonzero.sum()) for rounded in results
        ],
        "errors": [error if np.isfinite(error) else None for error in errors],
    }
