"""Novelty, biclusters, pictures, the mesh by hand, and plots."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import planted
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

import dictmesh
from dictmesh import DictionaryLearning, Mesh, MeshOptions, NoveltyDetector, SparseBiclustering, Topology, denoise_image


def documents(rng, topics, count, terms=60):
    """Documents that draw 30 words each from one of some topics, of six words of its own and some common ones."""
    words = np.full((10, terms), 0.2 / terms)
    for t in range(10):
        words[t, 6 * t : 6 * t + 6] += 0.8 / 6
    rows = [rng.multinomial(30, words[rng.choice(topics)]) for _ in range(count)]
    return sp.csr_matrix(np.array(rows, dtype=float))


def test_new_topics_are_found_and_explained(rng):
    known, again = documents(rng, [0, 1, 2, 3], 300), documents(rng, [0, 1, 2, 3], 100)
    new = documents(rng, [7], 20)
    detector = NoveltyDetector(8, random_state=0).fit(known)
    both = sp.vstack([again, new], format="csr")
    truth = np.r_[np.zeros(100, bool), np.ones(20, bool)]
    scores = detector.score_samples(both)
    assert roc_auc_score(truth, -scores) > 0.99
    # Signs are scikit-learn's: another detector of theirs puts the same samples low.
    svm = OneClassSVM().fit(known.toarray())
    assert (scores[truth].mean() < scores[~truth].mean()) == (
        svm.score_samples(new.toarray()).mean() < svm.score_samples(again.toarray()).mean()
    )
    np.testing.assert_allclose(detector.decision_function(both), scores - detector.offset_)
    assert ((detector.predict(both) == -1) == (scores < detector.offset_)).all()
    # About one in twenty of what is known is called novel.
    assert (detector.predict(known) == -1).sum() == 15
    # Alone as together, though one of them has just the cost at which novel begins.
    alone = np.concatenate([detector.predict(known[i]) for i in range(known.shape[0])])
    assert (alone == detector.predict(known)).all()
    names = [f"word{i}" for i in range(60)]
    for told, score in zip(detector.explain(new, feature_names=names), scores[truth]):
        assert told.cost == pytest.approx(-score)
        assert sum(name in names[42:48] for name, _ in told.unexplained[:4]) >= 3
    for told in detector.explain(again[:5]):
        atom, weight, terms = told.atoms[0]
        assert weight > 0 and 0 <= atom < 8 and len(terms) > 0


def test_a_stream_is_scored_before_it_is_learned(rng):
    detector = NoveltyDetector(6, agents_per_block=2, random_state=0)
    detector.partial_fit(documents(rng, [0, 1], 100))
    assert detector.block_scores_ is None and len(detector.components_) == 6
    block = documents(rng, [0, 1, 5], 150)
    truth = np.asarray(block[:, 30:36].sum(1)).ravel() > 10
    expected = detector.score_samples(block)
    detector.partial_fit(block)
    np.testing.assert_array_equal(detector.block_scores_, expected)
    assert len(detector.components_) == 8 == sum(map(len, detector.agents_))
    assert roc_auc_score(truth, -detector.block_scores_) > 0.99
    with pytest.raises(ValueError, match="contamination == 5"):
        detector.set_params(contamination=5).partial_fit(block)
    assert len(detector.components_) == 8  # nothing half done
    detector.set_params(contamination=0.05)
    # What has been learned is new no more.
    new = documents(rng, [5], 30)
    assert detector.score_samples(new).mean() > expected[truth].mean()


@pytest.mark.parametrize("method, given", [("diffusion", {}), ("ssvd", {"gamma": 2.0, "beta": 0.1})])
def test_planted_biclusters_are_found(method, given, rng):
    X = rng.normal(size=(60, 200))
    X[:10, :40] += 3
    X[20:30, 40:90] += 3
    found = SparseBiclustering(2, method=method, random_state=0, **given).fit(X)
    groups = {tuple(found.get_indices(k)[0]): k for k in range(2)}
    assert set(groups) == {tuple(range(10)), tuple(range(20, 30))}
    for rows, columns in ((range(10), range(40)), (range(20, 30), range(40, 90))):
        k = groups[tuple(rows)]
        inside = found.columns_[k]
        assert inside[columns].mean() > 0.95 and inside.sum() < 1.5 * len(columns)
        assert found.get_shape(k) == (10, inside.sum())
        assert found.get_submatrix(k, X).shape == found.get_shape(k)
    assert found.biclusters_[0] is found.rows_
    with pytest.raises(ValueError, match="'diffusion', 'ssvd'"):
        SparseBiclustering(method="svd").fit(X)


@pytest.mark.parametrize("colour", [False, True])
def test_noise_is_taken_out(colour, rng):
    i, j = np.mgrid[:64, :64]
    clean = 120 + 60 * np.sin(i / 5) + 50 * ((j // 16) % 2)
    if colour:
        clean = np.stack([clean, clean[::-1], 255 - clean], axis=2)
    noisy = clean + 20 * rng.normal(size=clean.shape)
    error = lambda x: np.mean((np.asarray(x, float) - clean) ** 2)  # noqa: E731
    known = denoise_image(noisy, 20, n_components=64, random_state=0)
    guessed = denoise_image(noisy, n_components=64, random_state=0)
    assert error(known) < 0.25 * error(noisy) and error(guessed) < 0.25 * error(noisy)
    as_bytes = denoise_image(np.clip(noisy, 0, 255).round().astype(np.uint8), 20, n_components=64, random_state=0)
    assert as_bytes.dtype == np.uint8 and error(as_bytes) < 0.25 * error(noisy)
    small = denoise_image(noisy.astype(np.float32) / 255, 20 / 255, n_components=64, random_state=0)
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, known / 255, atol=0.02)
    with pytest.raises(ValueError, match="height, width"):
        denoise_image(np.zeros(5))
    with pytest.raises(ValueError, match="NaN"):
        denoise_image(np.full((9, 9), np.nan))


def test_agents_denoise_as_one_place_does(rng):
    i, j = np.mgrid[:24, :24]
    noisy = np.sin(i / 3) + 0.2 * rng.normal(size=(24, 24))
    alone = denoise_image(noisy, 0.2, n_components=12, patch_size=6, random_state=0)
    mesh = denoise_image(noisy, 0.2, n_components=12, patch_size=6, n_agents=4, random_state=0)
    assert np.abs(alone - mesh).max() < 0.05


@pytest.mark.parametrize("strategy", ["relaxed-admm", "jacobi-admm", "exact-diffusion", "diffusion", "consensus"])
def test_rounds_by_hand_are_those_of_the_mesh(strategy, rng):
    X, W = planted(rng, samples=3, features=10, atoms=8)
    mesh = Mesh(W, Topology("random:0.7", 4, random_state=0), strategy=strategy, informed=[1], tol=None, max_rounds=30)
    run = mesh.run(X)
    for number, step in zip(range(1, 31), run):
        assert step.rounds == number
    found = mesh.infer(X)
    assert found.rounds == 30 and found.stop == "round-limit"
    assert run.duals.shape == (4, 3, 10)
    np.testing.assert_allclose(run.duals, found.duals, atol=1e-9)
    np.testing.assert_allclose(np.hstack(run.codes), found.codes, atol=1e-9)
    assert found.certified_costs is None and found.certified_gaps is None
    # One vector of M numbers for each sample on each directed link.
    assert run.bytes == 30 * 2 * len(mesh.topology.edges) * 8 * 3 * 10


def coded(rng):
    """Samples with the squared loss whose codes are not zero, those whose codes are, and atoms."""
    X, W = planted(rng, samples=300, features=10, atoms=8)
    codes = Mesh(W, Topology("complete", 4), tol=1e-9).infer(X).codes
    is_zero = ~codes.any(axis=1)
    assert 0 < is_zero.sum() < 100
    return X[~is_zero], X[is_zero], W


@pytest.mark.parametrize("strategy", ["tree", {"kind": "tree", "bits": 16}], ids=["8", "16"])
def test_the_strategy_tree_certifies_each_sample(strategy, rng):
    X, _, W = coded(rng)
    graph = Topology("random:0.7", 4, random_state=0)
    for loss in ("squared", "huber", "l1"):
        mesh = Mesh(W, graph, loss=loss, strategy=strategy, informed=[1], tol=1e-5)
        found = mesh.infer(X)
        assert found.stop == "converged" and found.disagreement == 0
        assert found.certified_costs.shape == found.certified_gaps.shape == (len(X),)
        np.testing.assert_allclose(found.certified_costs, found.costs, rtol=1e-8, atol=1e-8)
        assert np.all(found.certified_gaps <= 1e-10 * abs(found.certified_costs))
        assert not found.certified_violations.any()
        # Costs are rounded to 33 bits.
        exact = Mesh(W, graph, loss=loss, tol=1e-9).infer(X)
        assert np.all(exact.costs <= found.certified_costs + found.certified_gaps + 1e-8)
        np.testing.assert_allclose(found.duals[0], mesh.exact_duals(X), atol=1e-3)
    # Round by round, until it ends by itself.
    X = X[:3]
    run, found = mesh.run(X), mesh.infer(X)
    numbers = [step.rounds for step in run]
    assert numbers == list(range(1, found.rounds + 1)) and run.step(5).rounds == found.rounds
    np.testing.assert_array_equal(run.duals, found.duals)
    assert run.bytes == found.bytes
    mesh.set_strategy(strategy, tol=None, max_rounds=2)
    assert mesh.infer(X).rounds == 2


def test_the_strategy_tree_certifies_zero_codes(rng):
    _, X, W = coded(rng)
    mesh = Mesh(W, Topology("random:0.7", 4, random_state=0), strategy="tree", informed=[1], tol=1e-5)
    assert mesh.infer(X).stop == "converged"


def test_agents_agree_on_the_exact_dual(rng):
    X, W = planted(rng, samples=5, features=10, atoms=8)
    for loss in ("squared", "huber", "l1"):
        mesh = Mesh(W, Topology("ring", 4), loss=loss, tol=1e-7)
        found = mesh.infer(X)
        assert found.stop == "converged" and found.disagreement < 1e-5
        for nu in found.duals:
            np.testing.assert_allclose(nu, mesh.exact_duals(X), atol=1e-5)
    e = DictionaryLearning(8, gamma=0.1, delta=0.1, mesh=MeshOptions(2), max_iter=2, tol=0, random_state=0).fit(X)
    again = Mesh.of(e)
    assert len(again.agents) == 2 and again.informed == [0, 1]
    np.testing.assert_allclose(abs(again.dictionary), abs(e.components_))
    mesh.set_strategy({"kind": "diffusion", "mu": 100.0})
    assert "may diverge" in mesh.warnings[0]


def test_topologies():
    grid = Topology("grid:3x4", 12)
    assert grid.diameter == 5 and len(grid.edges) == 17
    for rule in ("metropolis", "uniform"):
        A = grid.weights(rule)
        np.testing.assert_allclose([A.sum(0), A.sum(1)], 1)
        linked = {(i, j) for i in range(12) for j in range(12) if i < j and A[i, j] > 0}
        assert linked == set(grid.edges)
    laplacian = np.zeros((12, 12))
    for i, j in grid.edges:
        laplacian[[i, j], [j, i]] -= 1
        laplacian[[i, j], [i, j]] += 1
    assert grid.connectivity == pytest.approx(np.linalg.eigvalsh(laplacian)[1])
    assert Topology(grid.edges, 12).edges == grid.edges
    with pytest.raises(ValueError, match="disconnected"):
        Topology([(0, 1), (2, 3)], 4)
    # Random graphs are drawn until one is 2-connected: no agent has a single neighbour.
    for seed in range(5):
        edges = Topology("random:0.3", 10, random_state=seed).edges
        assert np.bincount(np.ravel(edges), minlength=10).min() >= 2


def test_the_remedy_of_a_diverged_run_is_that_of_its_strategy():
    from dictmesh._progress import remedy

    assert "smaller mu" in remedy("diverged", {"kind": "diffusion", "mu": 0.1})
    assert "rho" in remedy("diverged", "relaxed-admm")
    assert not {"mu", "rho", "step"} & set(remedy("diverged", "tree").replace(",", "").split())


def test_plots_show_what_there_is(rng, tmp_path):
    X, _ = planted(rng, features=16)
    e = DictionaryLearning(10, alpha=0.1, mesh=MeshOptions(3), batch_size=10, max_iter=3, tol=0, random_state=0).fit(X)
    figure = dictmesh.plot_atoms(e)
    assert len(figure.axes) == 10 and figure.axes[0].images[0].get_array().shape == (4, 4)
    figure.savefig(tmp_path / "atoms.png")
    curves = dictmesh.plot_atoms(rng.normal(size=(3, 15)))
    assert len(curves.axes[0].lines) == 1
    curve = dictmesh.plot_learning_curve(e)
    np.testing.assert_array_equal(curve.lines[0].get_ydata(), e.cost_history_)
    mesh = dictmesh.plot_mesh(e)
    assert len(mesh.collections) == 3 and mesh.get_title().startswith("3 agents")
    roc = dictmesh.plot_roc([-1, 1, 1, 1], [-3.0, -2.0, -4.0, -1.0], label="ours")
    assert "0.667" in roc.get_legend().get_texts()[0].get_text()
