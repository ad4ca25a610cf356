"""Checkpoints, callbacks, warnings and lines of progress of a fit."""

import os
import re
import signal
import threading
import warnings

import numpy as np
import pytest
from conftest import planted
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

import dictmesh
from dictmesh import NMF, DictionaryLearning, MeshOptions, NoveltyDetector
from dictmesh._progress import Lines, duration


class Cut:
    """Within it, Ctrl-C is pressed after a moment."""

    def __init__(self, seconds):
        self.timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))

    def __enter__(self):
        self.handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.timer.start()

    def __exit__(self, kind, value, trace):
        self.timer.cancel()
        if self.handler is not None:
            signal.signal(signal.SIGINT, self.handler)
        return kind is KeyboardInterrupt


@pytest.mark.parametrize("kind", ["one agent", "a mesh, centred"])
def test_a_fit_that_was_cut_goes_on_to_the_same_atoms(kind, rng, tmp_path):
    X, _ = planted(rng, samples=600)
    more = {"mesh": MeshOptions(2), "center": "feature"} if kind == "a mesh, centred" else {}
    whole = DictionaryLearning(10, gamma=0.1, delta=0.1, batch_size=50, max_iter=40, tol=0, random_state=0, **more)
    cut = clone(whole).set_params(checkpoint=tmp_path / "c.model", checkpoint_every=0.05, resume=True)
    whole.fit(X)
    for _ in range(100):
        e = clone(cut)
        with Cut(0.2):
            e.fit(X)
        if e.n_iter_ == 40:
            break
    assert e.n_iter_ == 40
    np.testing.assert_array_equal(e.components_, whole.components_)
    np.testing.assert_array_equal(e.cost_history_, whole.cost_history_)
    # A checkpoint is a model, and resuming a run that is done changes nothing.
    np.testing.assert_array_equal(dictmesh.load(tmp_path / "c.model").components_, whole.components_)
    np.testing.assert_array_equal(clone(cut).fit(X).components_, whole.components_)
    # More passes go on from there.
    longer = clone(cut).set_params(max_iter=42).fit(X)
    np.testing.assert_array_equal(longer.components_, clone(whole).set_params(max_iter=42).fit(X).components_)


def test_checkpoints_between_batches_change_nothing(rng, tmp_path):
    X, _ = planted(rng, samples=500)
    plain = DictionaryLearning(8, alpha=0.1, batch_size=32, max_iter=3, tol=0, random_state=0, update="schedule:1").fit(X)
    often = clone(plain).set_params(checkpoint=tmp_path / "c", checkpoint_every=0.0).fit(X)
    np.testing.assert_array_equal(often.components_, plain.components_)


def test_a_checkpoint_of_another_run_is_refused(rng, tmp_path):
    X, _ = planted(rng)
    path = tmp_path / "c"
    e = DictionaryLearning(6, alpha=0.1, max_iter=2, tol=0, random_state=0, checkpoint=path, resume=True).fit(X)
    with pytest.raises(ValueError, match="other samples"):
        clone(e).fit(X[::-1])
    with pytest.raises(ValueError, match="alpha = 0.1, now 0.2"):
        clone(e).set_params(alpha=0.2).fit(X)
    DictionaryLearning(6, alpha=0.1, max_iter=2, tol=0, random_state=0).fit(X).save(path)
    with pytest.raises(ValueError, match="no checkpoint"):
        clone(e).fit(X)
    with pytest.warns(UserWarning, match="No checkpoint"):
        clone(e).set_params(checkpoint=tmp_path / "none" / "c").fit(X)


def test_callbacks_of_scikit_learn(rng):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks before 1.9")
    assert hasattr(callback, "FitCallback")
    X, _ = planted(rng)

    class Notes:
        def __init__(self, stop_after=10**9):
            self.stop_after, self.ended, self.told = stop_after, 0, []

        def setup(self, estimator, context):
            self.told.append("setup")

        def teardown(self, estimator, context):
            self.told.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            self.told.append("begin " + context.task_name)

        def on_fit_task_end(self, estimator, context):
            self.told.append("end " + context.task_name)
            self.ended += context.task_name == "pass"
            return self.ended >= self.stop_after

    e = DictionaryLearning(6, alpha=0.1, max_iter=4, tol=0, random_state=0)
    plain = clone(e).fit(X)
    notes = Notes()
    e.set_callbacks(notes).fit(X)
    np.testing.assert_array_equal(e.components_, plain.components_)
    assert notes.told == ["setup", "begin fit", *["begin pass", "end pass"] * 4, "end fit", "teardown"]
    e.set_callbacks(Notes(stop_after=2)).fit(X)
    assert e.n_iter_ == 2
    # The rule of tol is the same, pass by pass.
    rests = DictionaryLearning(6, alpha=0.1, random_state=0, tol=1e-3)
    passes = clone(rests).fit(X).n_iter_
    assert rests.set_callbacks(Notes()).fit(X).n_iter_ == passes > 2


