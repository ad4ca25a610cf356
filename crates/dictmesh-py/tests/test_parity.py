"""The same problems solved by others: scikit-learn, SPAMS and cvxpy."""

import warnings

import numpy as np
import pytest
import sklearn.decomposition
from conftest import planted
from sklearn.datasets import load_digits

from dictmesh import NMF, DictionaryLearning, SparseCoder


def objective(X, W, Y, gamma, delta=0.0):
    """The mean elastic-net objective of a sample."""
    each = 0.5 * ((X - Y @ W) ** 2).sum(1) + gamma * abs(Y).sum(1) + 0.5 * delta * (Y**2).sum(1)
    return each.mean()


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.5])
def test_codes_are_those_of_scikit_learn(alpha, positive, rng):
    X, W = planted(rng, features=30, atoms=60)
    theirs = sklearn.decomposition.SparseCoder(
        W, transform_algorithm="lasso_cd", transform_alpha=alpha, positive_code=positive, transform_max_iter=10_000
    ).transform(X)
    ours = SparseCoder(W, alpha=alpha, delta=1e-7, positive_code=positive).transform(X)
    low = objective(X, W, theirs, alpha)
    assert objective(X, W, ours, alpha) <= low * (1 + 1e-4)
    # Theirs is as good: then both have solved the problem that is meant.
    assert low <= objective(X, W, ours, alpha) * (1 + 1e-4)
    assert positive == (ours.min() >= 0)


@pytest.mark.parametrize("data", ["planted", "digits"])
def test_the_learned_objective_is_that_of_scikit_learn(data, rng):
    if data == "planted":
        (X, _), alpha, atoms = planted(rng), 0.1, 12
    else:
        X = load_digits().data[:400] / 16
        X, alpha, atoms = X - X.mean(0), 0.5, 20
    theirs = sklearn.decomposition.DictionaryLearning(
        atoms, alpha=alpha, max_iter=300, tol=1e-6, fit_algorithm="cd", transform_algorithm="lasso_cd",
        transform_alpha=alpha, random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(X)
    ours = DictionaryLearning(atoms, alpha=alpha, random_state=0).fit(X)

    def learned(e):
        codes = SparseCoder(e.components_, alpha=alpha, delta=1e-7).transform(X)
        return objective(X, e.components_, codes, alpha)

    assert learned(ours) <= 1.01 * learned(theirs)
    start = sklearn.decomposition.DictionaryLearning(atoms, alpha=alpha, max_iter=1, random_state=0).fit(X)
    assert learned(theirs) < 0.97 * learned(start), "there is nothing to learn here, so nothing is shown"


def test_nmf_fits_as_well_as_scikit_learn(rng):
    X, _ = planted(rng, positive=True)
    theirs = sklearn.decomposition.NMF(12, init="nndsvda", max_iter=2000, tol=1e-6).fit(X)
    ours = NMF(12, gamma=0.0, delta=1e-6, max_iter=1000, tol=0, random_state=0).fit(X)
    left = [np.linalg.norm(X - e.inverse_transform(e.transform(X))) for e in (ours, theirs)]
    assert left[0] <= 1.05 * left[1]


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("gamma, delta", [(0.1, 0.05), (0.3, 1e-3), (0.02, 0.5)])
def test_codes_are_those_of_spams(gamma, delta, positive, rng):
    spams = pytest.importorskip("spams")
    # SPAMS stops a code at as many entries as there are features.
    X, W = planted(rng, features=80, atoms=60)
    theirs = spams.lasso(
        np.asfortranarray(X.T), D=np.asfortranarray(W.T), lambda1=gamma, lambda2=delta, mode=2, pos=positive
    )
    theirs = np.asarray(theirs.todense()).T
    ours = SparseCoder(W, gamma=gamma, delta=delta, positive_code=positive).transform(X)
    pair = [objective(X, W, Y, gamma, delta) for Y in (ours, theirs)]
    assert pair[0] == pytest.approx(pair[1], rel=1e-6)


@pytest.mark.parametrize("positive", [False, True])
def test_codes_with_huber_are_those_of_cvxpy(positive, rng):
    cp = pytest.importorskip("cvxpy")
    X, W = planted(rng, samples=6, features=15, atoms=8)
    X[:, 3] += 4  # an outlier in each
    gamma, delta, eta = 0.1, 0.05, 0.2
    coder = SparseCoder(W, gamma=gamma, delta=delta, loss="huber", eta=eta, positive_code=positive)
    ours = coder.transform(X)
    for x, y in zip(X, ours):
        code = cp.Variable(8, nonneg=positive)
        # cvxpy's huber(u, M) is u^2 up to M and 2 M |u| - M^2 beyond.
        cost = cp.sum(cp.huber(x - W.T @ code, eta)) / (2 * eta) + gamma * cp.norm1(code) + delta / 2 * cp.sum_squares(code)
        cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")
        best = cost.value
        code.value = y
        assert cost.value == pytest.approx(best, rel=1e-6)
        assert -coder.score(x[None]) == pytest.approx(best, rel=1e-6)
