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
