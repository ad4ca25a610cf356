"""One round of a whole mesh, against numpy doing the same algebra.

relaxed-admm with the squared residual on random atoms and samples: numpy holds all agents' states in one array and
forms W'c, the codes, the dual vectors, the sum over the neighbours (a product with the adjacency matrix, dense or
scipy's sparse one) and the update, in float64 on OpenBLAS. Ours is `Mesh::infer` with so many rounds, its beginning and
end included, over the number of rounds: so many that memory, which the system first clears, weighs little (of numpy only
rounds are timed). of_dgemm is the rate of a round, counted as the
product of 2 N^2 M B operations that the sum over the neighbours stands for, over that of numpy's product of two 2,000 x 2,000
matrices: above 1 where sums of subsets save more than everything else in a round costs.
"""

import time

import numpy as np
import scipy.sparse

from common import interleaved, kernel

ABOUT = "one round of 50 to 1,000 agents against numpy"

NAMES = ["mesh-dense", "mesh-sparse"]
# name, agents, atoms each, p (0: ring), rounds, bar
CASES = [
    ("mesh-dense", 196, 1, 0.5, 240, 2.0),
    ("mesh-sparse", 50, 4, 0.2, 200, 1.5),
    ("mesh-sparse", 1000, 1, 0.0, 60, 3.0),
]
ROWS, SAMPLES, REPEATS = 100, 64, 5
GAMMA, DELTA, RHO, ALPHA = 0.1, 0.1, 0.02, 0.9


def graph(agents, p):
    if p == 0.0:
        a = scipy.sparse.diags_array([np.ones(agents - 1)], offsets=[1]).tolil()
        a[0, agents - 1] = 1
    else:
        draws = np.random.default_rng(1).random((agents, agents)) < p
        a = scipy.sparse.lil_array(np.triu(draws, 1).astype(float))
    return (a + a.T).tocsr()


def numpy_rounds(agents, atoms, p, rounds):
    rng = np.random.default_rng(0)
    w = rng.standard_normal((agents, ROWS, atoms))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    x = rng.standard_normal((ROWS, SAMPLES)) / agents
    adjacency = graph(agents, p)
    degree = np.asarray(adjacency.sum(axis=1))[:, None, None]
    combine = adjacency.toarray() if p >= 0.5 else adjacency
    s, t = np.zeros((2, agents, ROWS, SAMPLES))
    a = 1.0 / agents + RHO * degree
    gram = np.einsum("kmi,kmj->kij", w, w)
    step = a[:, :1] * 0 + 1.0 / (np.linalg.norm(gram, ord=2, axis=(1, 2))[:, None, None] / a + DELTA)
    y = np.zeros((agents, atoms, SAMPLES))

    def one():
        nonlocal s, t, y
        c = s + x
        g = w.transpose(0, 2, 1) @ c / a
        # One atom: closed form. More: twice as many gradient steps as atoms, which is less than an exact argmin.
        for _ in range(1 if atoms == 1 else 2 * atoms):
            y = y + step * (g - gram @ y / a - DELTA * y)
            y = np.sign(y) * np.maximum(np.abs(y) - step * GAMMA, 0.0)
        nu = (c - w @ y) / a
        total = (combine @ nu.reshape(agents, -1)).reshape(nu.shape)
        s, t = (1 - ALPHA) * s + ALPHA * (2 * RHO * total - t), (1 - ALPHA) * t + ALPHA * (2 * RHO * degree * nu - s)

    one()
    some = max(rounds // 6, 5)
    began = time.perf_counter()
    for _ in range(some):
        one()
    return None, (time.perf_counter() - began) / some


def dgemm_rate(threads):
    """Operations a second of a large product."""
    import threadpoolctl

    n = 2_000
    a, b = np.random.default_rng(0).standard_normal((2, n, n))

    def product():
        began = time.perf_counter()
        a @ b
        return None, time.perf_counter() - began

    with threadpoolctl.threadpool_limits(threads):
        product()
        ((_, seconds),) = interleaved(REPEATS, product)
    return 2 * n**3 / seconds


def by_us(case, threads):
    """Nothing, and the seconds of a round."""
    _, agents, atoms, p, rounds, _ = case
    found, _ = kernel(
        threads, "rounds", {}, "--agents", agents, "--atoms", atoms, "--rows", ROWS,
        "--samples", SAMPLES, "--p", p, "--rounds", rounds,
    )
    return None, found["seconds"]


def rows(program, threads, wanted):
    for case in CASES:
        name, agents, atoms, p, rounds, bar = case
        if name not in wanted:
            continue
        for count in sorted({1, 2, threads}):

            def ours():
                return by_us(case, count)

            def theirs():
                import threadpoolctl

                with threadpoolctl.threadpool_limits(count):
                    return numpy_rounds(agents, atoms, p, rounds)

            (_, our_s), (_, peer_s) = interleaved(REPEATS, ours, theirs)
            row = {
                "bench": name, "agents": agents, "threads": count, "ours_s": our_s, "peer": "numpy", "peer_s": peer_s,
                "ratio": peer_s / our_s, "bar": bar, "ok": bool(peer_s >= bar * our_s),
            }
            if name == "mesh-dense":
                row["of_dgemm"] = 2 * agents**2 * ROWS * SAMPLES / our_s / dgemm_rate(count)
            yield row
