"""Arrays of every kind come in as they are."""

import pathlib
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import planted

from dictmesh import NMF, DictionaryLearning, NoveltyDetector, SparseCoder

KINDS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "read-only": lambda X: read_only(X),
    "unaligned": lambda X: unaligned(X),
    "big-endian": lambda X: X.astype(">f8"),
    "list": lambda X: X.tolist(),
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=[f"f{i}" for i in range(X.shape[1])], orient="row"),
    "csr": sp.csr_matrix,
    "csr array": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "csr, 64-bit indices": lambda X: long_indices(X),
    "csr, unsorted": lambda X: unsorted(X),
}


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def unaligned(X):
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    out = raw[1:].view(np.float64).reshape(X.shape)
    out[:] = X
    assert not out.flags.aligned
    return out


def long_indices(X):
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(X):
    """Columns of a row fall, and an entry comes in two halves."""
    X = sp.csr_matrix(X)
    parts = [(X.indices[a:b][::-1], X.data[a:b][::-1]) for a, b in zip(X.indptr, X.indptr[1:])]
    indices = np.concatenate([np.repeat(i, 2) for i, _ in parts])
    data = np.concatenate([np.repeat(v / 2, 2) for _, v in parts])
    return sp.csr_matrix((data, indices, 2 * X.indptr), shape=X.shape)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:X has feature names")
@pytest.mark.parametrize("kind", KINDS)
def test_results_do_not_depend_on_how_samples_are_stored(kind, rng):
    X, _ = planted(rng, samples=150)
    X[abs(X) < 0.3] = 0
    given = KINDS[kind](X)
    e = DictionaryLearning(6, alpha=0.1, batch_size=50, max_iter=3, tol=0, random_state=0)
    wanted = e.fit(X).components_
    codes = e.transform(X)
    found = e.fit(given).components_
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    np.testing.assert_allclose(e.transform(given), codes, atol=1e-9)
    scores = NoveltyDetector(3, random_state=0).fit(X)
    np.testing.assert_allclose(scores.score_samples(given), scores.score_samples(X), atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_single_precision_stays_single(kind, rng):
    X, _ = planted(rng)
    e = DictionaryLearning(6, alpha=0.1, max_iter=3, tol=0, random_state=0)
    double = e.fit(X).transform(X)
    single = e.fit(kind(X.astype(np.float32)))
    codes = single.transform(kind(X.astype(np.float32)))
    assert single.components_.dtype == codes.dtype == np.float32 == single.inverse_transform(codes).dtype
    np.testing.assert_allclose(codes, double, atol=1e-4)
    assert single.transform(X).dtype == np.float64


def test_samples_are_not_changed(rng):
    X, _ = planted(rng)
    before = X.copy()
    DictionaryLearning(6, max_iter=2, tol=0).fit_transform(X)
    NoveltyDetector(3).fit(X).predict(X)
    np.testing.assert_array_equal(X, before)
    rough = unsorted(before)
    copy = rough.copy()
    SparseCoder(np.eye(20)).transform(rough)
    np.testing.assert_array_equal(rough.indices, copy.indices)


def peak_growth(code):
    """By how many megabytes a process grows at most while it does this."""
    script = f"""
import resource, numpy as np, scipy.sparse as sp
from dictmesh import DictionaryLearning, NMF
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
{code}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def test_csr_is_not_made_dense():
    # 800 MB if it were dense.
    grown = peak_growth(
        """
rng = np.random.default_rng(0)
X = sp.csr_matrix((rng.random(20_000), rng.integers(20_000, size=20_000), np.arange(0, 20_001, 4)), shape=(5_000, 20_000))
start = peak()
e = NMF(4, max_iter=1, tol=0, random_state=0).fit(X)
codes = e.transform(X)
assert codes.any() and codes.shape == (5_000, 4)
print(peak() - start)
"""
    )
    assert grown < 400


@pytest.mark.parametrize("dtype, order", [("f8", "C"), ("f4", "C"), ("f8", "F")])
def test_no_second_copy_of_the_samples_is_made(dtype, order):
    # Against a copy in double precision; parts take up to 100 MB of these 190.
    grown = peak_growth(
        f"""
X = np.empty((500_000, 50), dtype="{dtype}", order="{order}")
X[:] = np.random.default_rng(0).normal(size=50).astype("{dtype}")
start = peak()
e = DictionaryLearning(2, max_iter=1, tol=0, random_state=0, batch_size=4096).fit(X)
codes = e.transform(X)
print((peak() - start) / (8 * X.size / 2**20))
"""
    )
    assert grown < 0.8


def test_codes_that_do_not_fit_into_memory_say_so():
    """In a process of its own that may have 512 MB more than it has: the codes would take 800."""
    if not pathlib.Path("/proc/self/statm").exists():
        pytest.skip("nothing says how much memory a process has")
    script = """
import resource
import numpy as np
import scipy.sparse
import dictmesh

coder = dictmesh.SparseCoder(np.eye(100), gamma=0.1, delta=0.1)
coder.transform(np.ones((20, 100)))
x = scipy.sparse.csr_matrix((1_000_000, 100))
with open("/proc/self/statm") as f:
    now = int(f.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (512 << 20), resource.RLIM_INFINITY))
try:
    coder.transform(x)
except MemoryError as e:
    print(e)
print(coder.score(x))
few = coder.transform(x[:20])
print(few.shape, np.count_nonzero(few))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    error, score, few = done.stdout.splitlines()
    assert error == (
        "1000000 samples with 100 codes each are more than there is memory for; give some of the samples at a time"
    )
    assert (score, few) == ("-0.0", "(20, 100) 0")  # costs alone fit
