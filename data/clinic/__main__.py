"""Shows what the learner of a patient sees: `python data/clinic mask`, `.. mask --cured`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

if __name__ == "__main__":
    from course_utils import clinic

    names = [name for name in sys.argv[1:] if name != "--cured"] or sorted(clinic.charts())
    for name in names:
        print(clinic.run(name, cure=name if "--cured" in sys.argv else None))
