"""Who adds up in what: the accumulator of each operation, told by its answers.

`listen` gives an operation terms whose sum depends on where it is kept, and says what it
heard; `survey` does so with some fifty operations and layers of TensorFlow and Keras.
Nothing is looked up: no verdict stands in this code. Importing this package loads no
framework.
"""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__,
    {
        "accumulators": "Sound listen",
        "operations": "OPERATIONS gradient",
        "surveys": "MODES load record side_by_side survey",
    },
)
