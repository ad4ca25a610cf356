"""Documents, pictures and numbers that are centred: what prepares them is kept in the model, for the program too."""

import copy
import json
import pickle
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import planted
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import dictmesh
from dictmesh import NMF, DictionaryLearning, MeshOptions, NoveltyDetector, SparseCoder, TextVectorizer

WEATHER = ["storm", "rain", "bay", "flood", "wind", "coast", "tide", "cloud"]
POLITICS = ["vote", "senate", "ballot", "party", "poll", "campaign", "mayor", "debate"]
SPACE = ["rocket", "orbit", "lander", "moon", "probe", "launch", "comet", "crew"]


def reports(rng, topics, count):
    """Documents of twelve words of one topic each."""
    return [" ".join(rng.choice(topics[rng.integers(len(topics))], size=12)) for _ in range(count)]


def run(program, *args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def scores_of(program, model, data):
    """What the program scores, solved in one place."""
    flags = ["--method", "exact"] if "--method" in run(program, "score", "--help") else ["--exact"]
    lines = run(program, "score", model, data, "--quiet", *flags).splitlines()
    return [float(line.split(",")[1]) for line in lines[1:]]


def test_the_vectors_are_tf_idf_by_the_past():
    docs = ["storm storm rain", "rain and the vote", "vote"]
    v = TextVectorizer().fit(docs)
    assert sorted(v.vocabulary_) == ["rain", "storm", "vote"] and v.n_documents_ == 3
    idf = {w: np.log(5 / (1 + d)) for w, d in (("rain", 2), ("storm", 1), ("vote", 2))}
    for word, place in v.vocabulary_.items():
        assert v.idf_[place] == pytest.approx(idf[word])
        assert v.get_feature_names_out()[place] == word
    x = v.transform(docs[:1]).toarray()[0]
    wanted = np.array([2 * idf["storm"], idf["rain"]])
    np.testing.assert_allclose(x[[v.vocabulary_["storm"], v.vocabulary_["rain"]]], wanted / np.linalg.norm(wanted))
    assert v.unknown_words("a comet, a comet and a moon in the rain") == ["comet", "moon"]
    # Words without a feature share the first free one.
    assert v.transform(["comet"]).nnz == 1


def test_a_stream_is_weighed_by_the_frequencies_before_it():
    v = TextVectorizer()
    v.partial_fit(["storm rain", "storm"])
    x = v.partial_fit_transform(["storm vote"]).toarray()[0]
    wanted = {"storm": np.log(4 / 3), "vote": np.log(4 / 1)}
    length = np.linalg.norm(list(wanted.values()))
    for word, weight in wanted.items():
        assert x[v.vocabulary_[word]] == pytest.approx(weight / length)
    assert v.n_documents_ == 3


@pytest.mark.parametrize("copying", [copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
@pytest.mark.parametrize("given", [{}, {"hash_bits": 8, "sublinear_tf": True}, {"stop_words": None, "norm": None}])
def test_vectorizers_are_copied_with_what_they_learned(given, copying, rng):
    docs = reports(rng, [WEATHER, POLITICS], 30)
    v = TextVectorizer(**given).fit(docs)
    again = copying(v)
    assert (again.transform(docs) != v.transform(docs)).nnz == 0
    assert again.vocabulary_ == v.vocabulary_ and again.get_params() == v.get_params()
    assert not hasattr(clone(v), "_how")


def test_wrong_documents_are_refused():
    for given, said in (("one string", "give a list"), ([1, 2], "must be str"), (["the", "of"], "stop words")):
        with pytest.raises((ValueError, TypeError), match=said):
            TextVectorizer().fit(given)
    with pytest.raises(ValueError, match="Did you mean 'english'"):
        TextVectorizer(stop_words="englsh").fit(["rain"])
    with pytest.raises(ValueError, match="hash_bits == 40"):
        TextVectorizer(hash_bits=40).fit(["rain"])
    detector = NoveltyDetector(2, random_state=0).fit(np.eye(3))
    with pytest.raises(ValueError, match="fitted to 3 numbers a sample"):
        detector.score_samples(["rain"])
    with pytest.raises(ValueError, match="give a list of strings"):
        NoveltyDetector(2, random_state=0).fit(["rain storm", "wind"]).predict(np.eye(3))


def test_raw_text_into_the_detector(rng):
    known, new = reports(rng, [WEATHER, POLITICS], 120), reports(rng, [SPACE], 20)
    again = reports(rng, [WEATHER, POLITICS], 60)
    for detector in (NoveltyDetector(8, random_state=0).fit(known), NoveltyDetector(8, random_state=0).partial_fit(known)):
        scores = detector.score_samples(again + new)
        assert roc_auc_score(np.r_[np.zeros(60), np.ones(20)], -scores) > 0.99
        assert (detector.predict(new) == -1).all()
        detector.partial_fit(again[:30] + new)
        assert detector.block_scores_[:30].min() > detector.block_scores_[30:].max()
        # The words have names, and what was learned is new no more.
        assert detector.score_samples(new).mean() > scores[60:].mean()


def test_text_goes_to_the_program_and_back(program, rng, tmp_path):
    known, new = reports(rng, [WEATHER, POLITICS], 80), reports(rng, [WEATHER, SPACE], 20)
    (tmp_path / "known.txt").write_text("\n".join(known) + "\n")
    (tmp_path / "new.txt").write_text("\n".join(new) + "\n")
    run(program, "learn", tmp_path / "known.txt", "-o", tmp_path / "theirs", "--atoms", 6, "--passes", 3, "--batch", 20,
        "--gamma", 0.05, "--delta", 0.1, "--seed", 3, "--quiet")
    # The program's model in Python: the same scores of the same documents.
    theirs = dictmesh.load(tmp_path / "theirs")
    assert type(theirs) is NMF
    told = scores_of(program, tmp_path / "theirs", tmp_path / "new.txt")
    assert -np.mean(told) == pytest.approx(theirs.score(new), rel=1e-9)
    # Learned in Python, it is the same model.
    ours = NMF(6, gamma=0.05, delta=0.1, batch_size=20, max_iter=3, tol=0, random_state=3).fit(known)
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    # And Python's models in the program.
    ours.save(tmp_path / "ours")
    told = scores_of(program, tmp_path / "ours", tmp_path / "new.txt")
    assert -np.mean(told) == pytest.approx(ours.score(new), rel=1e-9)
    detector = NoveltyDetector(5, random_state=0).fit(known)
    detector.save(tmp_path / "detector")
    told = scores_of(program, tmp_path / "detector", tmp_path / "new.txt")
    np.testing.assert_allclose(-np.array(told), detector.score_samples(new), rtol=1e-9)
    again = dictmesh.load(tmp_path / "detector")
    np.testing.assert_array_equal(again.score_samples(new), detector.score_samples(new))
    np.testing.assert_array_equal(again.partial_fit(new).block_scores_, detector.partial_fit(new).block_scores_)


@pytest.mark.parametrize("given", [{"center": "sample"}, {"center": "feature"}, {"normalize": "l1"},
                                   {"center": "feature", "normalize": "l2"}], ids=str)
def test_centring_is_kept_in_the_model(given, program, rng, tmp_path):
    X, _ = planted(rng)
    X += 3
    e = DictionaryLearning(8, gamma=0.05, delta=0.05, max_iter=3, tol=0, random_state=0, **given).fit(X)
    by_hand = X - {"sample": X.mean(1, keepdims=True), "feature": X.mean(0)}.get(given.get("center"), 0)
    if "normalize" in given:
        by_hand = by_hand / np.linalg.norm(by_hand, ord=int(given["normalize"][1]), axis=1, keepdims=True)
    plain = clone(e).set_params(center=None, normalize=None).fit(by_hand)
    np.testing.assert_allclose(e.components_, plain.components_, atol=1e-9)
    np.testing.assert_allclose(e.transform(X), plain.transform(by_hand), atol=1e-9)
    if given == {"center": "feature"}:
        assert np.mean((e.inverse_transform(e.transform(X)) - X) ** 2) < 0.2 * X.var()
    e.save(tmp_path / "m")
    np.testing.assert_array_equal(dictmesh.load(tmp_path / "m").transform(X), e.transform(X))
    np.save(tmp_path / "x.npy", X)
    told = scores_of(program, tmp_path / "m", tmp_path / "x.npy")
    assert -np.mean(told) == pytest.approx(e.score(X), rel=1e-9)


def picture(rng, height=40, width=56):
    i, j = np.mgrid[:height, :width]
    clean = 128 + 60 * np.sin(i / 4) + 40 * (j > 25)
    return np.clip(clean + 5 * rng.normal(size=clean.shape), 0, 255).round().astype(np.uint8)


def test_pictures_are_cut_and_the_model_keeps_how(program, rng, tmp_path):
    image = pytest.importorskip("PIL.Image")
    pictures = [picture(rng), picture(rng, 30, 30)]
    e = DictionaryLearning(16, gamma=0.02, delta=0.05, patch_size=6, patch_stride=3, max_iter=3, tol=0, random_state=0)
    e.fit(pictures)
    assert e.components_.shape == (16, 36)
    codes = e.transform(pictures[0])
    assert codes.shape == (13 * 18, 16)
    colour = np.repeat(pictures[0][..., None], 3, axis=2)
    np.testing.assert_allclose(e.transform(colour), codes, atol=1e-12)
    e.save(tmp_path / "ours")
    np.testing.assert_array_equal(dictmesh.load(tmp_path / "ours").transform(pictures[0]), codes)
    image.fromarray(pictures[0]).save(tmp_path / "p.png")
    told = scores_of(program, tmp_path / "ours", tmp_path / "p.png")
    assert -np.mean(told) == pytest.approx(e.score(pictures[0]), rel=1e-9)
    run(program, "learn", tmp_path / "p.png", "--patch", 6, "--atoms", 10, "-o", tmp_path / "theirs", "--quiet")
    theirs = dictmesh.load(tmp_path / "theirs")
    told = scores_of(program, tmp_path / "theirs", tmp_path / "p.png")
    assert -np.mean(told) == pytest.approx(theirs.score(pictures[0]), rel=1e-9)
    with pytest.raises(ValueError, match="height, width"):
        e.transform(np.zeros(5))
    with pytest.raises(ValueError, match="patch"):
        e.transform(np.zeros((3, 3)))


@pytest.mark.parametrize("method", ["exact", "mesh"])
def test_sparse_codes_are_those_of_the_array(method, rng):
    X, W = planted(rng)
    given = {"gamma": 0.1, "delta": 0.1, "transform_method": method, "mesh": MeshOptions(2)}
    for e in (SparseCoder(W, **given), DictionaryLearning(8, max_iter=2, tol=0, random_state=0, **given)):
        dense = e.fit(X).transform(X)
        sparse = e.set_params(sparse_output=True).transform(X)
        assert sp.issparse(sparse) and sparse.format == "csr"
        np.testing.assert_array_equal(sparse.toarray(), dense)
        single = e.transform(X.astype(np.float32))
        assert single.dtype == np.float32
        np.testing.assert_allclose(e.inverse_transform(sparse), dense @ e.components_, atol=1e-12)


def objective(X, W, Y, gamma, delta):
    return 0.5 * ((X - Y @ W) ** 2).sum(1) + (abs(Y) * gamma).sum(1) + 0.5 * delta * (Y**2).sum(1)


def test_penalties_of_the_codes(rng, tmp_path):
    X, W = planted(rng, samples=40)
    box = SparseCoder(W, gamma=0.1, delta=0.1, code_bounds=(-0.3, 0.5)).transform(X)
    assert box.min() == -0.3 and box.max() == 0.5
    half = SparseCoder(W, gamma=0.1, delta=0.1, code_bounds=(0, None)).transform(X)
    np.testing.assert_allclose(half, SparseCoder(W, gamma=0.1, delta=0.1, positive_code=True).transform(X), atol=1e-8)
    gamma = np.linspace(0.01, 0.5, 12)
    weighted = SparseCoder(W, gamma=gamma, delta=0.1)
    Y = weighted.transform(X)
    assert -weighted.score(X) == pytest.approx(objective(X, W, Y, gamma, 0.1).mean(), rel=1e-9)
    same = SparseCoder(W, gamma=np.full(12, 0.2), delta=0.1).transform(X)
    np.testing.assert_allclose(same, SparseCoder(W, gamma=0.2, delta=0.1).transform(X), atol=1e-8)
    groups = SparseCoder(W, gamma=0.3, delta=0.1, code_groups=3).transform(X).reshape(40, 4, 3)
    nonzero = (groups != 0).sum(axis=2)
    assert set(np.unique(nonzero)) <= {0, 3} and 0 < nonzero.mean() < 3
    # A mesh finds the same, with penalties that differ from agent to agent.
    options = MeshOptions(3, "ring", tol=1e-7)
    for given in ({"gamma": gamma}, {"gamma": 0.3, "code_groups": [3, 1, 4, 2, 2]}, {"gamma": 0.1, "code_bounds": (0, 1)}):
        exact = SparseCoder(W, delta=0.1, mesh=options, **given)
        mesh = clone(exact).set_params(transform_method="mesh")
        np.testing.assert_allclose(mesh.transform(X), exact.transform(X), atol=1e-4)
        e = DictionaryLearning(12, delta=0.1, mesh=options, max_iter=1, tol=0, random_state=0, **given).fit(X)
        e.save(tmp_path / "m")
        again = dictmesh.load(tmp_path / "m")
        np.testing.assert_array_equal(again.transform(X), e.transform(X))
    with pytest.raises(ValueError, match="splits a group"):
        DictionaryLearning(12, gamma=0.1, delta=0.1, code_groups=[5, 7], mesh=options).fit(X)


def test_sets_of_atoms(rng):
    X, _ = planted(rng)
    kinds = {"max_iter": 3, "tol": 0, "random_state": 0, "gamma": 0.05, "delta": 0.05}
    l2 = DictionaryLearning(8, **kinds).fit(X).components_
    l1 = DictionaryLearning(8, dict_norm="l1", **kinds).fit(X).components_
    assert np.linalg.norm(l1, ord=1, axis=1).max() <= 1 + 1e-9 < np.linalg.norm(l2, ord=1, axis=1).max()
    sparse = DictionaryLearning(8, beta=0.05, **kinds).fit(X).components_
    assert (sparse == 0).sum() > (l2 == 0).sum() + 8
    positive = NMF(8, dict_norm="l1", **kinds).fit(abs(X)).components_
    assert positive.min() >= 0 and positive.sum(axis=1).max() <= 1 + 1e-9


def test_given_graphs(rng):
    X, _ = planted(rng)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    adjacency = np.zeros((4, 4))
    for i, j in edges:
        adjacency[i, j] = adjacency[j, i] = 1
    graphs = [edges, adjacency, sp.csr_array(adjacency), dictmesh.Topology("ring", 4)]
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graphs.append(nx.relabel_nodes(nx.cycle_graph(4), dict(enumerate("abcd"))))
    fitted = [
        DictionaryLearning(8, alpha=0.1, mesh=MeshOptions(4, g), max_iter=1, tol=0, random_state=0).fit(X) for g in graphs
    ]
    for e in fitted:
        np.testing.assert_array_equal(e.components_, fitted[0].components_)
        assert dictmesh.Mesh.of(e).topology.edges == [(0, 1), (0, 3), (1, 2), (2, 3)]
    for given in graphs[1:]:
        assert dictmesh.Topology(given).n_agents == 4
    with pytest.raises(ValueError, match="give n_agents"):
        dictmesh.Topology(edges)
    adjacency[0, 2] = 1
    with pytest.raises(ValueError, match="symmetric"):
        dictmesh.Topology(adjacency)


def test_sample_weights_weigh_a_batch(rng):
    X, _ = planted(rng, samples=60)
    start = {"dict_init": "random", "batch_size": 200, "gamma": 0.05, "delta": 0.05, "random_state": 0}
    weights = rng.integers(0, 3, size=60)
    weighted = DictionaryLearning(6, **start).partial_fit(X, sample_weight=weights)
    repeated = DictionaryLearning(6, **start).partial_fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-9)
    with pytest.raises(ValueError, match="sample_weight"):
        weighted.partial_fit(X, sample_weight=-np.ones(60))


def test_anndata_comes_in(rng):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    X, _ = planted(rng)
    plain = DictionaryLearning(6, alpha=0.1, max_iter=2, tol=0, random_state=0)
    wanted = plain.fit_transform(X)
    for matrix in (X, sp.csr_matrix(X)):
        table = anndata.AnnData(matrix)
        table.var_names = [f"gene{i}" for i in range(20)]
        e = clone(plain).fit(table)
        np.testing.assert_allclose(e.transform(table), wanted, atol=1e-9)
        assert list(e.feature_names_in_)[:2] == ["gene0", "gene1"]
        with pytest.raises(ValueError, match="feature names should match"):
            e.transform(table[:, ::-1])
    assert NoveltyDetector(3, random_state=0).fit(table).predict(table).shape == (300,)


def test_polars_comes_in_and_pandas_goes_out(rng):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    X, _ = planted(rng)
    table = pl.DataFrame(X, schema=[f"f{i}" for i in range(20)], orient="row")
    e = DictionaryLearning(3, alpha=0.1, max_iter=2, tol=0, random_state=0).fit(table).set_output(transform="pandas")
    out = e.transform(table)
    assert list(out.columns) == [f"dictionarylearning{i}" for i in range(3)] and len(out) == 300
    assert list(e.feature_names_in_) == table.columns
    texts = pl.Series(["rain storm", "wind rain"])
    assert TextVectorizer().fit(texts).transform(texts).shape[0] == 2
    assert NoveltyDetector(1, random_state=0).fit(texts).score_samples(texts).shape == (2,)


def test_the_description_of_the_preparation_is_the_programs(rng, tmp_path):
    docs = reports(rng, [WEATHER], 20)
    e = NMF(3, random_state=0, max_iter=1, tol=0).fit(docs)
    e.save(tmp_path / "m")
    raw = (tmp_path / "m").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    extra = json.loads(header["__metadata__"]["description"])["extra"]
    assert extra["preparation"]["how"]["kind"] == "text" and "version" in extra["preparation"]
