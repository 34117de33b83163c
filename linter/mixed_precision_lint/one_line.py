"""Texts and errors in one line; loads no framework."""

LONGEST = 300


def one_line(text: object, longest: int = LONGEST) -> str:
    """A text, or what an error says, in one line of at most so many characters.

    >>> one_line(ValueError("two\\n  lines")), one_line("far too long", 5)
    ('two lines', 'far…')
    """
    try:
        line = " ".join(str(text).split())
    except Exception:  # an error of a reader's own may not tell
        return "its message cannot be shown"
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"
