"""Records the points of notebook 08's picture, for machines without LiteRT.

python tests/tools/record_smaller.py    writes data/measurements/smaller.json
"""

import datetime

import canonical
from cells import Cells

CELLS = "data train callback prune convert files points".split()  # what the picture needs


def main():
    canonical.load_sheet("08")  # finds the course
    from course_utils import benchmark, hardware
    from course_utils.benchmark import records, start

    names = {"__name__": "__main__", "benchmark": benchmark}
    Cells("08_smaller").run(*CELLS, names=names)
    recording = {
        "kind": "smaller",  # so that `records.load` tells it from its own
        "cpu": str(hardware.detect()),
        "versions": start.versions(),
        "date": datetime.date.today().isoformat(),
        "conditions": {"notebook": "08_smaller", "data": names["digits"].name},
        "records": names["points"],
    }
    file = canonical.COURSE / "data/measurements/smaller.json"
    print(f"Written to {records.save(recording, file)}")


if __name__ == "__main__":
    main()
