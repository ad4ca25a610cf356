"""Files that other tools write: the program learns from them, and codes them, as Python does from their arrays."""

import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
import tifffile
from conftest import planted
from PIL import Image
from sklearn.datasets import dump_svmlight_file

import dictmesh
from dictmesh import DictionaryLearning, SparseCoder


def run(program, *args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def codes_of(program, model, data, *flags):
    """The codes that the program writes."""
    out = data.parent / "codes.npz"
    run(program, "infer", model, data, "-o", out, "--quiet", *flags)
    return sp.load_npz(out).toarray()


def columns(X):
    return {f"feature {i}": X[:, i] for i in range(X.shape[1])}


#: How each tool writes a matrix. Numbers of a few digits are the same as text and in single precision.
WRITERS = {
    "double.npy": lambda path, X: np.save(path, X),
    "single.npy": lambda path, X: np.save(path, X.astype(np.float32)),
    "fortran.npy": lambda path, X: np.save(path, np.asfortranarray(X)),
    "big-endian.npy": lambda path, X: np.save(path, X.astype(">f8")),
    "version-2.npy": lambda path, X: _npy(path, X, (2, 0)),
    "version-3.npy": lambda path, X: _npy(path, X, (3, 0)),
    "one.npz": lambda path, X: np.savez(path, samples=X),
    "packed.npz": lambda path, X: np.savez_compressed(path, X),
    "csr.npz": lambda path, X: sp.save_npz(path, sp.csr_matrix(X)),
    "csc.npz": lambda path, X: sp.save_npz(path, sp.csc_matrix(X)),
    "coo.npz": lambda path, X: sp.save_npz(path, sp.coo_matrix(X), compressed=False),
    "sparse.mtx": lambda path, X: scipy.io.mmwrite(path, sp.coo_matrix(X)),
    "dense.mtx": lambda path, X: scipy.io.mmwrite(path, X),
    "scikit-learn.svm": lambda path, X: dump_svmlight_file(X, np.arange(len(X)) % 3, str(path), zero_based=False),
    "numpy.csv": lambda path, X: np.savetxt(path, X, delimiter=","),
    "pandas.csv": lambda path, X: pd.DataFrame(columns(X)).to_csv(path),
    "pandas.csv.gz": lambda path, X: pd.DataFrame(columns(X)).to_csv(path, index=False),
    "polars.csv": lambda path, X: pl.DataFrame(columns(X)).write_csv(path),
    "pandas.jsonl": lambda path, X: pd.DataFrame(columns(X)).to_json(path, orient="records", lines=True, double_precision=15),
    "polars.jsonl": lambda path, X: pl.DataFrame(columns(X)).write_ndjson(path),
    "pandas.parquet": lambda path, X: pd.DataFrame(columns(X)).to_parquet(path),
    "polars.parquet": lambda path, X: pl.DataFrame(columns(X)).write_parquet(path),
    "pyarrow.parquet": lambda path, X: pq.write_table(pa.table(columns(X)), path, compression="zstd", row_group_size=70),
    "vectors.parquet": lambda path, X: pq.write_table(pa.table({"x": list(X)}), path),
    "polars.arrow": lambda path, X: pl.DataFrame(columns(X)).write_ipc(path, compression="zstd"),
    "pyarrow.feather": lambda path, X: feather.write_feather(pa.table(columns(X)), path, compression="lz4"),
    "stream.arrows": lambda path, X: _stream(path, X),
}


def _npy(path, X, version):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, X, version=version)


def _stream(path, X):
    table = pa.table(columns(X))
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(path, table.schema, options=packed) as stream:
        stream.write_table(table, max_chunksize=64)


