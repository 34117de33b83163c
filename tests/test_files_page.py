"""docs/files.md says what data/files.json holds, and the libraries here still do it."""

import json
import zipfile

import keras
import pytest
from helpers.versions import skip_if_older

from tools import files, files_page, reference
from tools.canonical_form import COURSE
from tools.files import BYTES, FORMATS, NOT_READ, NOT_WRITTEN, SAME

RECORD = json.loads((COURSE / "data/files.json").read_text(encoding="utf-8"))
KINDS = {
    kind: {name: verdict for name, (verdict, _) in found.items()}
    for library in RECORD["libraries"].values()
    for kind, found in library["kinds"].items()
}


def test_the_page_is_made_of_the_record():
    page = (COURSE / "docs/files.md").read_text(encoding="utf-8")
    assert reference.files() == page
    assert list(RECORD["libraries"]) == list(files.LIBRARIES)
    assert all(set(found) == set(FORMATS) for found in KINDS.values())
    rows = files_page.told(RECORD)["rows"]
    assert [row[0] for row in rows] == list(KINDS)
    assert all(len(row) == 5 for row in rows)


def test_what_the_page_says_of_all():
    for kind, found in KINDS.items():
        numbers_alone = kind.startswith("TensorBoard")
        assert found["float16"] == ("the same numbers" if numbers_alone else SAME)
    kept = {kind for kind, found in KINDS.items() if set(found.values()) == {SAME}}
    assert kept == {"pickle", "ONNX, a weight"}


def test_what_the_page_says_of_exports():
    sizes = {(kind, width): row for kind, width, *row in RECORD["exports"]["rows"]}
    for width in files.WIDTHS:
        kept = sizes["`.keras`", width]
        assert max(kept) < 1.01 * min(kept)
    for kind in ("LiteRT", "OpenVINO"):
        narrow, wide = (sizes[kind, width] for width in files.WIDTHS)
        assert narrow[0] < narrow[1] and wide[1] < 0.55 * wide[0]
    assert sizes["LiteRT", 256][2] == sizes["LiteRT", 256][1]
    assert sizes["OpenVINO", 256][2] > sizes["OpenVINO", 256][0]


def test_e5m2_alone_is_written_and_not_read_by_numpy():
    for kind in ("npy", "npz"):
        found = KINDS[kind]
        assert [name for name in FORMATS if found[name] == NOT_READ] == ["float8_e5m2"]
        assert [name for name in FORMATS if found[name] == SAME] == ["float16"]
        assert found["bfloat16"] == found["float8_e4m3fn"] == BYTES
    assert KINDS["HDF5"]["float8_e5m2"] == NOT_WRITTEN


def test_safetensors_reads_back_what_pytorch_wrote_and_not_what_numpy_did():
    for name in FORMATS[1:4]:
        assert KINDS["safetensors, from NumPy"][name] == NOT_READ
        assert KINDS["safetensors, from PyTorch"][name] == SAME


def test_a_keras_file_holds_the_weights_file(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.save(tmp_path / "model.keras")
    assert "model.weights.h5" in zipfile.ZipFile(tmp_path / "model.keras").namelist()


@pytest.mark.parametrize("library", ["NumPy", "h5py", "Keras", "TensorFlow"])
def test_the_libraries_here_still_do_so(library):
    if library == "TensorFlow":
        skip_if_older(
            "tensorflow", RECORD["libraries"][library]["versions"]["tensorflow"]
        )
    found = files.found(library)["kinds"]
    expected = RECORD["libraries"][library]["kinds"]
    assert list(found) == list(expected)
    for kind, verdicts in expected.items():
        for name, (verdict, _) in verdicts.items():
            assert found[kind][name][0] == verdict, (kind, name, found[kind][name])
