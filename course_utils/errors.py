"""Errors and other texts in one line."""

import re

# What Keras and TensorFlow put around the sentence that matters, and addresses.
NOISE = (
    r"\x1b\[\d*m|\{\{.*?\}\}|\[Op:.*?\] name:|\b0x[0-9a-f]{6,}",
    r"(?s)\n\nArguments received by.*",
    r"^Exception encountered when calling[^\n]*\n\n",
    r"^Could not automatically infer[^\n]*\n\n",
    r"(?s) Received: add_weight.*|, dtype=\w+, value=.*",
    r"(?s)^in user code:.*\n",
)
# The last line of a traceback.
ERROR = re.compile(
    r"(?:[a-zA-Z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Interrupt|Exit)): (.*)"
)
# How lines begin that TensorFlow puts before the point.
BEFORE_THE_POINT = ("Detected at node", "File ", "in ", "The above exception")


class OneLineError:
    """A base of errors that a notebook shows as one sentence, without a traceback."""

    def _render_traceback_(self):
        return [str(self)]


def shorten(text: str, length: int = 60, end: int = 0) -> str:
    """One printable line of at most `length` characters, so many of them from its end.

    Example:
        >>> shorten("a device with a name", 10), shorten("a device with a name", 10, end=4)
        ('a device …', 'a dev…name')
    """
    line = " ".join(text.split()).encode("utf-8", "replace").decode()
    if len(line) <= length:
        return line
    return f"{line[: length - 1 - end]}…{line[len(line) - end :]}"


def one_line(error: BaseException, length: int = 120) -> str:
    """The kind of an error and the point of its text, cut to this length.

    Example:
        >>> one_line(ValueError("one line\\nand another"))
        'ValueError: one line and another'
    """
    try:
        text = str(error)
        for pattern in NOISE:
            text = re.sub(pattern, "", text.strip())
        text = shorten(text, length)
    except Exception:  # a learner's own exception may raise
        text = "its message cannot be shown"
    return f"{shorten(type(error).__name__)}: {text}"


def last_error(text: str) -> str:
    """The error at the end of a traceback, in one line, or "".

    TensorFlow's "Graph execution error:" comes to the point some lines below.

    Example:
        >>> last_error("Traceback (most recent call last):\\n  File ...\\nKeyError: 'x'\\n")
        "KeyError: 'x'"
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for number in reversed(range(len(lines))):
        if match := ERROR.fullmatch(lines[number]):
            kind, what = match.groups()
            if what.startswith("Graph execution error"):
                below = lines[number + 1 :]
                points = (
                    line for line in below if not line.startswith(BEFORE_THE_POINT)
                )
                what = next(points, what)
            return f"{kind}: {shorten(what, 200)}"
    return ""
