"""Trace a step of the network that this device gets, under two policies.

    python -m tools.device_trace FOLDER

writes FOLDER/float32 and FOLDER/ and the recommended 16-bit policy, traces that
`profiling.read` and TensorBoard open, and prints where the time of a step goes.
"""

import sys
from pathlib import Path

from course_utils import session


def main(folder):
    machine = session.setup()
    from course_utils import benchmark, datasets, hardware, profiling, roofline
    from course_utils.benchmark import measure

    policy = hardware.recommended_policy(machine)
    if policy == "float32":
        policy = "mixed_bfloat16"
    network = roofline.network(machine)
    digits = datasets.load_mnist()
    images = digits.x_train[..., None].astype("float32") / 255
    x, y = network.filled(images, digits.y_train)
    batch = x[: network.batch_size], y[: network.batch_size]
    print(network)
    for each in ("float32", policy):
        # XLA would hide which operations run
        model = benchmark.TimedModel(
            lambda: measure.build("cnn", {"width": network.width}, False), each
        )
        trace = profiling.record(
            lambda model=model: model.step(*batch), steps=3, folder=Path(folder) / each
        )
        parts = profiling.budget(trace).items()
        print(each, *(f"{part} {ms:.2f} ms" for part, ms in parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
