"""What readings of instruments leave of the causes that are known, computed from a
record.

A record has `instruments` {key: {name, minutes}} and `patients`, each with a `key` and
`readings` {instrument: {kind, text}}. The causes are those of the patients: a reading
rules out each one whose own patient gave a reading of another kind.
"""

from itertools import combinations


def struck(record: dict, patient: str, asked) -> dict:
    """The causes that a patient's readings rule out: {key: the first instrument that
    did}.

    Example:
        >>> read = lambda kind: {"scale": {"kind": kind, "text": ""}}
        >>> patients = [{"key": key, "readings": read(key > "b")} for key in "abc"]
        >>> struck({"patients": patients}, "a", ["scale"])
        {'c': 'scale'}
    """
    kinds = _kinds(record)
    found = {}
    for instrument in asked:
        for other, theirs in kinds.items():
            if theirs[instrument] != kinds[patient][instrument]:
                found.setdefault(other, instrument)
    return found


def minutes(record: dict, asked) -> float:
    """What some instruments cost together."""
    return sum(record["instruments"][instrument]["minutes"] for instrument in asked)


def fewest(record: dict, patient: str) -> list[str]:
    """The fewest instruments that leave as little as all of them; of those the
    quickest.
    """
    causes = {i: struck(record, patient, [i]).keys() for i in record["instruments"]}
    groups = [
        group for n in range(len(causes) + 1) for group in combinations(causes, n)
    ]
    all_causes = set().union(*causes.values())
    enough = (g for g in groups if set().union(*(causes[i] for i in g)) == all_causes)
    quickest = min(enough, key=lambda group: (len(group), minutes(record, group)))
    return list(quickest)


def tree(record: dict, keys=None) -> dict:
    """What to ask first, and then: {"ask": instrument, "then": {kind: a tree}}, or
    {"left": keys}.

    Each question tells most pairs of causes apart in a minute. Where several are left,
    no instrument tells them apart.
    """
    kinds = _kinds(record)
    keys = list(kinds) if keys is None else keys

    def worth(instrument):
        pairs = combinations((kinds[key][instrument] for key in keys), 2)
        return sum(one != other for one, other in pairs) / minutes(record, [instrument])

    ask = max(record["instruments"], key=worth)
    if not worth(ask):
        return {"left": keys}
    groups = {}
    for key in keys:
        groups.setdefault(kinds[key][ask], []).append(key)
    return {
        "ask": ask,
        "then": {kind: tree(record, those) for kind, those in groups.items()},
    }


def _kinds(record):
    return {
        patient["key"]: {
            i: reading["kind"] for i, reading in patient["readings"].items()
        }
        for patient in record["patients"]
    }
