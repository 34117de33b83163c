"""A layer of one's own around an Embedding, as in keras.io's examples, rounds the token ids.

Known as: https://github.com/keras-team/keras/issues/10531
Seen with: TensorFlow 2.20.0 and 2.21.0, Keras 3.13.2, 3.14.1 and 3.15.1.
Where: keras.io/examples/nlp/text_classification_with_transformer has `Input(shape=(maxlen,))`,
    which is float32, so the layer casts the ids to its compute dtype. dtype="int32" cures it.
Prints: float32: 0 of 100 ids read another row
    mixed_bfloat16: 95 of 100 ids read another row
    mixed_float16: 73 of 100 ids read another row
Should print: 0 of 100 three times
"""

import keras
import numpy as np

ids = np.arange(19_990)[None]
for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
    keras.config.set_dtype_policy(policy)
    table = keras.layers.Embedding(20_000, 8)
    inside = keras.Sequential([keras.Input((None,)), keras.layers.Lambda(table)])  # a layer's call
    wrong = np.any(inside(ids) != table(ids), axis=-1)
    print(f"{policy}: {100 * wrong.mean():.0f} of 100 ids read another row")
