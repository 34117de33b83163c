"""The plumbing behind the notebooks of *Mixed Precision, Measured*.

Importing this package loads neither TensorFlow nor matplotlib: each module is
imported where a notebook needs it, and the lesson's idea stays in the notebook.
"""

__version__ = "0.1.0"
