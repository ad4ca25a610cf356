"""Estimators are scikit-learn's citizens."""

import copy
import inspect
import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from conftest import planted
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import dictmesh
from dictmesh import NMF, DictionaryLearning, MeshOptions, NoveltyDetector, SparseBiclustering, SparseCoder

EVERY = [
    DictionaryLearning(),
    # The whole way through a mesh, and all that differs from the defaults.
    DictionaryLearning(mesh=MeshOptions(2, "ring"), gamma=0.1, delta=0.1, batch_size=16, center="sample", normalize="l2"),
    NMF(),
    SparseCoder(),
    NoveltyDetector(),
    SparseBiclustering(),
    SparseBiclustering(method="ssvd"),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(EVERY)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_every_parameter_is_documented(estimator):
    for name in inspect.signature(type(estimator)).parameters:
        assert name in type(estimator).__doc__, name


@pytest.mark.parametrize("strategy", ["tree", {"kind": "tree", "bits": 6}], ids=["name", "dict"])
def test_every_estimator_takes_the_strategy_tree(strategy, rng, tmp_path):
    X, _ = planted(rng, positive=True)
    options = MeshOptions(3, "ring", tol=1e-7, strategy="relaxed-admm")
    for kind in (DictionaryLearning, NMF):
        gossip = kind(6, gamma=0.1, delta=0.1, max_iter=2, tol=0, mesh=options, random_state=0)
        gossip.fit(X)
        sums = clone(gossip).set_params(mesh__strategy=strategy).fit(X)
        np.testing.assert_allclose(sums.components_, gossip.components_, atol=1e-4)
        codes = clone(sums).set_params(transform_method="mesh").fit(X).transform(X)
        np.testing.assert_allclose(codes, sums.transform(X), atol=1e-4)
        sums.save(tmp_path / "m")
        again = dictmesh.load(tmp_path / "m")
        assert again.mesh.strategy == strategy and again.mesh == sums.mesh
        np.testing.assert_array_equal(again.transform(X), sums.transform(X))
        assert dictmesh.Mesh.of(sums).infer(X).certified_gaps.shape == (len(X),)
    W = gossip.components_
    how = {"gamma": 0.1, "delta": 0.1, "mesh": clone(options).set_params(strategy=strategy), "random_state": 0}
    coder = SparseCoder(W, transform_method="mesh", **how)
    exact = SparseCoder(W, **how)
    np.testing.assert_allclose(coder.fit_transform(X), exact.fit_transform(X), atol=1e-4)
    detector = NoveltyDetector(3, strategy=strategy, random_state=0).fit(X)
    assert np.isfinite(detector.score_samples(X)).all()


def test_auto_chooses_by_the_links(rng, tmp_path):
    X, _ = planted(rng)
    certified = {}
    for latency in (0.0, 10.0):
        e = DictionaryLearning(
            16, gamma=0.1, delta=0.1, max_iter=1, tol=0, random_state=0,
            mesh=MeshOptions(16, "ring", strategy={"kind": "auto", "latency": latency}),
        )
        e.fit(X).save(tmp_path / "m")
        # Sums certify their results, gossip does not.
        found = dictmesh.Mesh.of(dictmesh.load(tmp_path / "m")).infer(X)
        certified[latency] = found.certified_gaps is not None
    assert certified == {0.0: True, 10.0: False}
    assert MeshOptions().strategy == "auto"


def test_pipeline_and_grid_search(rng):
    X, _ = planted(rng)
    steps = make_pipeline(StandardScaler(), DictionaryLearning(6, max_iter=3, tol=0, random_state=0))
    search = GridSearchCV(steps, {"dictionarylearning__n_components": [2, 8]}, cv=3).fit(X)
    # More atoms express held-out samples better: the score must say so.
    assert search.best_params_ == {"dictionarylearning__n_components": 8}
    assert search.transform(X).shape == (len(X), 8)


def test_score_is_minus_the_mean_objective(rng):
    X, _ = planted(rng)
    e = DictionaryLearning(6, gamma=0.2, delta=0.3, max_iter=3, tol=0, random_state=0).fit(X)
    Y = e.transform(X)
    each = 0.5 * ((X - Y @ e.components_) ** 2).sum(1) + 0.2 * abs(Y).sum(1) + 0.15 * (Y**2).sum(1)
    assert e.score(X) == pytest.approx(-each.mean(), rel=1e-9)


def test_names_and_set_output(rng):
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    e = DictionaryLearning(2, alpha=0.1, max_iter=2, tol=0, random_state=0).set_output(transform="pandas").fit(frame)
    out = e.transform(frame)
    assert list(out.columns) == ["dictionarylearning0", "dictionarylearning1"] == list(e.get_feature_names_out())
    assert list(e.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        e.transform(frame[["b", "a", "c"]])


@pytest.mark.parametrize("copying", ["pickle", "joblib", "deepcopy", "save"])
def test_copies_code_the_same_and_learn_on_the_same(copying, rng, tmp_path):
    X, _ = planted(rng)
    e = DictionaryLearning(6, alpha=0.1, mesh=MeshOptions(2), max_iter=2, tol=0, random_state=0).fit(X)
    e.transform(X)
    if copying == "pickle":
        again = pickle.loads(pickle.dumps(e))
    elif copying == "joblib":
        file = io.BytesIO()
        joblib.dump(e, file)
        file.seek(0)
        again = joblib.load(file)
    elif copying == "deepcopy":
        again = copy.deepcopy(e)
    else:
        e.save(tmp_path / "m.model")
        again = dictmesh.load(tmp_path / "m.model")
        assert again.get_params() == e.get_params()
    np.testing.assert_array_equal(again.transform(X), e.transform(X))
    np.testing.assert_array_equal(again.partial_fit(X).components_, e.partial_fit(X).components_)
    assert not hasattr(clone(e), "components_")


@pytest.mark.parametrize("kind", [NMF, NoveltyDetector])
def test_other_kinds_come_back_from_files(kind, rng, tmp_path):
    X, _ = planted(rng, positive=True)
    fast = {"max_iter": 2, **({"tol": 0} if kind is NMF else {})}
    more = {"mesh": MeshOptions(3)} if kind is NMF else {}
    e = kind(3, random_state=0, **more, **fast).fit(pd.DataFrame(X).add_prefix("f"))
    e.save(tmp_path / "m.model")
    again = dictmesh.load(tmp_path / "m.model")
    assert type(again) is kind and again.get_params() == e.get_params()
    assert list(again.feature_names_in_) == list(e.feature_names_in_)
    new = pd.DataFrame(X[:20]).add_prefix("f")
    if kind is NMF:
        np.testing.assert_array_equal(again.transform(new), e.transform(new))
    else:
        np.testing.assert_array_equal(again.decision_function(new), e.decision_function(new))
        more = again.partial_fit(new), e.partial_fit(new)
        np.testing.assert_array_equal(more[0].components_, more[1].components_)


@pytest.mark.parametrize(
    "given, said",
    [
        ({"alpha": -1}, "alpha == -1"),
        ({"l1_ratio": 2}, "l1_ratio == 2"),
        ({"delta": 0}, "delta == 0"),
        ({"gamma": float("nan")}, "gamma"),
        ({"alpha": 0}, "delta"),
        ({"loss": "hinge"}, "'squared', 'huber'"),
        ({"n_components": 0}, "n_components == 0"),
        ({"mesh": MeshOptions(0)}, "n_agents == 0"),
        ({"mesh": MeshOptions(topology="rnig")}, "Did you mean 'ring'"),
        ({"mesh": MeshOptions(4, [(0, 1), (2, 3)])}, "disconnected"),
        ({"mesh": MeshOptions(strategy="relaxed-amdm")}, "Did you mean 'relaxed-admm'"),
        ({"mesh": MeshOptions(strategy="gradient-sums")}, "'tree'"),
        ({"mesh": MeshOptions(2, strategy={"kind": "tree", "bits": 3})}, "from 4 to 16"),
        ({"mesh": MeshOptions(2, strategy={"kind": "tree", "bits": 8.5})}, "from 4 to 16"),
        ({"mesh": MeshOptions(2, strategy={"kind": "relaxed-admm", "bits": 17})}, "from 4 to 16"),
        ({"mesh": MeshOptions(2, strategy={"kind": "tree", "mu": 0.1})}, "no key 'mu': its keys are 'kind', 'bits'"),
        ({"mesh": MeshOptions(2, strategy={"kind": "auto", "latncy": 1})}, "Did you mean 'latency'"),
        ({"mesh": MeshOptions(2, strategy={"kind": "auto", "latency": -1})}, "latency = -1"),
        ({"mesh": MeshOptions(2, strategy={"kind": "auto", "bandwidth": 0})}, "bandwidth = 0"),
        ({"mesh": MeshOptions(2, strategy={"kind": "auto", "rho": 1})}, "rho"),
        ({"mesh": MeshOptions(informed=[3])}, "informed"),
        ({"mesh": MeshOptions(accel="chunk")}, "Did you mean 'chunks'"),
        ({"mesh": MeshOptions(weights="metropolitan")}, "Did you mean 'metropolis'"),
        ({"update": "constnat:1"}, "Did you mean 'constant'"),
        ({"update": "schedule"}, "schedule:STEP"),
        ({"code_bounds": (1, 0)}, "lo <= hi"),
        ({"code_bounds": 3}, "a pair"),
        ({"code_bounds": (0, 1), "code_groups": 1}, "cannot be combined"),
        ({"gamma": [0.1, 0.2]}, "one for each"),
        ({"code_groups": 2}, "does not divide the 3 atoms"),
        ({"dict_norm": "l3"}, "'l2', 'l1'"),
        ({"beta": -1}, "beta == -1"),
        ({"center": "features"}, "Did you mean 'feature'"),
        ({"normalize": "max"}, "'l1', 'l2'"),
        ({"resume": True}, "give checkpoint=PATH"),
        ({"max_iter": 0}, "max_iter == 0"),
        ({"dict_init": np.ones((2, 2))}, "Expected \\(3, 5\\)"),
        ({"loss": "l1"}, "give update='constant:0.01'"),
        ({"transform_method": "guess"}, "'exact', 'mesh'"),
        ({"n_jobs": 0}, "n_jobs == 0"),
        ({"n_jobs": 10**6}, "n_jobs == 1000000, must be <= 1024"),
        ({"random_state": -1}, "random_state == -1"),
    ],
)
def test_wrong_parameters_are_refused_with_what_is_allowed(given, said, rng):
    e = DictionaryLearning(**{"n_components": 3, **given})
    with pytest.raises(ValueError, match=said):
        e.fit(rng.normal(size=(10, 5)))


def test_wrong_use_is_refused(rng, tmp_path):
    X = rng.normal(size=(10, 5))
    for e in EVERY[:5]:
        for name in ("transform", "score_samples", "inverse_transform"):
            if hasattr(e, name):
                with pytest.raises(NotFittedError):
                    getattr(clone(e), name)(X)
    with pytest.raises(NotFittedError):
        DictionaryLearning().save(tmp_path / "m")
    with pytest.raises(ValueError, match="Negative values in data passed to NMF"):
        NMF(2).fit(X)
    fitted = DictionaryLearning(2, max_iter=1).fit(X)
    with pytest.raises(ValueError, match="codes have 3 components"):
        fitted.inverse_transform(np.ones((1, 3)))
    with pytest.raises(ValueError, match="NaN"):
        fitted.transform(np.full((1, 5), np.nan))
    with pytest.raises(FileNotFoundError):
        dictmesh.load(tmp_path / "none")
    (tmp_path / "text").write_text("no model")
    with pytest.raises(ValueError, match="model file"):
        dictmesh.load(tmp_path / "text")
    with pytest.raises(ValueError, match="norm of at most 1"):
        SparseCoder(5 * np.eye(5), transform_method="mesh").transform(X)


def test_signs_and_lengths_of_atoms_keep_their_rule(rng):
    X, _ = planted(rng)
    e = DictionaryLearning(12, alpha=0.1, max_iter=5, tol=0, random_state=3).fit(X)
    W = e.components_
    largest = W[np.arange(12), abs(W).argmax(1)]
    assert (largest > 0).all() and np.linalg.norm(W, axis=1).max() <= 1 + 1e-12
    # The codes of the mesh have the same signs.
    codes = e.transform(X)
    e.set_params(transform_method="mesh")
    np.testing.assert_allclose(e.transform(X), codes, atol=1e-3)
    # The data turned round give the same atoms.
    turned = clone(e).fit(-X)
    np.testing.assert_allclose(turned.components_, W, atol=1e-9)


def test_partial_fit_is_fit_in_parts(rng):
    X, _ = planted(rng, samples=512)
    whole = DictionaryLearning(8, alpha=0.1, batch_size=64, max_iter=1, tol=0, random_state=0, dict_init="random")
    parts = clone(whole)
    whole.fit(X)
    for part in np.split(X, 4):
        parts.partial_fit(part)
    np.testing.assert_array_equal(parts.components_, whole.components_)
    assert parts.n_steps_ == whole.n_steps_ == 8
    assert len(parts.cost_history_) == 8


def test_attributes(rng):
    X, _ = planted(rng)
    e = DictionaryLearning(10, mesh=MeshOptions(4), alpha=0.1, batch_size=100, max_iter=2, tol=0, random_state=0).fit(X)
    assert e.n_iter_ == 2 and e.n_steps_ == 6 and len(e.cost_history_) == 6
    assert [len(a) for a in e.agents_] == [3, 3, 2, 2]
    assert np.concatenate(e.agents_).tolist() == list(range(10))
    assert e.components_.shape == (10, 20) and e.n_features_in_ == 20
    assert e.cost_history_[-1] < e.cost_history_[0]
