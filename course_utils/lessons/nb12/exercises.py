"""Prediction and exercises of notebook 12."""

from course_utils.exercises.engine import Exercise, Prediction, within
from course_utils.exercises.functions import parts
from course_utils.exercises.judges import Fields, choices
from course_utils.lessons.nb12 import judge

TITLE = "Stop, and go on"

PREDICTION = Prediction(
    measures=("apart with the model alone, of the way", "%"),
    example=10,
    parse=within(0, 1000),
    wanted="a percentage from 0 to 1000, such as 10 for a tenth of the way",
    respond="You expect the two trainings to end {:g} % of the way apart.".format,
)

PARTS = ("data", "loss scale", "moments", "random_state")
SAME_BATCH = "The labels are the same, so it is the same batch."
SAME_SCALE = "The scale is that of the training left alone."
SAME_DRAWS = "The loss is the same, so Dropout drew the same mask."
LOST_PART = Fields(
    choices(
        PARTS,
        {  # what was lost, by what speaks against the others
            "A": {
                "loss scale": SAME_SCALE,
                "moments": "All 998 updates are still counted.",
                "random_state": "Dropout does not choose the batch. Look at the labels.",
            },
            "B": {
                "data": SAME_BATCH,
                "moments": "All 998 updates are still counted. Why is the step skipped?",
                "random_state": SAME_DRAWS,
            },
            "C": {
                "data": SAME_BATCH,
                "loss scale": SAME_SCALE,
                "moments": "All 998 updates are still counted.",
            },
            "D": {
                "data": SAME_BATCH,
                "loss scale": SAME_SCALE,
                "random_state": SAME_DRAWS,
            },
        },
    )
)

EXERCISES = [
    Exercise(
        id=2,
        minutes=4,
        solution=parts(LOST_PART.right),
        answer=LOST_PART,
        hints=[
            "Which column differs from the training that was left alone? Start with D.",
            "The loss of a step depends on the batch, on the weights and on Dropout's mask.",
        ],
        right="Each lost part left its own sign here, and none of them is an error.",
    ),
    Exercise(
        id=1,
        minutes=6,
        solution=judge.CODE,
        name="checkpoint",
        answer=judge.judge,
        hints=[
            "What changes during a training? Each of these has to be an argument of"
            " `tf.train.Checkpoint`.",
            "A `LossScaleOptimizer` that is not built has no scale of its own:"
            " `optimizer.build(model.trainable_variables)`.",
        ],
        slips=judge.SLIPS,
        right="Weights, BatchNormalization's averages, moments, scale, counter and the place in the"
        " data: all go on.",
    ),
]
