"""Examine forty public models, and print what the linter says of each.

    python -m tools.public_models [mixed_bfloat16] >rows.md

By hand: it needs keras-hub, keras-rs, kimm, keras-tcn, keras-unet-collection,
keras-mdn-layer, keras-tuner and ncps beside Keras. All are built with random weights and
small sizes; nothing is trained. MP012, which is about the machine, and MP010, which is
advice, are left out.
"""

import sys
import time
from importlib.metadata import version

import keras

from course_utils import precision

PACKAGES = (
    "tensorflow-cpu keras keras-hub keras-rs kimm keras-tcn keras-unet-collection "
    "keras-mdn-layer keras-tuner ncps"
).split()
SMALL = {"weights": None, "input_shape": (64, 64, 3), "classes": 10}
APPLICATIONS = (
    "MobileNet MobileNetV2 MobileNetV3Small EfficientNetB0 EfficientNetV2B0 ResNet50 "
    "ResNet50V2 DenseNet121 ConvNeXtTiny VGG16 NASNetMobile InceptionV3 Xception"
).split()
BERT = {
    "vocabulary_size": 100,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 16,
    "intermediate_dim": 32,
}
LLAMA = {
    "vocabulary_size": 100,
    "num_layers": 2,
    "num_query_heads": 2,
    "num_key_value_heads": 2,
    "hidden_dim": 16,
    "intermediate_dim": 32,
}


def application(name):
    shape = (75, 75, 3) if name in ("InceptionV3", "Xception") else (64, 64, 3)
    return getattr(keras.applications, name)(**SMALL | {"input_shape": shape})


def hub(name, task="", **options):
    import keras_hub

    backbone = getattr(keras_hub.models, f"{name}Backbone")(**options)
    if not task:
        return backbone
    more = {} if task == "CausalLM" else {"num_classes": 2}
    return getattr(keras_hub.models, name + task)(
        backbone=backbone, preprocessor=None, **more
    )


def of_layer(layer, *shape, head=True, dtype=None):
    """A model of a library's layer between an input and a Dense."""
    start = keras.Input(shape, dtype=dtype)
    hidden = layer(start)
    return keras.Model(start, keras.layers.Dense(1)(hidden) if head else hidden)


def rs(name, *shape, **options):
    import keras_rs

    return of_layer(getattr(keras_rs.layers, name)(**options), *shape)


def crosses():
    import keras_rs

    start = keras.Input((16,))
    return keras.Model(
        start, keras.layers.Dense(1)(keras_rs.layers.FeatureCross()(start, start))
    )


def unet(name, **options):
    from keras_unet_collection import models

    return getattr(models, name)((64, 64, 3), n_labels=2, **options)


def tcn():
    from tcn import TCN

    return of_layer(TCN(8), 32, 4)


def liquid(name):
    from ncps import keras as liquid

    return of_layer(getattr(liquid, name)(8), 16, 4)


def mixture():
    import keras_mdn_layer as mdn

    return of_layer(mdn.MDN(2, 3), 8, head=False)


def tuned(name):
    import keras_tuner

    hypermodel = getattr(keras_tuner.applications, name)(
        input_shape=(96, 96, 3), classes=10
    )
    return hypermodel.build(keras_tuner.HyperParameters())


def kimm(name):
    import kimm

    return getattr(kimm.models, name)(
        input_shape=(64, 64, 3), weights=None, include_preprocessing=False
    )


VIT = {
    "image_shape": (32, 32, 3),
    "patch_size": 8,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 16,
    "mlp_dim": 32,
}
FILTERS = {"filter_num": [8, 16, 32]}
MODELS = {
    **{name: lambda name=name: application(name) for name in APPLICATIONS},
    "BertTextClassifier": lambda: hub("Bert", "TextClassifier", **BERT),
    "BertBackbone": lambda: hub("Bert", **BERT),
    "RobertaTextClassifier": lambda: hub("Roberta", "TextClassifier", **BERT),
    "DistilBertBackbone": lambda: hub("DistilBert", **BERT),
    "DebertaV3Backbone": lambda: hub("DebertaV3", **BERT),
    "FNetBackbone": lambda: hub(
        "FNet", **{k: v for k, v in BERT.items() if k != "num_heads"}
    ),
    "T5Backbone": lambda: hub("T5", **BERT),
    "GPT2CausalLM": lambda: hub("GPT2", "CausalLM", **BERT),
    "OPTCausalLM": lambda: hub("OPT", "CausalLM", **BERT),
    "LlamaCausalLM": lambda: hub("Llama", "CausalLM", **LLAMA),
    "MistralCausalLM": lambda: hub("Mistral", "CausalLM", **LLAMA),
    "GemmaCausalLM": lambda: hub("Gemma", "CausalLM", head_dim=8, **LLAMA),
    "ViTImageClassifier": lambda: hub("ViT", "ImageClassifier", **VIT),
    "AlbertBackbone": lambda: hub("Albert", embedding_dim=8, **BERT),
    "FeatureCross": crosses,
    "SASRec's EmbedReduce": lambda: rs(
        "EmbedReduce", 5, input_dim=30, output_dim=8, dtype=None
    ),
    "TCN": tcn,
    "LTC": lambda: liquid("LTC"),
    "CfC": lambda: liquid("CfC"),
    "MDN": mixture,
    "unet_2d": lambda: unet("unet_2d", **FILTERS),
    "att_unet_2d": lambda: unet("att_unet_2d", **FILTERS),
    "r2_unet_2d": lambda: unet("r2_unet_2d", **FILTERS),
    "unet_plus_2d": lambda: unet("unet_plus_2d", **FILTERS),
    "HyperResNet": lambda: tuned("HyperResNet"),
    "HyperXception": lambda: tuned("HyperXception"),
    "MobileViTS": lambda: kimm("MobileViTS"),
    "RegNetY002": lambda: kimm("RegNetY002"),
}


def main(policy="mixed_float16"):
    keras.config.set_dtype_policy(policy)
    print(f"{len(MODELS)} models under {policy}:", end=" ")
    print(*(f"{name} {version(name)}" for name in PACKAGES), sep=", ")
    print("\n| model | findings | seconds |\n|---|---|---|")
    for name, make in MODELS.items():
        try:
            model = make()
            start = time.perf_counter()
            lines = map(str, precision.examine(model, ignore=["MP010", "MP012"]))
            cell = "<br>".join(lines).replace("|", "\\|")
        except Exception as error:  # whatever a library raises
            text = " ".join(str(error).split())[:200].replace("|", "\\|")
            cell, start = f"{type(error).__name__}: {text}", time.perf_counter()
        print(
            f"| {name} | {cell or '-'} | {time.perf_counter() - start:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
