"""What data/bias_trainings.json and that of another CPU say, as docs/sums.md shows it:
tables, and the words of sentences that depend on the numbers.
"""

from collections import defaultdict

POSITIONS = (256, 1024, 4096, 32768)  # of the record's, as many as paper holds
LATE = 1.05  # times float32's loss


def told(record, other) -> dict:
    """What the template `sums.md` asks for of a record, and of another CPU's."""
    return {
        "more": record,
        "other": {
            "cpu": other["cpu"],
            "date": other["date"],
            "onednn_says": other["onednn_says"],
            "layers": list(_other_layers(record["layers"], other["layers"])),
            "same_late": _late(record) == _late(other),
            "pixels": _pixels(other["pixels"]),
        },
        "positions": [f"{n:,}" for n in POSITIONS],
        "layers": _layers(record["layers"]),
        "trainings": _trainings(record["trainings"]),
        "skipped": _skipped(record["trainings"]),
        "batches": _batches(record["batches"]),
        "pixels": _pixels(record["pixels"]),
        "cures": [
            [row["cure"], _losses(row["losses"]), _times(row["times_as_long"])]
            for row in record["cures"]
        ],
    }


def late(losses, right) -> bool:
    """Whether a training ended more than a twentieth above float32, for each seed."""
    return all(a > LATE * b for a, b in zip(losses, right, strict=True))


def _late(record):
    """The trainings that were late, and at how many rows in a step one was."""
    right = {
        (row["training"], row["optimizer"]): row["losses"]
        for row in record["trainings"]
        if row["policy"] == "float32"
    }
    trainings = {
        (row["training"], row["optimizer"], row["policy"])
        for row in record["trainings"]
        if late(row["losses"], right[row["training"], row["optimizer"]])
    }
    return trainings, _batches(record["batches"])["late"]


def _other_layers(recorded, elsewhere):
    """Rows of the layers whose error is another one elsewhere: more than twice as large,
    or less than half.
    """
    for ours, theirs in zip(recorded, elsewhere, strict=True):
        about = "mixed_bfloat16", "one sign", 4096
        if (ours["policy"], ours["terms"], ours["positions"]) == about:
            errors = ours["error"], theirs["error"]
            if max(errors) > 2 * min(errors):
                yield [ours["layer"], *(f"{100 * error:.2g}" for error in errors)]


def _layers(recorded):
    """(Policy, what arrives from above, the table's rows), table by table."""
    tables = defaultdict(lambda: defaultdict(dict))
    for row in recorded:
        table = tables[row["policy"], row["terms"]]
        table[row["layer"]][row["positions"]] = f"{100 * row['error']:.2g}"
    for (policy, terms), table in tables.items():
        rows = [
            [name, *(errors[n] for n in POSITIONS)] for name, errors in table.items()
        ]
        yield policy, terms, rows


def _trainings(recorded):
    """A row for each training and optimizer."""
    table = defaultdict(dict)
    for row in recorded:
        table[row["training"], row["optimizer"]][row["policy"]] = row["losses"]
    for key, losses in table.items():
        right = losses["float32"]
        yield [*key, *(_losses(each, right) for each in losses.values())]


def _skipped(recorded):
    """How many steps the first training skipped in float16 with SGD, seed by seed."""
    row = next(
        row
        for row in recorded
        if (row["policy"], row["optimizer"]) == ("mixed_float16", "SGD")
    )
    return _and(row["skipped"])


def _batches(recorded):
    """The rows of a table, and at how many rows in a step bfloat16 was late, and not."""
    table = defaultdict(dict)
    for row in recorded:
        table[row["batch"]][row["policy"]] = row["losses"]
    rows, was, was_not = [], [], []
    for batch, losses in table.items():
        right, other = losses["float32"], losses["mixed_bfloat16"]
        rows.append([f"{batch:,}", _losses(right), _losses(other, right)])
        (was if late(other, right) else was_not).append(f"{batch:,}")
    return {"rows": rows, "late": _and(was), "not_late": _and(was_not)}


def _pixels(recorded):
    """The rows of a table, with oneDNN on and off; whether the switch changed a digit of
    them; and with which of the two bfloat16 was late, by whose bias it has.
    """
    halves = defaultdict(list)
    for row in recorded:
        halves["on" if row["onednn"] else "off"].append(row)
    rows, was = {}, defaultdict(list)
    for name, half in halves.items():
        right = half[0]["losses"]  # float32 comes first
        rows[name] = [
            ["loss", *(_losses(row["losses"], right) for row in half)],
            ["overlap", *(_shares(row["overlaps"]) for row in half)],
        ]
        for row in half[1:]:
            if late(row["losses"], right):
                was[row["bias"]].append(name)
    return {
        "rows": [[name, *row] for name, half in rows.items() for row in half],
        "same": rows["on"] == rows["off"],
        "late": _and(was["Keras's"]),
        "late_with_own": _and(was["x + b"]),
    }


def _losses(losses, right=None):
    """Losses in a cell, in bold where they are late."""
    text = " ".join(f"{loss:.3g}" for loss in losses)
    return f"**{text}**" if right and late(losses, right) else text


def _shares(shares):
    return " ".join(f"{share:.2f}" for share in shares)


def _times(ratio):
    """A ratio with its interval in a cell, and that it shows nothing where it does."""
    text = f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
    if round(ratio["low"], 2) <= 1 <= round(ratio["high"], 2):  # as the cell shows it
        text += ", no difference shown"
    return text


def _and(words):
    """Words in a sentence: "a, b and c"; "" of none."""
    *rest, last = [str(word) for word in words] or [""]
    return f"{', '.join(rest)} and {last}" if rest else last
