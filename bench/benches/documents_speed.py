"""The paper's document experiment from end to end, against numpy's dense rounds.

TDT2 in blocks of 1,000, p = .5: block 0 is learned by 10 agents; then each of eight blocks is scored, ten agents join, and it
is learned (the last one is only scored): 8,000 documents learned and 8,000 scored by 10 to 80 agents of one atom.
numpy would do the paper's 1,000 rounds of diffusion for each of them, in one N x 19,677 array (float64, OpenBLAS). Its time is
extrapolated from three rounds of 20 documents at each number of agents, half of them before ours and half after; all its rounds
cost the same, and it is not charged for updates and scores.

Ours, whole runs with learning, scoring, agreement and all: relaxed-admm to 1e-3 with one pass over a block, and with
the three passes of `dictmesh novelty`; and the paper's own diffusion with 1,000 rounds, of which the first 50 documents
of every block are run and multiplied by 20.
"""

import time

import numpy as np

import tdt2
from common import kernel

NAMES = ["documents"]
ABOUT = "the whole document experiment against numpy's dense rounds"

STEPS, BLOCK, ROUNDS, MU, P = 8, 1000, 1000, 0.05, 0.5
DOCUMENTS, TRIED = 20, 3
# case, bar, documents of each block, flags
CASES = [
    ("relaxed-admm to 1e-3, one pass", 500.0, BLOCK, ["--passes", 1]),
    ("relaxed-admm to 1e-3, three passes", 500.0, BLOCK, []),
    ("the paper's diffusion, 1,000 rounds", 100.0, 50, ["--paper"]),
]


def by_us(x, first, flags, threads):
    """What a whole experiment found, and its seconds."""
    x.sort_indices()
    row = lambda values: np.asarray(values, dtype=np.float64)[None]
    arrays = {"start": row(x.indptr), "terms": row(x.indices), "weights": row(x.data)}
    found, _ = kernel(threads, "experiment", arrays, "--rows", x.shape[1], "--first", first, *flags)
    return found, found["seconds"] * BLOCK / first


def rows(program, threads):
    x = tdt2.documents()
    for case, bar, first, flags in CASES:
        before = numpy_seconds(x, threads)
        found, our_s = by_us(x, first, flags, threads)
        peer_s = (before + numpy_seconds(x, threads)) / 2
        yield {
            "bench": "documents", "case": case, "threads": threads, "ours_s": our_s, "peer": "numpy",
            "peer_s": peer_s, "peer_hours": peer_s / 3600, "ratio": peer_s / our_s, "bar": bar,
            "run": "whole" if first == BLOCK else f"{first} of {BLOCK}", "rounds": found["rounds"],
            "ok": bool(peer_s >= bar * our_s),
        }


def numpy_seconds(x, threads):
    """The whole experiment at the time that a round takes at each number of agents."""
    import threadpoolctl

    rng = np.random.default_rng(0)
    total = 0.0
    with threadpoolctl.threadpool_limits(threads):
        for agents in range(10, 10 * STEPS + 1, 10):
            w, adjacency = tdt2.atoms(x, agents, rng), tdt2.graph(agents, P, rng)
            seconds = []
            for document in rng.choice(x.shape[0], size=DOCUMENTS // 2, replace=False):
                mesh = tdt2.Diffusion(x[[document]].toarray()[0], w, adjacency, MU, **tdt2.HUBER)
                mesh.round()
                began = time.perf_counter()
                for _ in range(TRIED):
                    mesh.round()
                seconds.append((time.perf_counter() - began) / TRIED)
            # Learned and scored.
            total += 2 * BLOCK * ROUNDS * float(np.mean(seconds))
    return total
