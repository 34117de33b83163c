"""Examine forty public models, apply each finding's own fix, and print what it changes.

    python -m tools.public_models [mixed_bfloat16] >rows.md

By hand: it needs keras-hub, keras-rs, kimm, keras-tcn, keras-unet-collection,
keras-mdn-layer, keras-tuner and ncps beside Keras. All are built with random weights and
small sizes; nothing is trained. MP012, which is about the machine, and MP010, which is
advice, are left out.

A finding is true if its fix makes something finite that was not, or changes a gradient by
more than the format rounds a number; else it is false. Three copies with the same weights
are compared on the same random batch: as it is, with the fix, and in float32. Where the
finding is about the output, the last weights are made so large that the answers are as
confident as in the rule's own measurement (a gap of 18 between the logits); the gradient
is that of these weights, once where all answers are wrong, and once where all are right
(in a regression: off by 1, and by a hundredth). Where it is about the inside, the weights
of the embeddings are made 300 times as large, and a part of each sample is masked.
"""

import re
import sys
import time
from importlib.metadata import version

import keras
import numpy as np
import tensorflow as tf
from mixed_precision_lint.calls import symbols
from mixed_precision_lint.layers import walk

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


GAP = 18.0  # between two logits, as in the rule's own measurement
ROUNDS = {"mixed_float16": 2.0**-11, "mixed_bfloat16": 2.0**-8}
OUTPUT = "MP001"


def made(make, policy):
    """A model with the weights that its seed gives, under a policy."""
    keras.utils.clear_session()  # which forgets the policy, too
    keras.config.set_dtype_policy(policy)
    keras.utils.set_random_seed(1)
    return make()


def fixed(make, policy, finding):
    """A model with a finding's own fix; None where the fix is no code for this model."""
    if policy_of := re.match(
        r'keras\.config\.set_dtype_policy\("(\w+)"\)', finding.fix
    ):
        return made(make, policy_of[1])
    model = made(make, policy)
    if finding.fix.startswith("model."):
        exec(finding.fix, {"model": model})
        return model
    if re.match(r'\w+\(.*dtype="float32"\)', finding.fix):
        # What a reader writes into the constructor, set on the layer that it makes.
        (layer,) = [la for la in layers_of(model) if la[0] == finding.layer]
        layer[1].dtype_policy = "float32"
        return model
    return None


def layers_of(model):
    """(path or name, layer) of all layers."""
    listed = walk(model)
    paths = {id(layer) for _, layer in listed}
    others = [la for la in model._flatten_layers() if id(la) not in paths]
    return [*listed, *((layer.name, layer) for layer in others)]


