"""How fast, how large, how exact: training steps measured under several dtype policies.

Importing this package loads no framework: each name below loads what it needs.
`benchmark.records` reads what was recorded on real devices.
"""

import importlib

_HOME = {
    **dict.fromkeys(
        ("POLICIES", "Comparison", "compare_policies", "loss_curves"), "compare"
    ),
    "ceilings": "rates",
    **dict.fromkeys(("Ratio", "paired"), "ratios"),
    "in_turns": "timer",
    **dict.fromkeys(
        ("Trainee", "batches", "build", "counts_memory", "device"), "trainee"
    ),
}
__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
