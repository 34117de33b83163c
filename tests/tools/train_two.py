"""What each of several workers runs: a training that can be killed and goes on from its files.

    train_two.py POLICY FOLDER STEPS

Every worker keeps its own files, in FOLDER/RANK: the weights, which are the same everywhere, and
its own place in its part of the data.
"""

import hashlib
import json
import os
import sys

import keras
import tensorflow as tf
from sklearn.datasets import load_digits

from course_utils.replica_safe import ReplicaSafeLossScaleOptimizer

EVERY = 5  # steps from one checkpoint to the next


def parts(policy, rank, count):
    """The model, the optimizer and this worker's data."""
    keras.utils.set_random_seed(0)
    digits, layers = load_digits(), keras.layers
    hidden = layers.Dense(64, "relu", dtype=policy)
    model = keras.Sequential([keras.Input((64,)), hidden, layers.Dense(10, dtype="float32")])
    optimizer = keras.optimizers.Adam(0.003)
    if policy == "mixed_float16":  # far too high a scale, so that it moves in a short run
        options = {"initial_scale": 2.0**24, "dynamic_growth_steps": 5}
        optimizer = ReplicaSafeLossScaleOptimizer(optimizer, **options)
    optimizer.build(model.trainable_variables)
    examples = digits.data.astype("float32") / 16, digits.target
    data = tf.data.Dataset.from_tensor_slices(examples).shard(count, rank)
    return model, optimizer, data.shuffle(500, seed=rank).repeat().batch(16)


def newest_of_all(folder, count):
    """The newest checkpoint that every worker has: a kill can fall between two of them."""
    states = [tf.train.get_checkpoint_state(f"{folder}/{rank}") for rank in range(count)]
    if None in states:
        return None
    steps = [{int(p.split("-")[-1]) for p in s.all_model_checkpoint_paths} for s in states]
    return max(set.intersection(*steps), default=None)


def digest(variables):
    """A fingerprint of every bit."""
    arrays = [keras.ops.convert_to_numpy(v) for v in variables]
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()


def main(policy, folder, last):
    rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    count = strategy.num_replicas_in_sync
    with strategy.scope():
        model, optimizer, data = parts(policy, rank, count)
    iterator, done = iter(data), tf.Variable(0, dtype=tf.int64)
    kept = tf.train.Checkpoint(model=model, optimizer=optimizer, iterator=iterator, done=done)
    manager = tf.train.CheckpointManager(kept, f"{folder}/{rank}", max_to_keep=2)
    start = newest_of_all(folder, count)
    if start is not None:
        kept.restore(f"{folder}/{rank}/ckpt-{start}").assert_existing_objects_matched()

    def one(images, labels):
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            losses = keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
            loss = tf.reduce_mean(losses) / count  # apply sums over the workers
            scaled = optimizer.scale_loss(loss)
        optimizer.apply(tape.gradient(scaled, model.trainable_variables))
        return loss

    @tf.function
    def step(images, labels):
        return strategy.reduce("SUM", strategy.run(one, (images, labels)), None)

    for number in range(int(done) + 1, last + 1):
        loss = float(step(*next(iterator)))
        done.assign(number)
        if number % EVERY == 0:
            manager.save(checkpoint_number=number)
        scale = getattr(optimizer, "dynamic_scale", 1.0)
        print(number, loss, float(keras.ops.convert_to_numpy(scale)))
    print(
        "RESULT",
        json.dumps({"start": start, "bits": digest(model.variables + optimizer.variables)}),
    )


if __name__ == "__main__":
    tf.config.experimental.enable_op_determinism()
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