def batch_for(model):
    """Random inputs, of which the last third is masked where there is a mask."""
    source = np.random.default_rng(0)

    def values(spec, name=""):
        shape = [n or 12 for n in spec.shape]  # what the model leaves open
        if "mask" in name:
            mask = np.ones(shape, spec.dtype)
            mask[..., -max(1, shape[-1] // 3) :] = 0
            return mask
        if "int" in spec.dtype or "bool" in spec.dtype:
            high = 2 if "segment" in name else 20
            return source.integers(0, high, shape).astype(spec.dtype)
        return source.normal(size=shape).astype(spec.dtype)

    spec = symbols(model, 4)
    if isinstance(spec, dict):
        return {name: values(each, name) for name, each in spec.items()}
    return keras.tree.map_structure(values, spec)


def last_weighted(model):
    """The layer that makes the logits: the last one with a kernel."""
    return [la for _, la in walk(model) if getattr(la, "kernel", None) is not None][-1]


def loss_of(outputs, probable, right):
    """Of answers that are right, or nearly so, or all wrong, as float32 gives them."""
    if outputs.shape[-1] == 1 and not probable:
        target = outputs * 0.99 if right else outputs + 1
        return lambda y: tf.reduce_mean(tf.square(tf.cast(y, "float32") - target))
    flat = np.reshape(outputs, (-1, outputs.shape[-1]))
    if flat.shape[1] == 1:
        labels = (flat > 0.5) == right
        loss = keras.losses.BinaryCrossentropy()
        return lambda y: loss(labels.reshape(outputs.shape), y)
    labels = flat.argmax(1) if right else flat.argmin(1)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=not probable)
    return lambda y: loss(labels.reshape(outputs.shape[:-1]), y)


def gradient(model, x, loss):
    """Of the last weights, in a graph, as `fit` computes it."""
    kernel = last_weighted(model).kernel

    @tf.function
    def compute(scale):
        with tf.GradientTape() as tape:
            value = scale * tf.cast(loss(model(x, training=False)), "float32")
        return tf.cast(tape.gradient(value, kernel.value), "float32") / scale

    for scale in 2.0 ** np.arange(15, -5, -4):  # as a dynamic scale would fall
        result = compute(tf.constant(scale, "float32")).numpy()
        if np.isfinite(result).all():
            break
    return result


def apart(one, other):
    """How far two arrays are apart, as a part of the second's length."""
    return float(np.linalg.norm(one - other) / (np.linalg.norm(other) or 1.0))


def at_the_output(make, policy, finding):
    """What a fix at the output does to the gradient of confident answers."""
    models = [made(make, policy), fixed(make, policy, finding), made(make, "float32")]
    if models[1] is None:
        return "not applied", None
    as_float32 = models[2]
    x = batch_for(as_float32)
    # Untrained normalizations let deep features fade: they learn this batch's statistics.
    for layer in as_float32._flatten_layers():
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
    as_float32(x, training=True)
    for model in models:
        model.set_weights(as_float32.get_weights())
    outputs = np.asarray(as_float32(x, training=False))
    probable = outputs.min() >= 0 and bool(np.allclose(outputs.sum(-1), 1, atol=1e-3))
    probable = probable or "sigmoid" in finding.fix
    logits = np.log(np.clip(outputs, 1e-30, None)) if probable else outputs
    if logits.shape[-1] > 1:
        factor = GAP / np.mean(np.ptp(logits, axis=-1))
        for model in models:
            for weight in last_weighted(model).weights:
                weight.assign(weight * float(factor))
        outputs = np.asarray(as_float32(x, training=False))
    words = []
    changes = []
    for right in (False, True):
        loss = loss_of(outputs, probable, right)
        before, after, exact = (gradient(model, x, loss) for model in models)
        if not np.isfinite(exact).all():
            return "nothing to compare: float32 itself is not finite", None
        changes.append(apart(before, after))
        words.append(
            f"{'right' if right else 'wrong'} answers: gradient changed by {changes[-1]:.2g}, "
            f"from float32's {apart(before, exact):.2g} before and {apart(after, exact):.2g} after"
        )
    return "; ".join(words), not max(changes) <= ROUNDS[policy]


def on_the_inside(make, policy, finding):
    """What a fix inside a model does to what it puts out."""
    results = []
    copies = (
        lambda: made(make, policy),
        lambda: fixed(make, policy, finding),
        lambda: made(make, "float32"),
    )
    for copy in copies:
        model = copy()
        if model is None:
            return "not applied", None
        for _, layer in walk(model):
            if isinstance(layer, keras.layers.Embedding) and layer.built:
                layer.embeddings.assign(300 * layer.embeddings)
        try:
            outputs = keras.tree.flatten(model(batch_for(model), training=False))
            results.append(
                np.concatenate([np.ravel(tf.cast(o, "float32")) for o in outputs])
            )
        except Exception as error:  # whatever a library raises
            results.append(type(error).__name__)
    before, after, right = results
    words = [
        each
        if isinstance(each, str)
        else f"{np.isfinite(each).mean():.0%} finite, {apart(each, right):.2g} from float32"
        for each in (before, after)
    ]
    change = np.inf
    if not isinstance(before, str) and not isinstance(after, str):
        change = apart(before, after)
    return f"{words[0]} before; {words[1]} with the fix", not change <= ROUNDS[policy]


def tried(make, policy, finding):
    """What a finding's own fix changes, in words, and whether that is more than rounding."""
    try:
        if finding.code == OUTPUT:
            return at_the_output(make, policy, finding)
        return on_the_inside(make, policy, finding)
    except Exception as error:  # whatever a library raises
        text = " ".join(str(error).split())[:100].replace("|", "/")
        return f"not tried ({type(error).__name__}: {text})", None


def main(policy="mixed_float16", *names):
    print(f"{len(MODELS)} models under {policy}:", end=" ")
    print(*(f"{name} {version(name)}" for name in PACKAGES), sep=", ")
    print("\n| model | finding | what its fix changes | more than rounding |")
    print("|---|---|---|---|")
    for name in names or MODELS:
        try:
            model = made(MODELS[name], policy)
            found = precision.examine(model, ignore=["MP010", "MP012"])
        except Exception as error:  # whatever a library raises
            text = " ".join(str(error).split())[:200].replace("|", "\\|")
            print(f"| {name} | {type(error).__name__}: {text} | | |", flush=True)
            continue
        if not found:
            print(f"| {name} | - | | |", flush=True)
        for finding in found:
            start = time.perf_counter()
            what, more = tried(MODELS[name], policy, finding)
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
            words = f"{finding.code} {finding.severity} {finding.layer}".replace(
                "|", "\\|"
            )
            verdict = {True: "yes", False: "NO", None: "?"}[more]
            print(f"| {name} | {words} | {what} | {verdict} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
