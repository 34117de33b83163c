"""The same numbers in each kind of file, format by format.

    python -m tools.files            make data/files.json, with a virtual environment for
                                     each library (about 1 GB, gone afterwards)
    python tools/files.py LIBRARY    print what one library does, by its own Python

Each library writes the numbers 1, 2 and 3 in a format, and reads the file again. All of
them are exact in every format.
"""

import contextlib
import io
import json
import os
import pickle
import platform
import sys
import tempfile
from pathlib import Path

import numpy as np

FORMATS = (
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float4_e2m1fn",
    "int4",
)
NUMBERS = (1, 2, 3)
SAME, BYTES = "the same", "bytes without a format"
NOT_WRITTEN, NOT_READ = "not written", "not read"


def numbers_in(name):
    import ml_dtypes

    return np.array(NUMBERS).astype(getattr(ml_dtypes, name, name))


def verdict(name, write, read):
    """What becomes of the numbers: [what came back, in which dtype or with which
    words].
    """
    try:
        content = write(numbers_in(name))
    except Exception as error:  # each library refuses in its own way
        return [NOT_WRITTEN, _said(error)]
    try:
        back = read(content)
    except Exception as error:
        return [NOT_READ, _said(error)]
    dtype = str(getattr(back, "dtype", type(back).__name__))
    if back.dtype.kind == "V" and dtype[:2] in ("|V", "<V", "V1", "V2"):
        return [BYTES, dtype]
    values = [float(value) for value in np.asarray(back).ravel()]
    if values != list(map(float, NUMBERS)):
        return ["other numbers", dtype]
    return [SAME if dtype == name else "the same numbers", dtype]


def _said(error):
    text = " ".join(str(error).split()) or "no words"
    return f"{type(error).__name__}: {text[:90]}"


def in_folder(write, read):
    """As (write, read) where a file of a name is written."""

    def written(array):
        folder = tempfile.mkdtemp()
        write(array, f"{folder}/file")
        return folder

    return written, lambda folder: read(f"{folder}/file")


def numpy_files():
    def npy(array):
        file = io.BytesIO()
        np.save(file, array)
        return file.getvalue()

    def npz(array):
        file = io.BytesIO()
        np.savez(file, x=array)
        return file.getvalue()

    ways = {
        "npy": (npy, lambda content: np.load(io.BytesIO(content))),
        "npz": (npz, lambda content: np.load(io.BytesIO(content))["x"]),
        "pickle": (pickle.dumps, pickle.loads),
        "DLPack, to NumPy": (lambda x: x, np.from_dlpack),
    }
    return ways, {"numpy": np.__version__}


def h5py_files():
    import h5py

    def write(array, path):
        with h5py.File(path, "w") as file:
            file["x"] = array

    def read(path):
        with h5py.File(path) as file:
            return file["x"][:]

    return {"HDF5": in_folder(write, read)}, {"h5py": h5py.__version__}


def keras_files():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    import tensorflow as tf

    class Holder(keras.layers.Layer):
        def build(self, shape):
            self.x = self.add_weight(
                shape=(len(NUMBERS),),
                dtype=self.start.dtype.name,
                initializer=lambda shape, dtype=None: tf.constant(self.start),
                trainable=False,
            )

    def model_of(array):
        holder = Holder()
        holder.start = array
        holder.build(None)
        model = keras.Sequential([holder])
        model.built = True
        return model, holder

    def write(array, path):
        model, _ = model_of(array)
        model.save_weights(f"{path}.weights.h5")
        Path(path).write_text(array.dtype.name)

    def read(path):
        other = numbers_in(Path(path).read_text())[::-1]
        model, holder = model_of(other)
        model.load_weights(f"{path}.weights.h5")
        return holder.x.numpy()

    return {"Keras's .weights.h5, also inside .keras": in_folder(write, read)}, {
        "keras": keras.__version__
    }


def tensorflow_files():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    def record(array):
        path = f"{tempfile.mkdtemp()}/file"
        with tf.io.TFRecordWriter(path) as file:
            file.write(tf.io.serialize_tensor(tf.constant(array)).numpy())
        return path, array.dtype.name

    def records(written):
        path, name = written
        (one,) = tf.data.TFRecordDataset(path)
        return tf.io.parse_tensor(one, name).numpy()

    def events(array):
        path = tempfile.mkdtemp()
        with tf.summary.create_file_writer(path).as_default(step=0):
            tf.summary.histogram("x", tf.constant(array))
        return path

    def counted(path):
        from tensorboard.backend.event_processing import event_accumulator

        found = event_accumulator.EventAccumulator(path, {"tensors": 0}).Reload()
        (event,) = found.Tensors("x")
        rows = tf.make_ndarray(event.tensor_proto)
        if rows[:, 2].sum() != len(NUMBERS) or rows[0, 0] != 1 or rows[-1, 1] != 3:
            raise ValueError("other counts")
        return np.array(NUMBERS, rows.dtype)

    ways = {
        "TFRecord, by serialize_tensor": (record, records),
        "TensorBoard, a histogram": (events, counted),
        "DLPack, from TensorFlow to NumPy": (tf.constant, np.from_dlpack),
    }
    return ways, {"tensorflow": tf.__version__}


