"""What data-parallel training costs, on paper: bytes and seconds.

Plain arithmetic; nothing here measures, and nothing needs a framework.
"""

import math
from dataclasses import dataclass

GRADIENT_BYTES = 4  # of each gradient that Keras exchanges, under its mixed policies too


@dataclass(frozen=True)
class Link:
    """What connects two devices: bytes a second in one direction; seconds for a message of none."""

    bytes_per_second: float
    latency: float = 0.0


def ring_bytes(elements: float, devices: int) -> float:
    """Bytes that each of N devices sends in a ring all-reduce, and as many that it receives.

    The numbers are cut into as many parts as there are devices. In N - 1 rounds every part goes
    around and is summed, in N - 1 more the sums go around; each round sends one part. Source:
    Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
    2009.

    Example:
        >>> ring_bytes(1_011_466, 4)
        6068796.0
    """
    return 2 * (devices - 1) / devices * elements * GRADIENT_BYTES


def step_seconds(
    compute: float, elements: float, devices: int, link: Link, tree: bool = False
) -> float:
    """How long a training step takes, each device with a batch of the same size.

    `compute`: seconds of one device's own work. The all-reduce of the gradients comes after it, and
    nothing of it is hidden: a ring's bytes, and one latency for each round. A ring of N has
    2 (N - 1) rounds; a tree has twice its depth, and sends about as many bytes. Source of the
    trees: Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction
    and scan", 2009.

    Example:
        >>> step_seconds(0.1, 1e6, 2, Link(1e8))
        0.14
    """
    rounds = 2 * math.ceil(math.log2(devices)) if tree else 2 * (devices - 1)
    sent = ring_bytes(elements, devices)
    return compute + sent / link.bytes_per_second + rounds * link.latency


def speedup(compute: float, elements: float, devices: int, link: Link, tree: bool = False) -> float:
    """How many times as many samples a second as one device: N times compute over step.

    Example:
        >>> round(speedup(0.1, 1e6, 2, Link(1e8)), 2)
        1.43
    """
    return devices * compute / step_seconds(compute, elements, devices, link, tree)