def _plain(directory, X):
    """The samples as numpy and scipy write them by default."""
    if sp.issparse(X):
        sp.save_npz(directory / "same.npz", X)
        return directory / "same.npz"
    np.save(directory / "same.npy", X)
    return directory / "same.npy"


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_its_array(name, program, rng, tmp_path):
    X, _ = planted(rng, samples=200, features=12, atoms=6)
    # Sixteenths, and a zero in every third place.
    X = np.round(X * 16) / 16
    X[np.add.outer(np.arange(200), np.arange(12)) % 3 == 0] = 0
    path = tmp_path / name
    WRITERS[name](path, X)
    model = tmp_path / "model"
    flags = ["--atoms", 5, "--gamma", 0.2, "--delta", 0.1, "--batch", 64, "--passes", 2, "--seed", 3]
    run(program, "learn", path, "-o", model, *flags, "--quiet")
    ours = DictionaryLearning(5, gamma=0.2, delta=0.1, batch_size=64, max_iter=2, tol=0, random_state=3)
    # The program keeps sparse files sparse, whose sums have another order.
    sparse = name.endswith((".svm", "csr.npz", "csc.npz", "coo.npz", "sparse.mtx"))
    X = sp.csr_matrix(X) if sparse else X
    ours.fit(X)
    # Python gives atoms signs of their own, the model files of both have those of the mesh.
    np.testing.assert_array_equal(dictmesh.Mesh.of(ours).dictionary, dictmesh.Mesh.load(model).dictionary)
    found = codes_of(program, model, path)
    np.testing.assert_array_equal(found, codes_of(program, model, _plain(tmp_path, X)))
    expected = dictmesh.load(model).transform(X)
    assert np.count_nonzero(found) > 100
    np.testing.assert_allclose(abs(found), abs(expected), rtol=0, atol=1e-14)


def test_a_given_dictionary_codes_as_in_python(program, rng, tmp_path):
    X, W = planted(rng, samples=50)
    W = 1.7 * W
    np.save(tmp_path / "x.npy", X)
    pq.write_table(pa.table(columns(W)), tmp_path / "w.parquet")
    np.save(tmp_path / "columns.npy", W.T)
    given = {"gamma": 0.3, "delta": 0.2}
    cases = [({}, []), ({"loss": "huber", "eta": 0.5}, ["--residual", "huber", "--eta", 0.5])]
    for more, flags in cases:
        expected = SparseCoder(W, **given, **more).transform(X)
        for name in ["w.parquet", "columns.npy"]:
            out = tmp_path / "codes.npz"
            run(program, "infer", "--dictionary", tmp_path / name, tmp_path / "x.npy", "-o", out, "--gamma", 0.3,
                "--delta", 0.2, "--quiet", *flags)
            np.testing.assert_allclose(sp.load_npz(out).toarray(), expected, rtol=0, atol=1e-9)


#: How each tool writes a picture of 8 or 16 bits.
PICTURES = {
    "pillow-8.tif": (8, lambda path, p: Image.fromarray(p).save(path)),
    "pillow-lzw.tif": (8, lambda path, p: Image.fromarray(p).save(path, compression="tiff_lzw")),
    "pillow-deflate.tif": (8, lambda path, p: Image.fromarray(p).save(path, compression="tiff_adobe_deflate")),
    "pillow-packbits.tif": (8, lambda path, p: Image.fromarray(p).save(path, compression="packbits")),
    "pillow-16.tif": (16, lambda path, p: Image.fromarray(p).save(path)),
    "tifffile-8.tif": (8, tifffile.imwrite),
    "tifffile-16.tiff": (16, tifffile.imwrite),
    "tifffile-big-endian.tif": (16, lambda path, p: tifffile.imwrite(path, p, byteorder=">")),
    "tifffile-strips.tif": (8, lambda path, p: tifffile.imwrite(path, p, rowsperstrip=7)),
    "tifffile-tiles.tif": (8, lambda path, p: tifffile.imwrite(path, p, tile=(16, 32))),
    "tifffile-big.tif": (16, lambda path, p: tifffile.imwrite(path, p, bigtiff=True)),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_its_array(name, program, rng, tmp_path):
    bits, write = PICTURES[name]
    i, j = np.mgrid[:40, :56]
    clean = 128 + 60 * np.sin(i / 4) + 40 * (j > 25) + 5 * rng.normal(size=(40, 56))
    scale = 257 if bits == 16 else 1
    pixels = np.clip(clean * scale, 0, 255 * scale).round().astype(np.uint16 if bits == 16 else np.uint8)
    write(tmp_path / name, pixels)
    Image.fromarray(pixels).save(tmp_path / "same.png")
    e = DictionaryLearning(9, gamma=0.02, delta=0.05, patch_size=6, patch_stride=3, max_iter=2, tol=0, random_state=0)
    e.fit(pixels).save(tmp_path / "model")
    found = codes_of(program, tmp_path / "model", tmp_path / name)
    np.testing.assert_array_equal(found, codes_of(program, tmp_path / "model", tmp_path / "same.png"))
    # The program scales pixels from 0 to 255, Python from 0 to 1.
    np.testing.assert_allclose(abs(found), abs(e.transform(pixels)), rtol=0, atol=1e-12)
    assert np.count_nonzero(found) > 100
