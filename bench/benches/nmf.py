"""Time to factors as good as those of scikit-learn's MiniBatchNMF and gensim's Nmf after one pass over TDT2.

8,455 documents of TDT2 in random order, TF-IDF with |x| = 1, kept sparse; 50 non-negative atoms. All atoms are judged by
the same number: the mean over the other 939 documents (every tenth) of min_{y >= 0} |x - W y|^2, with no penalty, by
scipy's `nnls`. The peers run with their defaults and their own starts (which count as learning), one pass over the
documents. Ours is one agent with all atoms, started from documents (which counts too), gamma = 0, delta = .001 (ours
has to be above 0), batches of 512 and the adaptive update without forgetting; its time is that of the first of its
looks, one a batch, that is at least as good as the peer.
"""

import statistics
import time
import warnings

import numpy as np
import scipy.sparse

from common import data, first_at, kernel

ABOUT = "50 non-negative atoms of TDT2: time to the residual of MiniBatchNMF and gensim's Nmf after a pass"

ATOMS, REPEATS, MUST, IN_AT_LEAST = 50, 3, 2.0, 5
GAMMA, DELTA, BATCH, FORGETTING = 0.0, 1e-3, 512, 1.0


def documents():
    """TF-IDF of TDT2, one a row, in random order."""
    counts = scipy.sparse.csr_matrix(scipy.sparse.load_npz(data("tdt2.npz") / "tdt2.npz"), dtype=np.float64)
    found_in = np.bincount(counts.indices, minlength=counts.shape[1])
    counts = counts[:, found_in >= IN_AT_LEAST]
    idf = np.log((1 + counts.shape[0]) / (1 + found_in[found_in >= IN_AT_LEAST])) + 1
    x = scipy.sparse.csr_matrix(counts.multiply(idf))
    lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    x = scipy.sparse.csr_matrix(scipy.sparse.diags_array(1 / lengths) @ x)
    x.sort_indices()
    return x[np.random.default_rng(0).permutation(x.shape[0])]


def residual(x, atoms):
    """Of atoms by rows, on held-out documents by rows."""
    from scipy.optimize import nnls

    atoms = atoms[np.linalg.norm(atoms, axis=1) > 0]
    atoms = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
    # |x - Q R y|^2 = |x|^2 - |Q'x|^2 + |Q'x - R y|^2: as many rows as atoms.
    q, r = np.linalg.qr(atoms.T)
    inside = x @ q
    squares = np.asarray(x.multiply(x).sum(axis=1)).ravel() - (inside**2).sum(axis=1)
    return float(np.mean(squares + [nnls(r, c)[1] ** 2 for c in inside]))


def by_sklearn(x, threads):
    import threadpoolctl
    from sklearn.decomposition import MiniBatchNMF

    with threadpoolctl.threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that one pass is not enough
        began = time.perf_counter()
        model = MiniBatchNMF(n_components=ATOMS, max_iter=1, random_state=0).fit(x)
        return model.components_, time.perf_counter() - began


def by_gensim(x, threads):
    import threadpoolctl
    from gensim.matutils import Sparse2Corpus
    from gensim.models.nmf import Nmf

    corpus, terms = Sparse2Corpus(x, documents_columns=False), {i: str(i) for i in range(x.shape[1])}
    with threadpoolctl.threadpool_limits(threads):
        began = time.perf_counter()
        model = Nmf(corpus, num_topics=ATOMS, id2word=terms, passes=1, random_state=0)
        return model.get_topics(normalize=False), time.perf_counter() - began


PEERS = [("MiniBatchNMF", by_sklearn), ("gensim Nmf", by_gensim)]


def by_us(x, threads):
    """The atoms of all looks, and when they were taken."""
    began = time.perf_counter()
    start = x[np.random.default_rng(1).choice(x.shape[0], ATOMS, replace=False)].toarray()
    drawn = time.perf_counter() - began
    entries = x.tocoo()
    found, atoms = kernel(
        threads, "learning", {"entries": np.column_stack([entries.row, entries.col, entries.data]), "atoms": start},
        "--sparse", "--non-negative", "--gamma", GAMMA, "--delta", DELTA, "--batch", BATCH, "--forgetting", FORGETTING,
        "--every", BATCH,
    )
    return atoms.reshape(-1, *start.shape), [drawn + seconds for seconds in found["seconds"]]


def split(x):
    """The documents to learn from, and every tenth, held out."""
    held_out = np.arange(x.shape[0]) % 10 == 9
    return x[~held_out], x[held_out]


def rows(program, threads):
    x, held_out = split(documents())
    for count in sorted({1, 2, threads}):
        turns = {name: [] for name, _ in PEERS}
        for _ in range(REPEATS):
            looks, seconds = by_us(x, count)
            for name, peer in PEERS:
                atoms, peer_s = peer(x, count)
                goal = residual(held_out, atoms)
                look, reached = first_at(goal, looks, lambda atoms: residual(held_out, atoms))
                turns[name].append((float("inf") if look is None else seconds[look], peer_s, reached, goal))
        for name, _ in PEERS:
            our_s, peer_s, ours, goal = (statistics.median(column) for column in zip(*turns[name]))
            yield {
                "bench": "nmf", "threads": count, "ours_s": our_s, "peer": name, "peer_s": peer_s,
                "ratio": peer_s / our_s, "bar": MUST, "ours_objective": ours, "peer_objective": goal,
                "ok": bool(peer_s >= MUST * our_s),
            }
