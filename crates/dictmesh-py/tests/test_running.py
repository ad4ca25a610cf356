"""Long calls: Python runs on, Ctrl-C ends them, progress is shown; no result depends on threads."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from conftest import planted
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import dictmesh
from dictmesh import NMF, DictionaryLearning, Mesh, MeshOptions, NoveltyDetector, SparseBiclustering, SparseCoder, Topology

#: Passes that nobody could wait for.
FOREVER = 10**7


class Interrupted:
    """Within it, Ctrl-C is pressed after a moment, and must get through."""

    def __enter__(self):
        # Whoever runs the tests in the background of a shell has them ignore Ctrl-C, and Python with them.
        self.handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        self.timer.start()

    def __exit__(self, kind, value, trace):
        self.timer.cancel()
        if self.handler is not None:
            signal.signal(signal.SIGINT, self.handler)
        assert kind is KeyboardInterrupt, kind
        return True


def test_ctrl_c_leaves_what_was_learned(rng):
    X, _ = planted(rng)
    e = DictionaryLearning(6, alpha=0.1, delta=0.05, mesh=MeshOptions(3), random_state=0, max_iter=FOREVER, tol=0)
    with Interrupted():
        e.fit(X)
    assert e.n_steps_ > 0 and len(e.cost_history_) == e.n_steps_ and e.n_iter_ >= e.n_steps_ // 2 - 1
    codes = e.transform(X)
    assert codes.any()
    steps = e.n_steps_
    assert e.partial_fit(X).n_steps_ > steps
    # It has learned: the atoms are not those it started from.
    start = clone(e).set_params(max_iter=1).fit(X).components_
    assert abs(e.components_ - start).max() > 1e-3
    # A second fit starts anew.
    e.set_params(max_iter=2).fit(X)
    assert e.n_steps_ == 4


def test_ctrl_c_in_the_midst_of_a_batch(rng):
    """One batch that would go on for very long: rounds without end."""
    X, W = planted(rng, samples=64)
    e = DictionaryLearning(
        6, alpha=0.1, random_state=0, max_iter=1, tol=0,
        mesh=MeshOptions(3, "path", strategy="relaxed-admm", tol=None, max_rounds=10**9),
    )
    with Interrupted():
        e.fit(X)
    assert e.n_steps_ == 0 and e.transform(X).shape == (64, 6)


def slow_codes(rng):
    X, W = planted(rng, samples=300, features=40, atoms=80)
    return SparseCoder(W, gamma=0.05, delta=1e-3, loss="huber", eta=0.01), np.tile(X, (2000, 1))


def gossip(**given):
    """Whose rounds have no end of their own."""
    return Mesh(np.eye(9), Topology("path", 9), strategy="relaxed-admm", **given)


CALLS = {
    "transform": lambda rng: (lambda e, X: e.transform(X))(*slow_codes(rng)),
    "mesh": lambda rng: gossip(tol=None, max_rounds=10**9).infer(np.ones((1, 9))),
    "run": lambda rng: gossip().run(np.ones((1, 9))).step(10**9),
    "novelty": lambda rng: NoveltyDetector(4, max_iter=FOREVER).fit(planted(rng)[0]),
    "bicluster": lambda rng: SparseBiclustering(3, max_iter=100_000, n_init=1000).fit(rng.normal(size=(50, 2000))),
    "ssvd": lambda rng: SparseBiclustering(40, method="ssvd").fit(rng.normal(size=(300, 4000))),
    "denoise": lambda rng: dictmesh.denoise_image(rng.normal(size=(600, 600)), 1.0, max_iter=1000),
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_every_long_call(call, rng):
    with Interrupted():
        CALLS[call](rng)
    # Nor does it go on where nobody sees it.
    until = time.monotonic() + 30
    before = time.process_time()
    while time.sleep(0.3) or time.process_time() - before > 0.1:
        before = time.process_time()
        assert time.monotonic() < until, "it still computes"


def test_an_interrupted_run_says_so():
    run = Mesh(np.eye(9), Topology("path", 9)).run(np.ones((1, 9)))
    with Interrupted():
        run.step(10**9)
    with pytest.raises(RuntimeError, match="interrupted; start a new one"):
        run.step()


@pytest.mark.parametrize("what", ["fit", "transform"])
def test_other_threads_run_meanwhile(what, rng):
    X, _ = planted(rng, samples=2000)
    e = DictionaryLearning(10, alpha=0.1, random_state=0, max_iter=200, tol=0).fit(X[:100])
    counted, over = [0], threading.Event()

    def count():
        while not over.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        # Between these two lines is one call of the core; if it held the GIL, nobody would count.
        X = np.tile(X, (20, 1)) if what == "transform" else X
        before = counted[0]
        e._mesh.learn(X, 50, 0.0, 1) if what == "fit" else e._coder().solve(X, 1)
        after = counted[0]
    finally:
        over.set()
        thread.join()
    assert after - before > 1000


def test_progress_is_told_and_may_stop_it(rng, capsys):
    X, _ = planted(rng)
    e = DictionaryLearning(6, alpha=0.1, random_state=0, max_iter=30, tol=0, verbose=1).fit(X)
    said = capsys.readouterr().err
    assert "learning" in said and "cost=" in said and f"{30 * 300}/{30 * 300}" in said
    e.transform(np.tile(X, (10, 1)))
    assert "coding" in capsys.readouterr().err

    def refuse(done, total, cost):
        assert 0 < done <= total and np.isfinite(cost)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        e._mesh.learn(X, FOREVER, 0.0, 1, refuse)


def test_progress_without_tqdm(rng, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    DictionaryLearning(6, alpha=0.1, random_state=0, max_iter=3, tol=0, verbose=1).fit(planted(rng)[0])
    assert "learning: 900 of 900 samples, mean cost" in capsys.readouterr().err


def test_warnings_have_a_remedy(rng):
    X, _ = planted(rng)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter or tol"):
        DictionaryLearning(6, alpha=0.1, max_iter=2, random_state=0).fit(X)
    rounds = DictionaryLearning(6, alpha=0.1, mesh=MeshOptions(3, "path", max_rounds=2), max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Increase max_rounds"):
        rounds.fit(X)
    steep = {"kind": "diffusion", "mu": 1e6}
    with pytest.warns(ConvergenceWarning, match="smaller mu"):
        clone(rounds).set_params(mesh__strategy=steep, mesh__max_rounds=1000).fit(X)
    ball = SparseCoder(np.eye(3)[:1], loss="ball", radius=0.1, delta=0.1)
    with pytest.warns(ConvergenceWarning, match="Increase radius"):
        ball.transform(np.array([[0.0, 1.0, 0.0]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DictionaryLearning(6, alpha=0.1, random_state=0, tol=1e-3).fit(X)


MANY = {
    "one agent": DictionaryLearning(8, alpha=0.1, max_iter=3, tol=0, random_state=0),
    "a mesh": DictionaryLearning(
        8, alpha=0.1, delta=0.05, mesh=MeshOptions(4), max_iter=2, tol=0, random_state=0, transform_method="mesh"
    ),
    "huber": DictionaryLearning(8, alpha=0.1, loss="huber", max_iter=2, tol=0, random_state=0),
    "nmf": NMF(8, max_iter=3, tol=0, random_state=0),
}


@pytest.mark.parametrize("case", MANY)
def test_the_same_seed_gives_the_same_whatever_n_jobs(case, rng):
    X, _ = planted(rng, samples=400, positive=case == "nmf")
    e = MANY[case]
    one = clone(e).set_params(n_jobs=1).fit(X)
    for n_jobs in (2, 5, -1):
        more = clone(e).set_params(n_jobs=n_jobs).fit(X)
        np.testing.assert_array_equal(more.components_, one.components_)
        np.testing.assert_array_equal(more.transform(X), one.transform(X))
    other = clone(e).set_params(random_state=1).fit(X)
    assert abs(other.components_ - one.components_).max() > 1e-3


def test_one_sample_is_coded_as_among_many(rng):
    X, _ = planted(rng, samples=200)
    e = DictionaryLearning(20, alpha=0.1, max_iter=3, tol=0, random_state=0).fit(X)
    all_at_once = e.transform(X)
    one_by_one = np.vstack([e.transform(x[None]) for x in X])
    np.testing.assert_allclose(one_by_one, all_at_once, atol=1e-10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_it_works_after_a_fork(rng):
    X, _ = planted(rng, samples=500)
    e = DictionaryLearning(6, alpha=0.1, max_iter=3, tol=0, random_state=0, n_jobs=2).fit(X)
    wanted = e.transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        same = np.array_equal(e.transform(X), wanted) and np.array_equal(clone(e).fit(X).components_, e.components_)
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