def test_codes_that_are_all_zero_come_with_a_remedy():
    X = load_diabetes().data
    with pytest.warns(ConvergenceWarning, match="All codes are 0.*Decrease alpha") as told:
        e = DictionaryLearning(5, random_state=0, max_iter=3, tol=0).fit(X)
    assert not e.transform(X).any()
    below = float(re.search(r"below ([\d.e-]+)", str(told[0].message)).group(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = DictionaryLearning(5, alpha=below / 2, random_state=0, max_iter=3, tol=0).fit(X)
    assert again.transform(X).any()


def test_gamma_alone_has_a_delta_of_its_own(rng):
    X, W = planted(rng)
    one = dictmesh.SparseCoder(W, alpha=0.3).transform(X)
    for unrelated in (1.0, 7.0):
        np.testing.assert_array_equal(dictmesh.SparseCoder(W, gamma=0.3, alpha=unrelated).transform(X), one)
    half = dictmesh.SparseCoder(W, gamma=0.2, l1_ratio=0.5).transform(X)
    np.testing.assert_array_equal(half, dictmesh.SparseCoder(W, gamma=0.2, delta=0.2).transform(X))
    with pytest.raises(ValueError, match="give alpha > 0, or delta"):
        dictmesh.SparseCoder(W, gamma=0.0).transform(X)


def test_rounds_that_ran_out_name_what_ends(rng):
    X, W = planted(rng, samples=5)
    given = {"gamma": 0.1, "delta": 0.01, "positive_code": True, "transform_method": "mesh"}
    rough = dictmesh.SparseCoder(W, mesh=MeshOptions(4, "path", strategy="relaxed-admm", tol=1e-8, max_rounds=5), **given)
    with pytest.warns(ConvergenceWarning, match="strategy='tree'.*transform_method='exact'"):
        rough.transform(X)
    sums = rough.set_params(mesh__strategy="tree", mesh__max_rounds=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sums.transform(X)
    np.testing.assert_allclose(found, sums.set_params(transform_method="exact").transform(X), atol=1e-6)


def test_progress_is_a_line_every_few_seconds(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("dictmesh._progress.time.monotonic", lambda: now[0])
    lines = Lines("learning")
    for done in range(0, 1001, 5):
        lines.tell(done, 1000, 2.5)
        now[0] += 0.05
    lines.close()
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 4
    assert re.fullmatch(r"learning: 30\d of 1000 samples, mean cost 2.5, 7 s left", told[0])
    assert told[-1] == "learning: 1000 of 1000 samples, mean cost 2.5"
    assert [duration(s) for s in (59.4, 61, 7300)] == ["59 s", "1 min 1 s", "2 h 1 min"]


def test_the_mean_cost_is_that_of_about_a_pass(rng):
    X, _ = planted(rng, samples=600)
    told = []
    e = DictionaryLearning(6, alpha=0.1, batch_size=100, max_iter=1, tol=0, random_state=0).fit(X)
    e._mesh.learn(X, 5, 0.0, 1, lambda done, total, cost: told.append((done, cost)))
    done, cost = told[-1]
    history = e._mesh.heard()["costs"]
    assert done == 3000 and abs(cost / history[-6:].mean() - 1) < 0.05


def test_exact_solutions_of_a_mesh(rng):
    X, W = planted(rng, samples=6)
    mesh = dictmesh.Mesh(W, dictmesh.Topology("ring", 4), gamma=np.linspace(0.05, 0.2, 12), delta=0.1, tol=1e-8)
    exact = mesh.exact(X)
    assert exact.stop == "converged" and (exact.gaps <= 1e-9 * exact.costs).all()
    found = mesh.infer(X)
    np.testing.assert_allclose(found.codes, exact.codes, atol=1e-6)
    np.testing.assert_allclose(found.duals[2], exact.duals, atol=1e-6)
    np.testing.assert_allclose(mesh.exact_duals(X), exact.duals)


def test_parameters_are_as_documented():
    assert next(iter(NoveltyDetector().get_params())) and NoveltyDetector(6).n_components == 6
    for kind in (DictionaryLearning, NMF, NoveltyDetector, dictmesh.SparseBiclustering, dictmesh.SparseCoder):
        assert kind().random_state is None
    e = clone(DictionaryLearning(mesh=MeshOptions(4))).set_params(mesh__topology="ring", mesh__tol=1e-6)
    assert e.mesh == MeshOptions(4, "ring", tol=1e-6)
    with pytest.raises(ValueError, match="Did you mean 'topology'"):
        e.set_params(mesh__toplogy="ring")
    with pytest.raises(TypeError, match="must be MeshOptions"):
        DictionaryLearning(mesh=4).fit(np.ones((3, 3)))
    with pytest.raises(ValueError, match="no multiple of atoms_per_agent"):
        NoveltyDetector(5, atoms_per_agent=2).fit(np.ones((9, 3)))
