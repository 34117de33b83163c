"""Prediction and exercises of notebook 12."""

from . import checkpoint
from .engine import Exercise, Prediction, within
from .functions import parts
from .judges import Choice, Fields

TITLE = "Stop, and go on"

PREDICTION = Prediction(
    measures={"": ("apart with the model alone, of the way", "%")},
    example=10,
    read=within(0, 1000),
    wanted="a percentage from 0 to 1000, such as 10 for a tenth of the way",
    said="You expect the two trainings to end {:g} % of the way apart.".format,
)

PARTS = ("data", "loss scale", "moments", "random_state")
LOST = {  # what was lost, and what speaks against the others
    "A": (
        "data",
        {
            "loss scale": "The scale is that of the training left alone.",
            "moments": "All 998 updates are still counted.",
            "random_state": "Dropout does not choose the batch. Look at the labels.",
        },
    ),
    "B": (
        "loss scale",
        {
            "data": "The labels are the same, so it is the same batch.",
            "moments": "All 998 updates are still counted. Why is the step skipped?",
            "random_state": "The loss is the same, so Dropout drew the same mask.",
        },
    ),
    "C": (
        "random_state",
        {
            "data": "The labels are the same, so it is the same batch.",
            "loss scale": "The scale is that of the training left alone.",
            "moments": "Without moments the update would have another length.",
        },
    ),
    "D": (
        "moments",
        {
            "data": "The labels are the same, so it is the same batch.",
            "loss scale": "The scale is that of the training left alone.",
            "random_state": "The loss is the same, so Dropout drew the same mask.",
        },
    ),
}

EXERCISES = [
    Exercise(
        id=2,
        minutes=4,
        solution=parts({letter: f'"{part}"' for letter, (part, _) in LOST.items()}),
        answer=Fields(
            {
                letter: Choice(part, others, options=PARTS)
                for letter, (part, others) in LOST.items()
            }
        ),
        hints=[
            "Which column differs from the training that was left alone? Start with D.",
            "The loss of a step depends on the batch, on the weights and on Dropout's mask.",
        ],
        right="Each lost part has a sign of its own, and none of them is an error.",
    ),
    Exercise(
        id=1,
        minutes=6,
        solution=checkpoint.CODE,
        name="checkpoint",
        answer=checkpoint.judge,
        hints=[
            "What changes during a training? Each of these has to be an argument of"
            " `tf.train.Checkpoint`.",
            "A `LossScaleOptimizer` that is not built has no scale of its own:"
            " `optimizer.build(model.trainable_variables)`.",
        ],
        slips=checkpoint.SLIPS,
        right="Weights, BatchNormalization's averages, moments, scale, counter and the place in the"
        " data: all go on.",
    ),
]
