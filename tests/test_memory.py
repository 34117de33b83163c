"""The count of bytes, against the model's own arrays and against the allocator."""

import keras
import numpy as np
import pytest

from course_utils import memory, models
from course_utils.stepping import Trainee, device, dtype_policy

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")


@pytest.mark.parametrize("policy", POLICIES)
def test_the_parts_of_the_cnn(policy):
    with dtype_policy(policy):
        account = memory.account(models.mnist_cnn(), batch_size=100)
    parameters = 1_011_466
    assert account.weights == account.gradients == 4 * parameters
    assert account.optimizer == 8 * parameters
    last = 128 * 10 + 10  # the output layer computes in float32 and needs no copy
    if policy == "float32":
        assert account.activations == 100 * 139_688 and account.weight_copies == 0
    else:
        assert account.activations == 100 * (2 * 34_912 + 4 * 10)
        assert account.weight_copies == 2 * (parameters - last)
    assert account.total == sum(vars(account).values())


def test_the_optimizer_s_slots_are_those_of_adam():
    model = models.mnist_cnn()
    adam = keras.optimizers.Adam()
    adam.build(model.trainable_variables)
    slots = sum(keras.ops.convert_to_numpy(v).nbytes for v in adam.variables if len(v.shape))
    assert slots == memory.account(model, batch_size=1).optimizer
    assert memory.account(model, batch_size=1, slots=0).optimizer == 0


def test_a_functional_model_with_non_trainable_weights_and_integer_inputs():
    inputs = keras.Input((7,), dtype="int32")
    x = keras.layers.Embedding(10, 4)(inputs)
    x = keras.layers.BatchNormalization()(x)
    model = keras.Model(inputs, keras.layers.Flatten()(x))
    account = memory.account(model, batch_size=2)
    assert account.weights == 4 * (10 * 4 + 4 * 4)
    assert account.gradients == 4 * (10 * 4 + 2 * 4)
    assert account.activations == 2 * 4 * (7 * 4) * 2


def test_an_unbuilt_model_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="call model.build"):
        memory.account(keras.Sequential([keras.layers.Dense(3)]), batch_size=1)


def test_a_mixed_policy_never_saves_more_than_half():
    for size in (1, 64, 4096, 10**6):
        totals = []
        for policy in ("float32", "mixed_float16"):
            with dtype_policy(policy):
                totals.append(memory.account(models.mnist_cnn(), batch_size=size).total)
        assert totals[1] / totals[0] > 0.5
    assert totals[1] / totals[0] < 0.51


def test_the_measured_peak_lies_above_the_count_and_not_far():
    """The count is a floor; the allocator sees it and temporary buffers on top."""

    def build():
        model = models.mnist_cnn()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, jit_compile=False)
        return model

    trainee = Trainee(build, "float32")
    x, y = np.zeros((256, 28, 28, 1), "float32"), np.zeros(256, "int32")
    peaks = [trainee.step(x, y).peak_bytes for _ in range(5)][2:]
    if None in peaks:
        pytest.skip("this device's allocator does not count memory")
    counted = memory.account(trainee.model, batch_size=256).total
    measured = np.median(peaks) + trainee.resident_bytes
    assert measured > counted * 0.9
    if device() == "CPU:0":  # a GPU's convolutions take working space as they please
        assert measured < counted * 3
