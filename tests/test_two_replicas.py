"""What notebooks 06 and 07 and docs/loops.md say of two replicas: the loss that `fit`
shows, and the policy of a layer that a replica builds.
"""

import numpy as np
import pytest
from helpers import two_replicas as rig

from course_utils.distributed import run_workers

pytestmark = pytest.mark.slow  # it starts TensorFlow in a process of its own


@pytest.fixture(scope="module")
def found():
    """What two logical CPUs of one process came to."""
    return run_workers(rig.__file__, 1, timeout=240)[0]


@pytest.mark.parametrize("whose", ["notebook", "page"])
@pytest.mark.parametrize("devices", ["one", "two"])
def test_a_train_step_of_ones_own_shows_the_loss_that_keras_shows(
    found, whose, devices
):
    """`compute_loss` has divided by the replicas, for the gradients."""
    (loss, weights), (wanted, others) = found[devices][whose], found["one"]["Keras"]
    np.testing.assert_allclose(loss, wanted, rtol=1e-4)
    np.testing.assert_allclose(weights, others, atol=1e-5)


def test_a_layer_that_is_built_in_a_replica_reads_the_policy_float32(found):
    """A policy belongs to a thread, and each replica has one of its own."""
    assert found["policies"] == {
        "built before": "mixed_float16",
        "built by the replicas": "float32",
        "called before": "mixed_float16",
        "built by fit": "mixed_float16",
        "inside Keras's own": ["mixed_float16"],
    }
