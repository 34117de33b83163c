"""What surprises in Ray Train, seen in three small fits: python ray_traps.py"""

import os
import tempfile
from pathlib import Path

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_TRAIN_HEALTH_CHECK_INTERVAL_S"] = "0.2"

import keras  # noqa: E402
import ray  # noqa: E402
from ray.train import Checkpoint, RunConfig, ScalingConfig  # noqa: E402
from ray.train.tensorflow import TensorflowTrainer  # noqa: E402

FOLDER = Path(tempfile.mkdtemp())


def policy(config):
    """Each worker writes which policy it has."""
    import keras
    from ray.train import get_context

    layer = keras.layers.Dense(1)
    rank = get_context().get_world_rank()
    found = f"{keras.config.dtype_policy().name}, computes in {layer.compute_dtype}"
    Path(config["folder"], f"policy-{rank}").write_text(found)


def metrics(config):
    """Reports five times, and in the third step a checkpoint if it is told so."""
    import tempfile

    from ray.train import Checkpoint, get_context, report

    rank = get_context().get_world_rank()
    for step in range(1, 6):
        kept = None
        if step == 3 and config["keeps"]:
            here = tempfile.mkdtemp()
            Path(here, "weights").write_text(f"of rank {rank}")
            kept = Checkpoint.from_directory(here)
        report({"step": step, "rank": rank}, checkpoint=kept)


def fit(function, **config):
    trainer = TensorflowTrainer(
        function,
        train_loop_config=config,
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=str(FOLDER)),
    )
    return trainer.fit()


def main():
    keras.config.set_dtype_policy("mixed_bfloat16")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    print("Ray", ray.__version__, "· Keras", keras.__version__)
    fit(policy, folder=str(FOLDER))
    print("policy here:", keras.config.dtype_policy().name)
    for rank in range(2):
        print(f"policy of rank {rank}:", (FOLDER / f"policy-{rank}").read_text())
    print("five reports, no checkpoint:", fit(metrics, keeps=False).metrics)
    result = fit(metrics, keeps=True)
    print("five reports, the third with a checkpoint:", result.metrics)
    assert isinstance(result.checkpoint, Checkpoint)
    kept = {p.name: p.read_text() for p in Path(result.checkpoint.path).iterdir()}
    print("both ranks kept a file `weights`; there is", kept)


if __name__ == "__main__":
    main()
