"""The judge of a panel's reading in notebook 03: it asks the model itself."""

import functools

from .judges import Choice, Fields, Number

BATCH = 64
MOST = {
    "embed": "it casts the rows that it looked up, once; another layer casts as many twice.",
    "pool": "its casts come second: it sums in float32 inside, over fewer numbers.",
    "conv": "it casts its weights alone, which are few.",
    "hidden": "it casts what the pooling left: one number for each filter.",
    "logits": "what arrives there is float32 already.",
}
WEIGHTS = {
    "embed": "it casts the rows that it looks up, after reading them: the diamond is in its box.",
    "norm": "it works in float32 inside, so it reads its weights as they are.",
    "pool": "it has no weights.",
    "hidden": "it computes in float32, so it reads its weights as they are.",
    "logits": "it computes in float32, so it reads its weights as they are.",
}
FIRST = {
    "embed": "its weights are float32, and it hands on float16.",
    "norm": "it works in float32 inside, and hands on float16.",
    "conv": "it hands on float16.",
    "pool": "it sums in float32 inside, and hands on float16.",
    "logits": "a layer before it does so too.",
}


@functools.cache
def measured():
    """{what: the answer} of the model under mixed_float16; and {wrong kB: why}."""
    # late: they load TensorFlow
    from course_utils import models
    from course_utils.precision import dtype_flow
    from course_utils.training import dtype_policy

    with dtype_policy("mixed_float16"):
        model = models.reader()
    shown, asked = dtype_flow(model, 32), dtype_flow(model, BATCH)
    casts = shown[["input_moved", "weight_moved", "inside_moved"]]
    total = float(casts.to_numpy().sum())
    moved = asked[list(casts)].to_numpy().sum()
    right = {
        "most casts": shown.layer[int(casts.sum(axis=1).to_numpy().argmax())],
        "weight casts": shown.layer[shown.weight_moved > 0].item(),
        "first float32": shown.layer[shown.output_dtype == "float32"].iloc[0],
        f"kB at {BATCH}": round(moved / 1e3, 1),
    }
    wrong = {
        total / 500: "The casts of weights do not grow with the batch.",
        total / 1e3: "That is for the panel's 32 texts.",
    }
    return right, {round(value, 1): message for value, message in wrong.items()}


def fields():
    """The judges of the four, by what was measured."""
    right, wrong = measured()
    *names, last = right
    options = ("embed", "norm", "conv", "pool", "hidden", "logits")
    judges = {
        name: Choice(
            right[name],
            {other: f"not `{{value}}`: {why}" for other, why in messages.items()},
            options=options,
        )
        for name, messages in zip(names, (MOST, WEIGHTS, FIRST), strict=True)
    }
    return Fields(judges | {last: Number(right[last], wrong)})


def judge(answer):
    """What is wrong with a reading; the model is made when the first one comes."""
    return fields()(answer)


judge.examples = lambda: fields().examples()  # type: ignore[attr-defined]
