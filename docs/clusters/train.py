"""Notebook 07's training on several workers, in a file that any engine can start.

    python train.py FOLDER [LAST STEP]

An engine starts it once for each worker, with TF_CONFIG, and again if one is lost.
FOLDER is one that all workers see, given by its absolute path. The five functions are
those of notebook 07's section 9, with no letter changed; `drill` is for
`python -m course_utils drill train.py`.
"""

import hashlib
import sys

import keras
import tensorflow as tf
from sklearn.datasets import load_digits

from course_utils.training import ReplicaSafeLossScaleOptimizer


def parts(rank, count):
    keras.utils.set_random_seed(0)
    small, layers = load_digits(), keras.layers
    hidden = layers.Dense(64, "relu", dtype="mixed_float16")
    model = keras.Sequential(
        [keras.Input((64,)), hidden, layers.Dense(10, dtype="float32")]
    )
    options = {"initial_scale": 2.0**24, "dynamic_growth_steps": 5}
    optimizer = ReplicaSafeLossScaleOptimizer(keras.optimizers.Adam(0.003), **options)
    optimizer.build(model.trainable_variables)
    data = tf.data.Dataset.from_tensor_slices(
        (small.data.astype("float32") / 16, small.target)
    )
    return (
        model,
        optimizer,
        iter(data.shard(count, rank).shuffle(500, rank).repeat().batch(16)),
    )


def newest_of_all(place, count):
    states = [tf.train.get_checkpoint_state(f"{place}/{rank}") for rank in range(count)]
    if None in states:
        return None
    steps = [
        {int(p.split("-")[-1]) for p in s.all_model_checkpoint_paths} for s in states
    ]
    return max(set.intersection(*steps), default=None)


def step_of(strategy, model, optimizer):
    def one_replica(images, labels):
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            losses = keras.losses.sparse_categorical_crossentropy(labels, logits, True)
            loss = tf.reduce_mean(losses) / strategy.num_replicas_in_sync  # apply sums
            scaled = optimizer.scale_loss(loss)
        optimizer.apply(tape.gradient(scaled, model.trainable_variables))
        return loss

    @tf.function
    def step(*batch):
        return strategy.reduce("SUM", strategy.run(one_replica, batch), None)

    return step


def digest(variables):
    everything = [keras.ops.convert_to_numpy(v).tobytes() for v in variables]
    return hashlib.sha256(b"".join(everything)).hexdigest()


def training(strategy, place, last):
    rank, count = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
    with strategy.scope():
        model, optimizer, iterator = parts(rank, count)
    step, done = step_of(strategy, model, optimizer), tf.Variable(0, dtype=tf.int64)
    kept = tf.train.Checkpoint(
        model=model, optimizer=optimizer, iterator=iterator, done=done
    )
    manager = tf.train.CheckpointManager(kept, f"{place}/{rank}", max_to_keep=2)
    if start := newest_of_all(place, count):
        kept.restore(f"{place}/{rank}/ckpt-{start}")
    while done < last:
        loss, _ = float(step(*next(iterator))), done.assign_add(1)
        if int(done) % 5 == 0:
            manager.save(checkpoint_number=int(done))
        yield int(done), loss, optimizer.dynamic_scale.numpy()
    yield "end", digest(model.variables + optimizer.variables)


def drill():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank, count = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
    with strategy.scope():
        model, optimizer, iterator = parts(rank, count)
    optimizer.dynamic_scale.assign(2.0**15)  # or the first steps overflow by themselves
    return (
        strategy,
        model,
        optimizer,
        step_of(strategy, model, optimizer),
        next(iterator),
    )


def lines(place, last=40):
    """What a worker prints: first who it is and what a notebook's settings became here."""
    tf.config.experimental.enable_op_determinism()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank, count = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
    policy = keras.config.dtype_policy().name
    yield f"rank {rank} of {count}, global policy {policy}, folder {place}"
    for line in training(strategy, place, last):
        yield " ".join(map(str, line))


if __name__ == "__main__":
    for line in lines(sys.argv[1], *map(int, sys.argv[2:])):
        print(line, flush=True)
