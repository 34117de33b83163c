"""Answers that raise whatever is asked of them, and what every answer has to get."""

import re


class Hostile:
    """Every question asked of it raises."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def _raise(self, *arguments):
        raise RuntimeError("hostile")

    __float__ = __index__ = __repr__ = __str__ = __eq__ = __hash__ = __len__ = __iter__ = _raise
    __bool__ = __array__ = __getitem__ = __contains__ = _raise


class Callable(Hostile):
    def __call__(self, *arguments):
        return Hostile()


def answered(sheet, number, answer):
    """Assert that an answer, whatever it is, gets a short and safe message, and nothing raises."""
    if answer is not ... and not isinstance(answer, Hostile):
        problem = sheet.exercises[number - 1].checker(answer)  # without the engine's safety net
        assert problem is None or isinstance(problem, str) and len(problem) < 300
    feedback = sheet[number].check(answer)
    assert feedback.status in ("correct", "not yet", "not attempted")
    assert len(feedback.message) < 300 and "\n" not in repr(feedback)
    assert not re.search(r"0x[0-9a-f]{6,}", feedback.message)  # the address of an object
    assert "<script" not in feedback._repr_html_()
    repr(feedback).encode()
