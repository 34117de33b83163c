"""Answers that raise whatever is asked of them, and what every answer has to get."""

import re

from hypothesis import strategies as st


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


class Unprintable(Exception):
    """Says nothing of itself, so that a message cannot quote it."""

    def __str__(self):
        raise RuntimeError


def raises_unprintable(*arguments):
    """A function that a learner may hand in."""
    raise Unprintable


def scalars(odd):
    """A Hypothesis strategy: anything that is one value, and these odd ones.

    No text has "0x" in it: a message may quote the text, and `answered` would take it for the
    address of an object.
    """
    return st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers()),
        st.text().filter(lambda text: "0x" not in text),
        *(st.binary(), st.builds(Hostile), st.builds(Callable), st.sampled_from(odd)),
    )


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
