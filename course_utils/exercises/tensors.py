"""The judge of a panel's reading in notebook 03; a test asks the model itself."""

from .judges import Fields, Number, choices

WRONG = {
    "most casts": {
        "embed": "it casts the rows that it looked up, once; another layer casts as many twice.",
        "pool": "its casts come second: it sums in float32 inside, over fewer numbers.",
        "conv": "it casts its weights alone, which are few.",
        "hidden": "it casts what the pooling left: one number for each filter.",
        "logits": "what arrives there is float32 already.",
    },
    "weight casts": {
        "embed": "it casts the rows that it looks up, after reading them:"
        " the diamond is in its box.",
        "norm": "it works in float32 inside, so it reads its weights as they are.",
        "pool": "it has no weights.",
        "hidden": "it computes in float32, so it reads its weights as they are.",
        "logits": "it computes in float32, so it reads its weights as they are.",
    },
    "first float32": {
        "embed": "its weights are float32, and it hands on float16.",
        "norm": "it works in float32 inside, and hands on float16.",
        "conv": "it hands on float16.",
        "pool": "it sums in float32 inside, and hands on float16.",
        "logits": "a layer before it does so too.",
    },
}
LAYERS = ("embed", "norm", "conv", "pool", "hidden", "logits")
READING = Fields(
    {
        **choices(LAYERS, WRONG, "not `{value}`: "),
        "kB at 64": Number(
            1881,
            {
                1992: "The casts of weights do not grow with the batch.",
                996: "That is for the panel's 32 texts.",
            },
        ),
    }
)
