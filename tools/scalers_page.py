"""What data/scalers.json says, as docs/scalers.md shows it."""

import math

from tools.casts_page import _power

LIMIT = 5  # of Optax's record
RIGHT = 0.875  # a weight of 1 after one step with the gradient 1 and a rate of 1/8
YOURS = ("Flax", "jmp", "MindSpore", "DeepSpeed")


def told(record) -> dict:
    """What the template `scalers.md` asks for of a record."""
    libraries = dict(record["libraries"])
    optax = libraries.pop("Optax")
    held = optax["after a limit of 5"]
    every = {**libraries, "Optax": optax}
    return {
        "cpu": " and an ".join(dict.fromkeys(kept["cpu"] for kept in every.values())),
        "right": RIGHT,
        "limit": LIMIT,
        "held": [_number(weight) for weight in held],
        "holds": held.index("-infinity"),
        "libraries": [_run(name, kept) for name, kept in every.items()],
        "starts": _alike(libraries, _start),
        "falls": _alike(libraries, _fall),
        "quarters": _alike(libraries, _quarter),
        "climbs": _alike(libraries, _climb),
        "moves": _alike(every, _move),
        "broken": _alike(libraries, _broken),
    }


def _alike(libraries, describe):
    """A row for each library; those that are alike share one."""
    rows = {}
    for name, kept in libraries.items():
        rows.setdefault(tuple(describe(name, kept)), []).append(name)
    return [(", ".join(names), *row) for row, names in rows.items()]


def _run(name, kept):
    versions = dict(kept["versions"])
    python = versions.pop("python")
    words = ", ".join(map(" ".join, versions.items()))
    return name, words, python, kept["date"]


def scales_of(kept, trace):
    """The scales before the first step and after each, as numbers."""
    found = []
    for scale, steps in kept["traces"][trace]["scales"]:
        found += [float(scale)] * steps
    return found


def _start(_, kept):
    first = "yours" if kept["first"] is None else _number(kept["first"])
    return first, f"{kept['every']:,}", growth(kept)


def growth(kept) -> str:
    """On which good steps the scale grows, read off a trace with N = 2."""
    scales = scales_of(kept, "up")
    grown = [n for n in range(1, 12) if scales[n] > scales[n - 1]]
    known = {
        (2, 4, 6): "N, 2N …",
        (3, 6, 9): "N + 1, 2 (N + 1) …",
        (3, 5, 7): "N + 1, 2N + 1 …",
        (1, 2, 3): "each, until the first bad step; then it grows by 2^(1/N) in each",
    }
    return known[tuple(grown[:3])].replace("2^(1/N)", "the Nth root of 2")


def _fall(_, kept):
    scales = scales_of(kept, "down")
    steps = scales.index(min(scales))
    weight = kept["a good step at the lowest"]["weight"]
    error = kept["traces"]["down"]["error"]
    if error:
        more = f"{_number(weight)}; another bad one raises an error"
    else:
        more = _number(weight)
    return _number(min(scales)), steps, more


def _quarter(_, kept):
    scales = kept["two bad steps from 1/4"]
    if isinstance(scales, str):
        return ("refused",)
    if float(scales[0][0]) != 0.25:
        return ("cannot start there",)
    return (_number(scales[-1][0]),)


def _climb(_, kept):
    scales = scales_of(kept, "up")
    return _number(max(scales)), _number(scales[43])


def _move(name, kept):
    moved = kept["a bad step"]["inf"]
    nested = kept["nested"]
    if name == "Optax":
        who = "Optax"
    else:
        who = "you" if name in YOURS else "the library"
    if nested is None:
        wrapped = "–"
    elif " is " in nested:
        share = float(nested.split(" is ")[1].split()[0])
        wrapped = f"accepted; the first step is 1/{1 / share:,.0f} of the right one"
        if share == 1:
            wrapped = "accepted; the first step is right"
    else:
        wrapped = nested.split(":")[0]
    return ", ".join(moved) or "nothing", who, wrapped


def _broken(_, kept):
    scales = scales_of(kept, "100 broken batches")
    end = _number(scales[-1])
    if kept["traces"]["100 broken batches"]["error"]:
        end = f"an error at batch {len(scales)}"
    return _number(scales[0]), _number(min(scales)), end


def _number(value):
    """A number as a reader would write it: powers of two as such."""
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "infinity" if value > 0 else "−infinity"
    mantissa, exponent = math.frexp(value)
    if value and mantissa == 0.5 and not 1 <= value < 8:
        return _power(exponent - 1)
    if value > 1e6:
        power = math.floor(math.log10(value))
        return f"{value / 10**power:.4f} · 10{_power(power)[1:]}"
    return f"{value:,.6g}"
