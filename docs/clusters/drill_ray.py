"""The overflow drill on Ray Train, on this machine alone.

    python drill_ray.py FOLDER [FILE]            train, or another module beside this one
    python drill_ray.py FOLDER drill_jax HOW     Keras on JAX; HOW is alone, joined or
                                                 DataParallel

It prints what holds, and writes certificate.json into FOLDER.
"""

import os
import sys
from importlib import metadata
from pathlib import Path

# Before Ray starts: no usage statistics, and a look at the workers every 0.2 s, not 2 s.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_TRAIN_HEALTH_CHECK_INTERVAL_S"] = "0.2"
HERE = Path(__file__).resolve().parent
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(HERE), os.environ.get("PYTHONPATH")])
)

import ray  # noqa: E402
from ray.train import RunConfig, ScalingConfig, TrainingFailedError  # noqa: E402

from course_utils.distributed import workers  # noqa: E402


def loop(config):
    """What each worker does; Ray has set TF_CONFIG in its process."""
    from drill_task import work
    from ray.train import get_context

    rank = get_context().get_world_rank()
    work(config["folder"], config["file"], config["culprit"], rank, *config["how"])


def main(folder, file="train", *how):
    from drill_task import certificate

    engine = f"Ray {ray.__version__}"
    if how:
        from ray.train.v2.jax import JaxTrainer as Trainer

        engine += f", JAX {metadata.version('jax')}, {how[0]}"
    else:
        from ray.train.tensorflow import TensorflowTrainer as Trainer
    folder = Path(folder).resolve()
    folder.mkdir(parents=True)
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    for culprit in (-1, 0, 1):
        config = {"folder": str(folder), "file": file, "culprit": culprit}
        config["how"] = [*how, *workers.free_ports(1)] if how else []
        trainer = Trainer(
            loop,
            train_loop_config=config,
            scaling_config=ScalingConfig(num_workers=2),
            run_config=RunConfig(storage_path=str(folder / "ray")),
        )
        try:
            trainer.fit()
        except TrainingFailedError:
            print(f"A worker of run {culprit} was lost.")
    ray.shutdown()
    return certificate(folder, file, engine)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
