"""What TensorFlow's own resolver for Slurm does without a Slurm, on made-up jobs.

python resolver_traps.py
"""

import os

import tensorflow as tf

JOB = {
    "SLURM_PROCID": "0",
    "SLURM_STEP_NUM_TASKS": "2",
    "SLURM_STEP_TASKS_PER_NODE": "2",
}


def said(nodes, tasks, count, gpus=None, **options):
    """The cluster that the resolver makes, or its error."""
    os.environ |= JOB | {
        "SLURM_STEP_NODELIST": nodes,
        "SLURM_STEP_TASKS_PER_NODE": tasks,
        "SLURM_STEP_NUM_TASKS": str(count),
    }
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    if gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus
    try:
        resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(**options)
        return resolver.cluster_spec().as_dict()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


print("TensorFlow", tf.__version__)
print("no GPU:", said("n1", "2", 2))
print("gpus_per_node=0:", said("n1", "2", 2, gpus_per_node=0, gpus_per_task=0))
print("two tasks, one GPU seen:", said("n1", "2", 2, "0"))
lie = {"gpus_per_node": 2, "gpus_per_task": 1, "auto_set_gpu": False}
print("told of two GPUs:", said("n1", "2", 2, **lie))
print("n[8-11]:", said("n[8-11]", "1(x4)", 4, **(lie | {"gpus_per_node": 1})))
print("n[08-11]:", said("n[08-11]", "1(x4)", 4, **(lie | {"gpus_per_node": 1})))
