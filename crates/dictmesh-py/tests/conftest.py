"""What the tests share. They run against the installed package, from a directory outside the repository."""

import os
import pathlib

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def planted(rng, samples=300, features=20, atoms=12, noise=0.05, positive=False):
    """Samples made of a quarter of some atoms each."""
    W = rng.normal(size=(atoms, features))
    Y = rng.normal(size=(samples, atoms)) * (rng.random((samples, atoms)) < 0.25)
    if positive:
        W, Y = abs(W), abs(Y)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    X = Y @ W + noise * rng.normal(size=(samples, features))
    return (abs(X) if positive else X), W


@pytest.fixture
def program():
    """The program dictmesh, built from the same source."""
    path = pathlib.Path(os.environ.get("DICTMESH_PROGRAM", ROOT / "target" / "release" / "dictmesh"))
    if not path.exists():
        pytest.skip(f"the program is not built ({path}): cargo build --release -p dictmesh-cli")
    return path
