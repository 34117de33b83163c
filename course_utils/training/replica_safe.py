"""Loss scaling that stays right when several devices share one training step."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="course_utils")
class ReplicaSafeLossScaleOptimizer(keras.optimizers.LossScaleOptimizer):
    """A `keras.optimizers.LossScaleOptimizer` whose replicas agree on every step.

    Keras's own looks for inf and NaN in the gradients of one replica only, before they
    are added up. Under MirroredStrategy it sees an overflow on the first replica and
    misses it on every other one, and inf and NaN reach the weights. Across workers each
    looks at its own gradients, and a worker that skips a step leaves the others waiting
    for good.

    Here the replicas first add up one number each, 0 or 1, and so all learn whether any
    of them has an overflow. If one has, the step is skipped everywhere and the scale is
    halved once.

    Everything else is Keras's own: arguments, variables, methods, checkpoints and saved
    models. On one device it does exactly the same.

    Wrap the optimizer yourself, within `strategy.scope()`: under mixed_float16,
    `compile` wraps a plain one in Keras's own. Import `course_utils.training` before
    you load a file with this optimizer. Run on CPUs, with MirroredStrategy and
    MultiWorkerMirroredStrategy; not run on several GPUs, nor on a TPU. Source:
    `keras/src/optimizers/loss_scale_optimizer.py` of Keras 3.15, `_tf_apply`.

    Example:
        >>> optimizer = ReplicaSafeLossScaleOptimizer(keras.optimizers.SGD(), initial_scale=8.0)
        >>> isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
        True
    """

    def apply(
        self,
        grads: list[tf.Tensor],
        trainable_variables: list[keras.Variable] | None = None,
    ) -> None:
        """Take one step, or skip it, on every replica alike.

        `grads` are those of the scaled loss on this replica, one for each variable.
        ValueError in a `tf.function` on several local devices if the optimizer is not
        built. (`fit` builds it.)
        """
        if (
            not self.built
            and tf.distribute.has_strategy()
            and not tf.executing_eagerly()
        ):
            if len(tf.distribute.get_strategy().extended.worker_devices) > 1:
                # Keras would raise an InvalidArgumentError about a placeholder.
                raise ValueError(
                    "The optimizer is not built: call optimizer.build(model.trainable_variables) "
                    "within strategy.scope(), before the first step."
                )
        super().apply(grads, trainable_variables)

    def check_finite(self, grads: list[tf.Tensor]) -> tf.Tensor:
        """Whether every gradient is finite, on this replica and on all others: a scalar
        bool.
        """
        finite = super().check_finite(grads)
        replica = tf.distribute.get_replica_context()
        if replica is None or replica.num_replicas_in_sync == 1:
            return finite
        # A sum of float32 is what every way of adding up across devices can do.
        overflows = tf.cast(tf.logical_not(finite), tf.float32)
        return replica.all_reduce(tf.distribute.ReduceOp.SUM, overflows) < 0.5
