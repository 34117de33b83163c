"""FloatLab at the number that shows why an answer is wrong."""

from .answers import number


def lab(entry, *names):
    """FloatLab at a number or code, in these formats or in float16."""
    from course_utils.explorers import FloatLab  # late: it loads NumPy and gfloat

    return FloatLab(entry, names or ["float16"])


def lab_of_number(answer, *names):
    """FloatLab at the answer, or None where that is no finite number."""
    value = number(answer)
    return None if value is None else lab(repr(value).removesuffix(".0"), *names)