def safetensors_files():
    import safetensors
    from safetensors import numpy as for_numpy

    ways = {
        "safetensors, from NumPy": (
            lambda array: for_numpy.save({"x": array}),
            lambda content: for_numpy.load(content)["x"],
        )
    }
    return ways, {"safetensors": safetensors.__version__}


def torch_files():
    import safetensors
    import torch
    from safetensors import torch as for_torch

    def tensor(array):
        kept = torch.tensor(array.astype(np.float32))
        return kept.to(getattr(torch, array.dtype.name))

    def as_numpy(back):
        import ml_dtypes

        name = str(back.dtype).removeprefix("torch.")
        return back.float().numpy().astype(getattr(ml_dtypes, name, name))

    def save(array):
        file = io.BytesIO()
        torch.save(tensor(array), file)
        return file.getvalue()

    ways = {
        "torch.save": (save, lambda c: as_numpy(torch.load(io.BytesIO(c)))),
        "safetensors, from PyTorch": (
            lambda array: for_torch.save({"x": tensor(array)}),
            lambda content: as_numpy(for_torch.load(content)["x"]),
        ),
        "DLPack, from PyTorch to NumPy": (tensor, np.from_dlpack),
    }
    versions = {"torch": torch.__version__.partition("+")[0]}
    return ways, versions | {"safetensors": safetensors.__version__}


def onnx_files():
    import onnx
    from onnx import numpy_helper

    def write(array):
        return numpy_helper.from_array(array).SerializeToString()

    def read(content):
        return numpy_helper.to_array(onnx.TensorProto.FromString(content))

    return {"ONNX, a weight": (write, read)}, {"onnx": onnx.__version__}


def arrow_files():
    import pyarrow
    from pyarrow import parquet

    def write(array, path):
        parquet.write_table(pyarrow.table({"x": pyarrow.array(array)}), path)

    def read(path):
        return parquet.read_table(path)["x"].to_numpy()

    return {"Parquet": in_folder(write, read)}, {"pyarrow": pyarrow.__version__}


def zarr_files():
    import zarr

    def write(array, path):
        zarr.save_array(path, array)

    def read(path):
        return zarr.load(path)

    return {"zarr": in_folder(write, read)}, {"zarr": zarr.__version__}


# name: (what makes its ways, what pip installs beside NumPy and ml_dtypes)
LIBRARIES = {
    "NumPy": (numpy_files, "ml_dtypes==0.6.0"),
    "h5py": (h5py_files, "h5py==3.14.0"),
    "Keras": (keras_files, "keras==3.15.1 tensorflow-cpu==2.21.0"),
    "TensorFlow": (tensorflow_files, "tensorflow-cpu==2.21.0 tensorboard==2.20.0"),
    "safetensors": (safetensors_files, "safetensors==0.8.0"),
    "PyTorch": (torch_files, "torch==2.15.0 safetensors==0.8.0"),
    "ONNX": (onnx_files, "onnx==1.23.2"),
    "Arrow": (arrow_files, "pyarrow==26.0.1"),
    "zarr": (zarr_files, "zarr==3.4.2"),
}


def found(library):
    """What a library does with each format in each kind of file, and its versions."""
    import ml_dtypes

    make, _ = LIBRARIES[library]
    ways, versions = make()
    kinds = {
        kind: {name: verdict(name, *way) for name in FORMATS}
        for kind, way in ways.items()
    }
    versions |= {"ml_dtypes": ml_dtypes.__version__}
    return {
        "versions": versions | {"python": platform.python_version()},
        "kinds": kinds,
    }


EXPORTED = "keras==3.15.1 tensorflow-cpu==2.21.0 openvino==2026.4.1 scipy==1.18.1"
POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")
WIDTHS = (8, 256)


def exported():
    """The bytes of a network's file, by kind of file, policy and width."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    import openvino
    import tensorflow as tf

    def network(policy, width):
        layers = keras.layers
        hidden = layers.Dense(width, "relu", dtype=policy)
        last = layers.Dense(8, dtype=policy)
        return keras.Sequential([keras.Input((width,)), hidden, last])

    ways = {
        "`.keras`": lambda model, path: model.save(f"{path}.keras"),
        "LiteRT": lambda model, path: model.export(f"{path}.tflite", "litert"),
        "OpenVINO": lambda model, path: model.export(f"{path}.xml", "openvino"),
    }
    rows = []
    for kind, export in ways.items():
        for width in WIDTHS:
            sizes = []
            for policy in POLICIES:
                quiet = contextlib.redirect_stdout(sys.stderr)
                with tempfile.TemporaryDirectory() as folder, quiet:
                    export(network(policy, width), f"{folder}/file")
                    written = Path(folder).iterdir()
                    sizes.append(sum(file.stat().st_size for file in written))
            rows.append([kind, width, *sizes])
    versions = {"keras": keras.__version__, "tensorflow": tf.__version__}
    versions["openvino"] = openvino.__version__.partition("-")[0]
    return {"versions": versions, "rows": rows}


def main(*asked):
    if asked:
        print(json.dumps(exported() if asked == ("exports",) else found(*asked)))
        return
    from course_utils import paths, records
    from tools.casts import recorded
    from tools.record import made

    libraries = {
        name: recorded(name, packages, __file__)
        for name, (_, packages) in LIBRARIES.items()
    }
    exports = recorded("exports", EXPORTED, __file__)
    record = made("files", libraries=libraries, exports=exports)
    print(f"Written to {records.save(record, paths.data('files.json'))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
