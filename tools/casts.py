"""The same cast in eight libraries, bit by bit.

    python -m tools.casts            make data/casts.json, with a virtual environment for
                                     each library (about 4 GB, gone afterwards)
    python tools/casts.py LIBRARY    print what one library does, by its own Python

Each value stands 67 times in an array, as routines may treat an array's end in another
way than its middle. A result is the list of the bit patterns that came out.
"""

import ctypes
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

COPIES = 67
FLOAT16, BFLOAT16, E4M3, E5M2 = "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"
E8M0 = "float8_e8m0fnu"  # the powers of two that MX formats scale by
NAN, INF = "NaN", "infinity"
# From float32. Ties first, then the ends, then what is no number.
VALUES = {
    FLOAT16: (2049, 2051, 65519, 65520, 1e5, 2**-25, 1.5 * 2**-25, -0.0, INF, NAN),
    BFLOAT16: (257, 259, 3.39e38, 3.4e38, 2.0**-134, -0.0, INF, NAN),
    E4M3: (17, 19, 448, 464, 465, 1e5, 2**-10, -0.0, INF, NAN),
    E5M2: (9, 11, 57344, 61439, 61440, 1e5, 2**-17, -0.0, INF, NAN),
    E8M0: (3, 2.99, 1.5, 0.0, -2, INF, NAN),
    "int8": (2.5, -2.5, 127.5, 128, 300, -300, NAN),
}
# From float64: a little more than a tie of the format, which float32 does not see.
ONCE_OR_TWICE = {FLOAT16: 11, BFLOAT16: 8, E4M3: 4, E5M2: 3}


def cases():
    """(From which dtype, to which format, the value) of each row."""
    for to, values in VALUES.items():
        for value in values:
            yield "float32", to, value
    for to, bits in ONCE_OR_TWICE.items():
        yield "float64", to, 1 + 2.0**-bits + 2.0**-40


def array_of(dtype, value):
    number = {NAN: math.nan, INF: math.inf}.get(value, value)
    return np.full(COPIES, number, dtype)


def bits_of(array):
    """The bit patterns of an array of a format, as sorted numbers."""
    array = np.ascontiguousarray(array)
    unsigned = array.view(f"u{array.dtype.itemsize}")
    return sorted({int(code) for code in unsigned.ravel()})


def ml_dtypes_cast():
    import ml_dtypes

    def cast(x, to):
        with np.errstate(all="ignore"):
            return x.astype(getattr(ml_dtypes, to, to))

    return cast, {"ml_dtypes": ml_dtypes.__version__, "numpy": np.__version__}


def tensorflow_cast():
    tf = tensorflow()
    return (lambda x, to: tf.cast(x, to).numpy()), {"tensorflow": tf.__version__}


def xla_cast():
    tf = tensorflow()

    def cast(x, to):
        return tf.function(lambda x: tf.cast(x, to), jit_compile=True)(x).numpy()

    return cast, {"tensorflow": tf.__version__}


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    return tf


def jax_cast():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def cast(x, to):
        return np.asarray(jax.jit(lambda x: x.astype(jnp.dtype(to)))(x))

    return cast, {"jax": jax.__version__}


def torch_cast():
    import torch

    def cast(x, to):
        out = torch.tensor(x).to(getattr(torch, to))
        return out.view(torch.uint8 if out.itemsize == 1 else torch.int16).numpy()

    return cast, {"torch": torch.__version__.partition("+")[0]}


def onnx_cast():
    import onnxruntime
    from onnx import TensorProto, helper

    kinds = {E4M3: "FLOAT8E4M3FN", E5M2: "FLOAT8E5M2", E8M0: "FLOAT8E8M0"}

    def cast(x, to):
        kind = getattr(TensorProto, kinds.get(to, to.upper()))
        source = TensorProto.DOUBLE if x.dtype == np.float64 else TensorProto.FLOAT
        node = helper.make_node("Cast", ["x"], ["y"], to=kind)
        ends = [
            helper.make_tensor_value_info("x", source, [COPIES]),
            helper.make_tensor_value_info("y", kind, [COPIES]),
        ]
        graph = helper.make_graph([node], "cast", ends[:1], ends[1:])
        opset = [helper.make_opsetid("", 24 if to == E8M0 else 21)]
        version = 12 if to == E8M0 else 10
        model = helper.make_model(graph, opset_imports=opset, ir_version=version)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        given = onnxruntime.OrtValue.ortvalue_from_numpy(x)
        (out,) = session.run_with_ort_values(["y"], {"x": given})
        size = 2 if "16" in to else 1
        raw = ctypes.string_at(out.data_ptr(), size * COPIES)
        return np.frombuffer(raw, f"u{size}")

    return cast, {"onnxruntime": onnxruntime.__version__}


