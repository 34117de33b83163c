"""The dtypes inside a Keras model: which flow where, and what goes wrong, or slowly, in
16 bits.

`examine` trains and builds nothing. What can be measured is measured, by calling a
layer on symbols; where only the code of a layer of yours can tell, the rule reads it. It
is silent where nothing can be measured or there is no source; of a model that is not
built it says so. Importing this package loads no framework: each name below loads what
it needs.
"""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__,
    {
        "finding": "Finding",
        "flow": "dtype_flow",
        "loop_rules": "findings",
        "rules": "examine probe",
        "watched": "Watched",
    },
)
