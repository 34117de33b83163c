"""The overflow drill on Ray Train, on this machine alone: python ray_drill.py FOLDER"""

import os
import sys
from pathlib import Path

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
HERE = Path(__file__).resolve().parent
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(HERE), os.environ.get("PYTHONPATH")])
)

import ray  # noqa: E402
from ray.train import RunConfig, ScalingConfig  # noqa: E402
from ray.train.tensorflow import TensorflowTrainer  # noqa: E402


def loop(config):
    """What each worker does; Ray has set TF_CONFIG in its process."""
    from drill_task import work

    work(config["folder"], config["culprit"])


def main(folder):
    from drill_task import certificate

    folder = Path(folder).resolve()
    folder.mkdir(parents=True)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    for culprit in (-1, 0, 1):
        TensorflowTrainer(
            loop,
            train_loop_config={"folder": str(folder), "culprit": culprit},
            scaling_config=ScalingConfig(num_workers=2),
            run_config=RunConfig(storage_path=str(folder)),
        ).fit()
    ray.shutdown()
    print("Ray", ray.__version__)
    return 0 if certificate(folder) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
