"""What data/files.json says, as docs/files.md shows it."""

from tools.files import BYTES, FORMATS, NOT_READ, NOT_WRITTEN, SAME

SHORT = {
    "float8_e4m3fn": "E4M3",
    "float8_e5m2": "E5M2",
    "float4_e2m1fn": "E2M1",
}
# The columns: one for each of the first two formats, one for 8 bits, one for 4 bits.
COLUMNS = (FORMATS[:1], FORMATS[1:2], FORMATS[2:4], FORMATS[4:])
REFUSALS = (NOT_WRITTEN, NOT_READ)


def told(record) -> dict:
    """What the template `files.md` asks for of a record."""
    libraries = record["libraries"]
    kinds = {
        kind: found
        for library in libraries.values()
        for kind, found in library["kinds"].items()
    }
    return {
        "date": record["date"],
        "system": record["versions"]["system"],
        "libraries": [
            (name, ", ".join(map(" ".join, library["versions"].items())))
            for name, library in libraries.items()
        ],
        "exports": record["exports"]["rows"],
        "exported_with": ", ".join(
            map(" ".join, record["exports"]["versions"].items())
        ),
        "rows": [
            [kind, *(_cell(found, names) for names in COLUMNS)]
            for kind, found in kinds.items()
        ],
        "words": [
            (kind, ", ".join(SHORT.get(name, name) for name in names), words)
            for kind, found in kinds.items()
            for words, names in _words(found).items()
        ],
    }


def _cell(found, names):
    """What becomes of one format, or of two."""
    said = [_shown(*found[name]) for name in names]
    if len(set(said)) == 1:
        return said[0]
    return ", ".join(
        f"{SHORT.get(name, name)} {text}"
        for name, text in zip(names, said, strict=True)
    )


def _shown(verdict, dtype):
    if verdict == SAME:
        return "kept"
    if verdict == BYTES:
        return f"bytes (`{dtype}`)".replace("|", "\\|")
    return f"as {dtype}" if verdict == "the same numbers" else f"**{verdict}**"


def _words(found):
    """The formats that each error text is about."""
    words = {}
    for name, (verdict, text) in found.items():
        if verdict in REFUSALS:
            words.setdefault(text.replace(name, "…"), []).append(name)
    return words
