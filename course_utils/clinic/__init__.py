"""The debugging clinic: the patients of `data/clinic`, run under observation, and instruments."""

from course_utils.clinic.instruments import INSTRUMENTS, Reading, read
from course_utils.clinic.ward import Visit, charts, difference, families, run, script
