"""What readings of instruments leave of the causes that are known, computed from a
record.

A record has `instruments` {key: {name, minutes}} and `patients`, each with a `key` and
`readings` {instrument: {kind, text}}. The causes are those of the patients: a reading
rules out each one whose own patient gave a reading of another kind.
"""

from collections.abc import Iterable
from itertools import combinations


def ruled_out(record: dict, patient: str, instruments: Iterable[str]) -> dict[str, str]:
    """The causes that a patient's readings rule out: {key: the first instrument that
    did}.

    Example:
        >>> read = lambda kind: {"scale": {"kind": kind, "text": ""}}
        >>> patients = [{"key": key, "readings": read(key > "b")} for key in "abc"]
        >>> ruled_out({"patients": patients}, "a", ["scale"])
        {'c': 'scale'}
    """
    kinds = _kinds(record)
    causes = {}
    for instrument in instruments:
        for other, theirs in kinds.items():
            if theirs[instrument] != kinds[patient][instrument]:
                causes.setdefault(other, instrument)
    return causes


def minutes(record: dict, instruments: Iterable[str]) -> float:
    """What some instruments cost together."""
    return sum(
        record["instruments"][instrument]["minutes"] for instrument in instruments
    )


def rivals(record: dict, patient: str, instruments: Iterable[str]) -> list[str]:
    """The causes beside a patient's own that its readings leave."""
    out = ruled_out(record, patient, instruments)
    return [key for key in _kinds(record) if key not in out and key != patient]


def cheapest(
    record: dict, patient: str, tools: Iterable[str] | None = None
) -> list[str]:
    """The instruments, of `tools` or of all, that leave as little as all of these, in
    the fewest minutes; of those the fewest.
    """
    tools = list(tools or record["instruments"])
    groups = [g for n in range(len(tools) + 1) for g in combinations(tools, n)]
    groups.sort(key=lambda group: (minutes(record, group), len(group)))
    least = rivals(record, patient, tools)
    return list(next(g for g in groups if rivals(record, patient, g) == least))


def _kinds(record):
    return {
        patient["key"]: {
            i: reading["kind"] for i, reading in patient["readings"].items()
        }
        for patient in record["patients"]
    }
