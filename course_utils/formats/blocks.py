"""Numbers that share a scale, block by block.

The block formats are those of the OCP Microscaling Formats (MX) Specification v1.0
(2023), as gfloat has them, and NVIDIA's NVFP4 (arXiv:2509.25149, appendix C). Two of
E4M3 stand beside them to be compared: with one scale for the whole tensor, and without
any.
"""

from dataclasses import dataclass

import numpy as np
from gfloat import BlockFormatInfo, round_ndarray
from gfloat import formats as infos
from numpy.typing import ArrayLike

_E4M3 = infos.format_info_ocp_e4m3
_NVFP4 = BlockFormatInfo("nvfp4", infos.format_info_ocp_e2m1, 16, _E4M3)
# Blocks of 0 values are as long as the tensor.
_TENSOR = BlockFormatInfo("e4m3_tensor", _E4M3, 0, infos.format_info_binary32)
_BARE = BlockFormatInfo("e4m3", _E4M3, 0, infos.format_info_binary32)
BLOCK_FORMATS = {
    info.name: info for info in (*infos.all_block_formats, _NVFP4, _TENSOR, _BARE)
}


@dataclass(frozen=True, eq=False)
class Quantized:
    """What values become in a block format, as `quantize` gives it."""

    values: np.ndarray  # float64, of the shape that was given
    scales: np.ndarray  # float64 (blocks,)
    tensor_scale: float  # of nvfp4, one more factor of every value; else 1


def quantize(
    values: ArrayLike, fmt: str, block: int | None = None, up: bool = False
) -> Quantized:
    """Round values to a format of `BLOCK_FORMATS`, with a scale for each block of them.

    Args:
        values: one number at least, in any shape. They are read as float32 and cut into blocks row
            by row; zeros fill the last one.
        block: how many values share a scale, if not as many as the format says: a whole number
            from 1 on.
        up: round the scales of MX formats up, so that nothing becomes too large.

    An MX scale is the power of two in the block's largest size (the largest one at or
    below it) over that in the largest number of the element type, and at least
    2**-127, as section 6.3 of the specification has it; with `up` it is the smallest
    power of two with which the largest size fits. The scale of nvfp4 is an E4M3 number
    that brings the largest size to 6, and that of the tensor a float32 that brings the
    largest scale to 448. Elements are rounded to nearest even, and what is too large
    becomes the largest number. Where a size under a scale is not finite, all values
    under it become NaN. ValueError with one sentence for what is no number, and for
    another format or block.

    Example:
        >>> quantize([4.0, 0.3, 0.1], "mxfp4_e2m1").values.tolist()
        [4.0, 0.5, 0.0]
        >>> quantize([7.0, 0.3, 0.1], "mxfp4_e2m1").values.tolist()
        [6.0, 0.5, 0.0]
        >>> quantize([7.0, 0.3, 0.1], "mxfp4_e2m1", up=True).values.tolist()
        [8.0, 0.0, 0.0]
    """
    if not isinstance(fmt, str) or fmt not in BLOCK_FORMATS:
        raise ValueError(
            f"There is no {fmt!r}: choose one of {', '.join(BLOCK_FORMATS)}."
        )
    if block is not None and not _is_length(block):
        raise ValueError(
            "A block is as many values as share a scale, a whole number from 1 on, or"
            f" None; you gave {block!r}."
        )
    info = BLOCK_FORMATS[fmt]
    try:
        array = np.asarray(values)
    except ValueError:  # lists of several lengths
        array = np.empty(0)
    if not array.size or array.dtype == bool or not np.can_cast(array.dtype, float):
        raise ValueError("Give an array of real numbers, one at least.")
    with np.errstate(over="ignore", invalid="ignore"):
        flat = array.astype(np.float32).astype(float).ravel()
    size = block or info.k or flat.size
    rows = np.pad(flat, (0, -flat.size % size)).reshape(-1, size)
    largest = np.abs(rows).max(axis=1)
    largest[np.isinf(largest)] = np.nan
    tensor_scale = 1.0
    if info is _BARE:
        scales = np.ones(len(rows))
    elif info.stype is infos.format_info_ocp_e8m0:
        octave = np.frexp(largest)[1] - 1 - info.etype.emax
        if up:  # one more where the largest size lies above the largest number
            octave += largest > np.ldexp(info.etype.max, octave)
        scales = np.ldexp(1.0, np.where(largest > 0, np.maximum(octave, -127), -127))
        scales[np.isnan(largest)] = np.nan
    else:
        wanted = largest / info.etype.max
        if info is _NVFP4:
            tensor_scale = float(np.float32(wanted.max() / _E4M3.max)) or 1.0
        scales = round_ndarray(info.stype, wanted / tensor_scale, sat=True)
    # Where a scale has become 0, the values are too small for any.
    steps = np.where(scales == 0, 1.0, scales)[:, None] * tensor_scale
    rounded = round_ndarray(info.etype, rows / steps, sat=True) * steps
    result = rounded.ravel()[: flat.size].reshape(array.shape)
    return Quantized(result, scales, tensor_scale)


def _is_length(block):
    # Python counts True as the number 1.
    return (
        isinstance(block, int | np.integer)
        and not isinstance(block, bool)
        and block >= 1
    )