def mlx_cast():
    import importlib.metadata

    import mlx.core as mx

    def cast(x, to):
        if x.dtype == np.float64:
            given = mx.array(x, dtype=mx.float64)
            with mx.stream(mx.cpu):
                out = given.astype(getattr(mx, to))
        elif to in (E4M3, E5M2, E8M0):
            if to != E4M3:
                return None
            out = mx.to_fp8(mx.array(x))
            return np.array(out)
        else:
            out = mx.array(x).astype(getattr(mx, to))
        size = mx.uint8 if out.itemsize == 1 else mx.uint16
        return np.array(out.view(size))

    return cast, {"mlx": importlib.metadata.version("mlx")}


def paddle_cast():
    import paddle

    paddle.set_device("cpu")

    def cast(x, to):
        return paddle.to_tensor(x).astype(to).numpy()

    return cast, {"paddle": paddle.__version__}


# name: (what makes its cast, what pip installs beside NumPy and ml_dtypes)
LIBRARIES = {
    "NumPy, ml_dtypes": (ml_dtypes_cast, "ml_dtypes==0.6.0"),
    "TensorFlow": (tensorflow_cast, "tensorflow==2.21.0"),
    "TensorFlow, XLA": (xla_cast, "tensorflow==2.21.0"),
    "JAX": (jax_cast, "jax==0.12.0.1"),
    "PyTorch": (torch_cast, "torch==2.15.0"),
    "ONNX Runtime": (onnx_cast, "onnxruntime==1.32.0 onnx==1.23.2"),
    "MLX": (mlx_cast, "mlx[cpu]==0.32.4"),
    "Paddle": (paddle_cast, "paddlepaddle==3.3.1"),
}


def codes(library):
    """The results of a library, row by row, and its versions; None where it has no such
    cast.
    """
    make, _ = LIBRARIES[library]
    cast, versions = make()
    found = []
    for dtype, to, value in cases():
        try:
            out = cast(array_of(dtype, value), to)
        except Exception as error:  # what a library does not offer it says in many ways
            print(f"{library}, {dtype} to {to}: {error}"[:200], file=sys.stderr)
            out = None
        found.append(None if out is None else bits_of(out))
    return {
        "versions": versions | {"python": platform.python_version()},
        "codes": found,
    }


def python_of(version):
    """The path of a Python of this version, as `make` looks for it."""
    environment = {**os.environ, "PYTHON": "", "VERSIONS": version}
    command = ["sh", Path(__file__).with_name("environment.sh"), "find"]
    found = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return found.stdout.strip()


def recorded(library, packages, script=__file__):
    """What a script prints of a library, in an environment that has it and is gone
    afterwards.
    """
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin/python"
        uv = Path(sys.executable).with_name("uv")
        make = [uv, "venv", "-q", "--python", python_of("3.12"), folder]
        subprocess.run(make, check=True)
        install = [uv, "pip", "install", "-q", "--python", python, "numpy", "ml_dtypes"]
        subprocess.run([*install, *packages.split()], check=True)
        command = [python, Path(script).resolve(), library]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)


def main(*asked):
    if asked:
        print(json.dumps(codes(*asked)))
        return
    from course_utils import paths, records
    from tools.record import made

    libraries = {
        name: recorded(name, packages) for name, (_, packages) in LIBRARIES.items()
    }
    rows = [{"from": dtype, "to": to, "value": value} for dtype, to, value in cases()]
    record = made("casts", rows=rows, libraries=libraries)
    print(f"Written to {records.save(record, paths.data('casts.json'))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
