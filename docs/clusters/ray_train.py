"""Notebook 07's training on Ray Train, on this machine alone.

    python ray_train.py FOLDER [KILLED]

Two workers train 40 steps. With KILLED, a number, worker 1 kills itself after that step,
once. It prints the last line of each worker, which has the digest of the last step.
"""

import os
import signal
import sys
import time
from pathlib import Path

# Before Ray starts: no usage statistics, and a look at the workers every 0.2 s, not 2 s.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_TRAIN_HEALTH_CHECK_INTERVAL_S"] = "0.2"
HERE = Path(__file__).resolve().parent
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(HERE), os.environ.get("PYTHONPATH")])
)

import ray  # noqa: E402
from ray.train import FailureConfig, RunConfig, ScalingConfig  # noqa: E402
from ray.train.tensorflow import TensorflowTrainer  # noqa: E402


def loop(config):
    """What each worker does; Ray has set TF_CONFIG in its process."""
    from ray.train import get_context
    from train import lines

    place = Path(config["place"])
    rank = get_context().get_world_rank()
    for line in lines(place):
        with (place / f"printed-{rank}").open("a") as stream:
            print(line, file=stream)
        mark = place / "killed"
        if line.startswith(f"{config['killed']} ") and rank == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def main(place, killed="-"):
    place = Path(place).resolve()
    place.mkdir(parents=True)
    start = time.monotonic()
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    trainer = TensorflowTrainer(
        loop,
        train_loop_config={"place": str(place), "killed": killed},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(
            storage_path=str(place), failure_config=FailureConfig(max_failures=2)
        ),
    )
    trainer.fit()
    ray.shutdown()
    for rank in range(2):
        printed = (place / f"printed-{rank}").read_text().splitlines()
        print(*printed, sep="\n")
    print(f"Ray {ray.__version__}, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
